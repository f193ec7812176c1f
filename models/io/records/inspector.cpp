#include "models/io/records/inspector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "models/io/formats/log_lines.hpp"
#include "models/io/records/plain_data.hpp"
#include "models/io/records/record_files.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::int64_t kInspectorRanksMax = 1 << 24;
constexpr std::size_t kObjectMax = std::size_t{4} << 20;

int count_of_ranks(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, kInspectorRanksMax));
}

/// Time and sizes that nobody can measure are none.
bool is_sound(const InspectorCall& call) {
  return !call.collective.empty() && std::isfinite(call.time_us) && call.time_us > 0 &&
         call.time_us < 1e15 && call.bytes_low > 0 && call.bytes_high < 1e17 &&
         call.bytes_low <= call.bytes_high && call.ranks > 0;
}

std::string known(std::string_view text) {
  return text == "unknown" ? std::string() : std::string(text);
}

class InspectorReader {
 public:
  explicit InspectorReader(const TakeInspectorCall& take) : take_(take) {}

  void line(const std::string& text, int number) {
    if (held_.empty() && trimmed(text).empty()) return;
    if (held_.empty()) begin_ = number;
    held_ += text;
    held_ += '\n';
    bool quoted = false, escaped = false;  // no text of JSON holds a line break
    for (const char c : text) {
      if (quoted) {
        if (!escaped && c == '"') quoted = false;
        escaped = !escaped && c == '\\';
      } else if (c == '"') {
        quoted = true;
      } else {
        depth_ += c == '{' ? 1 : c == '}' ? -1 : 0;
      }
    }
    if (depth_ <= 0 || held_.size() > kObjectMax || is_next(text)) flush();
  }

  InspectorNotes finish() {
    flush();
    return std::move(notes_);
  }

 private:
  /// A record that was cut does not take the next ones with it.
  bool is_next(const std::string& text) {
    const bool begins = held_.size() > text.size() + 1 && text.starts_with("{\"");
    if (!begins) return false;
    held_.resize(held_.size() - text.size() - 1);
    flush();
    held_ = text;
    return true;
  }

  void flush() {
    std::string text;
    std::swap(text, held_);
    depth_ = 0;
    if (trimmed(text).empty()) return;
    try {
      const PlainData data = read_plain_json(text, {});
      if (!data.root.is(PlainValue::Kind::table)) return broken("is no JSON object");
      object(data);
    } catch (const Error& error) {
      broken(error.message());
    }
  }

  void broken(const std::string& what) {
    if (notes_.broken++ > 0) return;
    notes_.first_broken = begin_;
    notes_.trouble = what;
  }

  void object(const PlainData& data) {
    const PlainValue metadata = data.at(data.root, "metadata");
    PlainValue header = data.at(data.root, "header");
    // DataDog's flat form has these at the top.
    if (header.is(PlainValue::Kind::none) &&
        !data.at(data.root, "n_ranks").is(PlainValue::Kind::none))
      header = data.root;
    if (!header.is(PlainValue::Kind::none)) read_header(data, header, metadata);
    const PlainValue stats = data.at(data.root, "dump_stats");
    notes_.dropped += std::clamp<std::int64_t>(
        data.at(stats, "coll_dropped_since_last_dump").whole(), 0, 1 << 30);
    if (!data.at(data.root, "p2p_perf").is(PlainValue::Kind::none)) ++notes_.messages;
    const PlainValue perf = data.at(data.root, "coll_perf");
    if (perf.is(PlainValue::Kind::table)) collective(data, perf);
  }

  void read_header(const PlainData& data, const PlainValue& header, const PlainValue& metadata) {
    InspectorCall& out = header_.emplace();
    out.communicator = data.at(header, "id").text();
    out.name = known(data.at(header, "comm_name").text());
    out.rank = static_cast<int>(
        std::clamp<std::int64_t>(data.at(header, "rank").whole(-1), -1, kInspectorRanksMax));
    out.ranks = count_of_ranks(data.at(header, "n_ranks").whole());
    out.nodes = count_of_ranks(data.at(header, "nnodes").whole());
    const PlainValue& about = metadata.is(PlainValue::Kind::none) ? header : metadata;
    out.host = data.at(about, "hostname").text();
    out.pid = data.at(about, "pid").whole();
    out.dumped_us = data.at(about, "dump_timestamp_us").whole();
    const std::string_view version = data.at(about, "inspector_output_format_version").text();
    if (!version.empty()) notes_.version = version;
  }

