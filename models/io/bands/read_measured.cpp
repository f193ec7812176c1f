#include "models/io/bands/read_measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "models/io/bands/run_words.hpp"
#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/text_file.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kNodesMax = 1 << 20, kRanksMax = 1 << 24, kNodePartsMax = 1024;
constexpr double kGbpsMax = 100'000;

/// Of a cell that may be a word for a blank.
std::string text_of(const CsvRow& row, std::string_view column) {
  const std::string& field = row.text(column);
  return is_blank_word(field) ? std::string() : std::string(trimmed(field));
}

/// "8", and "8.0", as programs write whole numbers of a column that has blanks.
std::optional<int> whole(const CsvRow& row, const char* column, int min, int max) {
  const std::string& field = row.text_or_blank(column);
  if (is_blank_word(field)) return std::nullopt;
  const double value = to_number<double>(trimmed(field)).value_or(NAN);
  if (value >= min && value <= max && value == std::floor(value)) return static_cast<int>(value);
  return row.whole(column, min, max);  // which says what is wrong
}

bool is_yes(std::string_view text) {
  constexpr std::array words = {"1", "10", "true", "yes"};  // 10: "1.0"
  return std::ranges::find(words, plain_word(text)) != words.end();
}

Collective collective_of(const CsvRow& row) {
  const std::string& text = row.text("collective");
  std::string word = plain_word(text);
  if (word.ends_with("perf")) word.erase(word.size() - std::string_view("perf").size());
  std::vector<std::string> names;
  for (const Collective c : kAllCollectives) {
    if (plain_word(to_text(c)) == word) return c;
    names.emplace_back(to_text(c));
  }
  throw Error(row.place("collective"), fmt::format("unknown collective \"{}\"", text),
              hint_nearest(text, names));
}

class RunReader {
 public:
  RunReader(const CsvRow& row, BadRows bad) : row_(row), bad_(bad) {}

  MeasuredRun read() {
    run_.place = row_.place();
    run_.id = row_.text("run_id");
    if (run_.id.empty()) throw Error(row_.place("run_id"), "is missing");
    run_.collective = collective_of(row_);
    run_.gpu_model = text_of(row_, "gpu_model");
    run_.node_kind = node_kind_word(text_of(row_, "node_kind"));
    run_.net_kind = net_kind_word(text_of(row_, "net_kind"));
    run_.gpus_per_node = if_right<int>(
        "gpus_per_node", [&](auto* name) { return whole(row_, name, 1, kNodePartsMax); });
    run_.nics_per_node = if_right<int>(
        "nics_per_node", [&](auto* name) { return whole(row_, name, 0, kNodePartsMax); });
    run_.nic_gbps = if_right<double>("nic_gbps", [&](auto* name) { return gbps(name); });
    read_ranks();
    run_.nccl_version = row_.text_or_blank("nccl_version");
    run_.env_kv = row_.text_or_blank("env_kv");
    run_.algorithm = row_.text_or_blank("algorithm");
    run_.flags = row_.text_or_blank("flags");
    run_.process_mode = row_.text_or_blank("process_mode");
    run_.source = row_.text_or_blank("source_key");
    run_.date = row_.text_or_blank("date");
    run_.address = row_.text_or_blank("source");
    run_.topology_notes = row_.text_or_blank("topology_notes");
    run_.notes = row_.text_or_blank("notes");
    run_.nic_type = row_.text_or_blank("nic_type");
    run_.sharp = is_yes(row_.text_or_blank("sharp"));
    const std::string& score = row_.text_or_blank("score");
    run_.scored = score.empty() || is_yes(score);
    return std::move(run_);
  }

 private:
  /// A cell that may turn out not to be needed.
  template <class Value, class Read>
  std::optional<Value> if_right(const char* column, Read read) {
    try {
      return read(column);
    } catch (const Error& error) {
      if (bad_ == BadRows::refuse) throw;
      run_.wrong.emplace(column, error);
      return std::nullopt;
    }
  }

  std::optional<double> gbps(const char* column) const {
    const std::string& field = row_.text_or_blank(column);
    if (is_blank_word(field)) return std::nullopt;
    const std::optional<double> value = nic_gbps_in(field);
    if (value && *value > 0 && *value <= kGbpsMax) return value;
    throw Error(row_.place(column),
                fmt::format("\"{}\" is no rate of a NIC up to {:.0f} Gb/s", field, kGbpsMax),
                "400, 400 Gb/s, 2x200");
  }