  void collective(const PlainData& data, const PlainValue& perf) {
    if (!header_) return broken("a record stands before any header");
    InspectorCall out = *header_;
    out.collective = data.at(perf, "coll").text();
    out.algorithm = data.at(perf, "coll_algo").text();
    out.protocol = data.at(perf, "coll_proto").text();
    out.sequence = data.at(perf, "coll_sn").whole(-1);
    out.bytes_low = out.bytes_high = data.at(perf, "coll_msg_size_bytes").number();
    out.time_us = data.at(perf, "coll_exec_time_us").number();
    out.busbw_GBps = data.at(perf, "coll_busbw_gbs").number();
    const std::string_view source = data.at(perf, "coll_timing_source").text();
    out.on_gpu = source.empty() || source.find("gpu") != source.npos;
    if (!is_sound(out)) return broken("a record has no time, no size or no ranks");
    ++notes_.calls;
    take_(std::move(out));
  }

  const TakeInspectorCall& take_;
  std::optional<InspectorCall> header_;
  std::string held_;
  int begin_ = 0, depth_ = 0;
  InspectorNotes notes_;
};

InspectorNotes read_lines(LineInput input, const TakeInspectorCall& take) {
  InspectorReader reader(take);
  std::string line;
  bool ended = false;
  for (int number = 1; input.next(line, ended); ++number) reader.line(line, number);
  return reader.finish();
}

/// "134-135MB", "2.00GB", "512B": units of 1024. Of one number without a range what rounds to it.
std::optional<std::pair<double, double>> message_size(std::string_view text) {
  const std::optional<double> low = take_number<double>(text);
  std::optional<double> high;
  if (low && text.starts_with('-')) {
    text.remove_prefix(1);
    high = take_number<double>(text);
    if (!high) return std::nullopt;
  }
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KB", "MB", "GB", "TB"};
  const auto unit = std::ranges::find(kUnits, text);
  if (!low || unit == kUnits.end()) return std::nullopt;
  const double scale = std::pow(1024.0, static_cast<double>(unit - kUnits.begin()));
  if (!high && scale > 1) return std::pair((*low - 0.005) * scale, (*low + 0.005) * scale);
  return std::pair(std::max(*low, 1.0) * scale, high.value_or(*low) * scale);
}

/// "Ring_ll", "RING_SIMPLE", "NVLS_TREE_SIMPLE"
std::pair<std::string, std::string> algorithm_and_protocol(std::string_view text) {
  const std::size_t last = text.rfind('_');
  if (last == text.npos) return {std::string(text), {}};
  return {std::string(text.substr(0, last)), std::string(text.substr(last + 1))};
}

/// A sample line: `name{labels} value [timestamp]`.
struct Sample {
  std::string_view name, labels;
  double value = 0;
};
std::optional<Sample> sample_of(std::string_view line) {
  const std::size_t open = line.find('{');
  if (open == line.npos) return std::nullopt;
  // Braces inside values count for nothing.
  bool quoted = false, escaped = false;
  std::size_t close = open + 1;
  for (; close < line.size() && (quoted || line[close] != '}'); ++close) {
    if (!escaped && line[close] == '"') quoted = !quoted;
    escaped = !escaped && line[close] == '\\';
  }
  if (close >= line.size()) return std::nullopt;
  const std::vector<std::string_view> words = split_words(line.substr(close + 1));
  const std::optional<double> value = words.empty() ? std::nullopt : finite_number(words[0]);
  if (!value) return std::nullopt;
  return Sample{trimmed(line.substr(0, open)), line.substr(open + 1, close - open - 1), *value};
}