  void read_ranks() {
    const auto needed = [&](const char* column, int max) {
      const std::optional<int> value = whole(row_, column, 1, max);
      if (!value) throw Error(row_.place(column), "is missing");
      return *value;
    };
    run_.nodes = needed("nodes", kNodesMax);
    run_.ranks = needed("ranks", kRanksMax);
    if (run_.ranks % run_.nodes == 0) return;
    throw Error(row_.place("ranks"),
                fmt::format("{} ranks are not equal shares of {} nodes", run_.ranks, run_.nodes));
  }

  const CsvRow& row_;
  BadRows bad_;
  MeasuredRun run_;
};

std::map<std::string, std::size_t> runs_by_id(const std::vector<MeasuredRun>& runs) {
  std::map<std::string, std::size_t> out;
  for (std::size_t i = 0; i < runs.size(); ++i) out[runs[i].id] = i;
  return out;
}

/// GB/s and bytes to microseconds; nothing where the rate is blank or 0.
std::optional<double> time_of(std::optional<double> rate_GBps, double bytes) {
  if (!rate_GBps || *rate_GBps <= 0) return std::nullopt;
  return bytes / *rate_GBps / 1e3;
}

std::optional<double> measured_time(const CsvRow& row, const MeasuredRun& run, double bytes) {
  const auto positive = [&](const char* column) {
    return is_blank_word(row.text_or_blank(column)) ? std::nullopt : row.positive(column);
  };
  const std::optional<double> time = positive("time_us");
  if (time && *time > 0) return time;
  if (const auto from_algbw = time_of(positive("algbw_GBps"), bytes)) return from_algbw;
  return time_of(positive("busbw_GBps"), bytes * busbw_factor(run.collective, run.ranks));
}

/// A ratio of pairs.csv, and the size it is of.
struct RatioColumn {
  const char* name;
  std::int64_t bytes;
  bool is_busbw;
};
constexpr std::array<RatioColumn, 4> kRatios = {{{"time_1KB_ratio", 1 << 10, false},
                                                 {"time_1MB_ratio", 1 << 20, false},
                                                 {"busbw_64MB_ratio", 1 << 26, true},
                                                 {"busbw_1GB_ratio", 1 << 30, true}}};

void read_pair(const CsvRow& row, const std::map<std::string, std::size_t>& by_id,
               std::vector<MeasuredPair>& out) {
  const auto run = by_id.find(row.text("run_id"));
  const auto baseline = by_id.find(row.text("baseline_run"));
  if (run == by_id.end() || baseline == by_id.end()) return;
  for (const RatioColumn& column : kRatios) {
    const std::optional<double> ratio = row.positive(column.name);
    if (!ratio || *ratio <= 0) continue;
    out.push_back({row.text_or_blank("what_changed"), run->second, baseline->second,
                   Bytes{column.bytes}, column.is_busbw, *ratio});
  }
}

/// Files whose rows are left out where they are not understood, or that are refused for them.
class MeasurementsReader {
 public:
  explicit MeasurementsReader(BadRows bad) : bad_(bad) {}