InspectorCall call_of_labels(const std::vector<std::pair<std::string, std::string>>& labels) {
  InspectorCall out;
  out.is_mean = true;
  const auto label = [&](std::string_view name) -> std::string_view {
    const auto at = std::ranges::find(labels, name, &std::pair<std::string, std::string>::first);
    return at == labels.end() ? std::string_view() : at->second;
  };
  const auto either = [&](std::string_view one, std::string_view other) {
    return label(one).empty() ? label(other) : label(one);
  };
  const auto whole = [](std::string_view text) {
    return to_number<std::int64_t>(text).value_or(0);
  };
  out.name = known(label("comm_name"));
  out.communicator = label("comm_id").empty() ? label("comm_name") : label("comm_id");
  out.host = either("node", "hostname");
  out.gpu = either("gpu", "gpu_device_id");
  out.job = known(label("slurm_job_id"));
  out.collective = label("collective");
  std::tie(out.algorithm, out.protocol) = algorithm_and_protocol(label("algo_proto"));
  if (!label("rank").empty()) out.rank = count_of_ranks(whole(label("rank")));
  out.ranks = count_of_ranks(whole(either("nranks", "n_ranks")));
  out.nodes = count_of_ranks(whole(label("n_nodes")));
  if (!label("coll_sn").empty()) out.sequence = whole(label("coll_sn"));
  if (const auto size = message_size(label("message_size")))
    std::tie(out.bytes_low, out.bytes_high) = *size;
  return out;
}

}  // namespace

bool begins_as_inspector_json(std::string_view text) {
  return begins_as_json_with(text, {"\"coll_perf\"", "\"p2p_perf\"", "\"dump_stats\"",
                                    "\"inspector_output_format_version\""});
}

bool begins_as_inspector_metrics(std::string_view text) {
  return text.substr(0, 4096).find("nccl_bus_bandwidth_gbs") != text.npos ||
         text.substr(0, 4096).find("nccl_collective_") != text.npos ||
         text.substr(0, 4096).find("nccl_p2p_bus_bandwidth_gbs") != text.npos;
}

InspectorNotes read_inspector_json(std::string_view text, const TakeInspectorCall& take) {
  return read_lines(LineInput(text), take);
}

InspectorNotes read_inspector_file(const std::string& file, const TakeInspectorCall& take) {
  return read_lines(LineInput(file), take);
}

bool read_labels(std::string_view text, std::vector<std::pair<std::string, std::string>>& out) {
  out.clear();
  while (true) {
    text = trimmed(text);
    if (text.empty()) return true;
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals + 1 >= text.size() || text[equals + 1] != '"') return false;
    std::string name(trimmed(text.substr(0, equals))), value;
    std::size_t at = equals + 2;
    for (; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] != '\\' || at + 1 >= text.size()) {
        value += text[at];
      } else {
        ++at;
        value += text[at] == 'n' ? '\n' : text[at];
      }
    }
    if (at >= text.size() || name.empty()) return false;
    out.emplace_back(std::move(name), std::move(value));
    text = trimmed(text.substr(at + 1));
    // NCCL 2.29 leaves out the comma before nranks (inspector_prom.cc).
    if (text.starts_with(',')) text.remove_prefix(1);
  }
}

InspectorNotes read_inspector_metrics(std::string_view text, const TakeInspectorCall& take) {
  InspectorNotes notes;
  std::map<std::string, std::size_t, std::less<>> by_labels;
  std::vector<InspectorCall> calls;
  LineInput input(text);
  std::string line;
  bool ended = false;
  std::vector<std::pair<std::string, std::string>> labels;
  for (int number = 1; input.next(line, ended); ++number) {
    const std::string_view words = trimmed(line);
    if (words.empty() || words.starts_with('#') || !words.starts_with("nccl_")) continue;
    const std::optional<Sample> sample = sample_of(words);
    if (!sample || !read_labels(sample->labels, labels)) {
      if (notes.broken++ == 0) {
        notes.first_broken = number;
        notes.trouble = "is no sample of a metric";
      }
      continue;
    }
    if (sample->name.starts_with("nccl_p2p_")) {
      notes.messages += sample->name == "nccl_p2p_bus_bandwidth_gbs" ? 1 : 0;
      continue;
    }
    const auto [at, is_new] = by_labels.try_emplace(std::string(sample->labels), calls.size());
    if (is_new) {
      calls.push_back(call_of_labels(labels));
      calls.back().labels = sample->labels;
    }
    InspectorCall& call = calls[at->second];
    if (sample->name == "nccl_bus_bandwidth_gbs") call.busbw_GBps = sample->value;
    if (sample->name == "nccl_collective_exec_time_microseconds") call.time_us = sample->value;
  }
  for (InspectorCall& call : calls) {
    if (call.collective.empty()) continue;  // counters of the plugin itself
    if (!is_sound(call)) {
      if (notes.broken++ == 0) notes.trouble = "a series has no time, no size or no ranks";
      continue;
    }
    ++notes.calls;
    take(std::move(call));
  }
  return notes;
}

}  // namespace fabricast