  void read_runs(const std::string& text, const std::string& file) {
    const CsvTable table(text, file, broken());
    for (const char* column : {"run_id", "collective", "gpu_model", "node_kind", "net_kind"})
      table.column(column);
    std::map<std::string, int> lines;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const CsvRow row = table.row(i);
      if (!taken([&] { add_run(row, lines); })) told_.insert(row.text("run_id"));
    }
    out_.runs_unread = static_cast<int>(out_.unread.size());
  }

  void read_points(const std::string& text, const std::string& file) {
    const std::size_t before = out_.unread.size();
    const CsvTable table(text, file, broken());
    table.column("run_id");
    table.column("size_bytes");
    out_.points_unread += static_cast<int>(out_.unread.size() - before);
    const auto by_id = runs_by_id(out_.runs);
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const CsvRow row = table.row(i);
      const std::string& id = row.text("run_id");
      const bool is_known = by_id.contains(id), is_told = !is_known && told_.contains(id);
      if (!is_told && taken([&] { add_point(row, by_id); })) continue;
      ++out_.points_unread;
      if (!is_known) told_.insert(id);
    }
  }

  void read_pairs(const std::string& text, const std::string& file) {
    const CsvTable table(text, file, broken());
    const auto by_id = runs_by_id(out_.runs);
    for (const char* column : {"run_id", "baseline_run"}) table.column(column);
    for (std::size_t i = 0; i < table.rows(); ++i)
      taken([&] { read_pair(table.row(i), by_id, out_.pairs); });
  }

  Measurements& measurements() { return out_; }

 private:
  std::vector<Error>* broken() { return bad_ == BadRows::leave_out ? &out_.unread : nullptr; }

  /// Whether the row was; else it is left out.
  template <class Take>
  bool taken(Take take) {
    try {
      take();
      return true;
    } catch (const Error& error) {
      if (bad_ == BadRows::refuse) throw;
      out_.unread.push_back(error);
      return false;
    }
  }

  void add_run(const CsvRow& row, std::map<std::string, int>& lines) {
    MeasuredRun run = RunReader(row, bad_).read();
    const auto [first, fresh] = lines.emplace(run.id, run.place.line);
    if (!fresh)
      throw Error(row.place("run_id"), fmt::format("\"{}\" twice", run.id),
                  fmt::format("first in line {}", first->second));
    out_.runs.push_back(std::move(run));
  }

  void add_point(const CsvRow& row, const std::map<std::string, std::size_t>& by_id) {
    constexpr double kMessageMax = 1LL << 40;
    const auto found = by_id.find(row.text("run_id"));
    if (found == by_id.end()) {
      throw Error(row.place("run_id"), fmt::format("no run \"{}\" is known", row.text("run_id")),
                  "points and runs must belong together");
    }
    const std::optional<double> size = row.positive("size_bytes");
    if (!size || *size < 1) {
      ++out_.points_without_size;
      return;
    }
    if (*size > kMessageMax) throw Error(row.place("size_bytes"), "above 1 TiB");
    const auto time = measured_time(row, out_.runs[found->second], *size);
    if (!time) {
      ++out_.points_without_time;
      return;
    }
    const std::string& datatype = row.text_or_blank("dtype");
    out_.points.push_back({found->second, Bytes{static_cast<std::int64_t>(*size)},
                           datatype.empty() ? "float" : datatype, *time});
  }

  BadRows bad_;
  std::set<std::string> told_;  ///< run_id of rows that were left out, and of no run at all
  Measurements out_;
};

}  // namespace

std::vector<MeasuredRun> parse_runs(const std::string& text, const std::string& file) {
  MeasurementsReader reader(BadRows::refuse);
  reader.read_runs(text, file);
  return std::move(reader.measurements().runs);
}

void parse_points(const std::string& text, const std::string& file, Measurements& out) {
  MeasurementsReader reader(BadRows::refuse);
  reader.measurements() = std::move(out);
  reader.read_points(text, file);
  out = std::move(reader.measurements());
}

Measurements parse_measurements(const std::string& runs, const std::string& points, BadRows bad) {
  MeasurementsReader reader(bad);
  reader.read_runs(runs, "runs.csv");
  reader.read_points(points, "points.csv");
  return std::move(reader.measurements());
}

Measurements load_measurements(const std::string& runs_file, const std::string& points_file,
                               const std::string& pairs_file, BadRows bad) {
  MeasurementsReader reader(bad);
  reader.read_runs(read_text_file(runs_file, "a CSV file of runs (its columns: docs/validate.md)"),
                   runs_file);
  reader.read_points(
      read_text_file(points_file, "a CSV file of points (its columns: docs/validate.md)"),
      points_file);
  if (!pairs_file.empty())
    reader.read_pairs(
        read_text_file(pairs_file, "a CSV file of pairs (its columns: docs/validate.md)"),
        pairs_file);
  return std::move(reader.measurements());
}

Measurements together(Measurements all, Measurements more) {
  const std::size_t runs = all.runs.size();
  for (MeasuredRun& run : more.runs) all.runs.push_back(std::move(run));
  for (MeasuredPoint& point : more.points) {
    point.run += runs;
    all.points.push_back(std::move(point));
  }
  all.points_without_size += more.points_without_size;
  all.points_without_time += more.points_without_time;
  return all;
}

}  // namespace fabricast
