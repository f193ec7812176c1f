#include "models/io/imports/nccl_tests_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

#include "models/io/formats/log_lines.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/imports/nccl_tests_command.hpp"
#include "models/nccl/environment/env_values.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

using Words = std::vector<std::string_view>;

constexpr std::size_t kCommandMax = 1 << 16;  // characters of a command line
constexpr std::size_t kNetworkLinesMax = 64;

constexpr std::array<std::string_view, 16> kTypes = {
    "int8", "uint8", "char",   "int32",    "uint32", "int",    "int64",    "uint64",
    "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"};

std::string_view without_comma(std::string_view word) {
  return word.ends_with(',') ? word.substr(0, word.size() - 1) : word;
}

// nccl-tests computes algbw from the time that it prints beside it: what is further apart than
// their digits was changed or cut by somebody.
constexpr double kApartMost = 0.05;

/// A row's algbw is its size over its time.
bool agrees(const NcclTestsTiming& timing, std::int64_t size) {
  const double shortest = timing.time_us - timing.time_half;
  if (!timing.algbw || size == 0 || shortest <= 0) return true;
  const double bytes = static_cast<double>(size) / 1e3;  // over us: GB/s
  const double least = bytes / (timing.time_us + timing.time_half), most = bytes / shortest;
  return *timing.algbw + timing.algbw_half >= least * (1 - kApartMost) &&
         *timing.algbw - timing.algbw_half <= most * (1 + kApartMost);
}

bool contradicts_itself(const NcclTestsRow& row) {
  return (row.out_of_place && !agrees(*row.out_of_place, row.size)) ||
         (row.in_place && !agrees(*row.in_place, row.size));
}

/// The number after `key`, as in "nThread 1".
std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const Words words = split_words(text.substr(at + key.size()));
  return to_number<std::int64_t>(words.empty() ? "" : without_comma(words.front()));
}

/// Half a unit of the last digit, 0.005 of "1.25".
double half_a_digit(std::string_view number) {
  const std::size_t point = number.find_first_of(".,");
  const std::size_t exponent = std::min(number.find_first_of("eE"), number.size());
  double out = 0.5;
  if (point < exponent) {
    for (std::size_t i = point + 1; i < exponent; ++i) out /= 10;
  }
  if (exponent < number.size())
    out *= std::pow(10, finite_number(number.substr(exponent + 1)).value_or(0));
  return out;
}

class LogParser {
 public:
  explicit LogParser(LogText text) : text_(std::move(text)) {}

  NcclTestsLog parse() {
    for (const LogLine& line : text_.lines) {
      line_ = line.number;
      if (!nccl_line(line.text) && !header(line.text) && !row(line.text)) names_test(line.text);
      for (const std::string_view error : {"Test NCCL failure", "Test CUDA failure"}) {
        const std::size_t at = line.text.find(error);
        if (at == std::string::npos) continue;
        ++failures_;
        if (failure_.empty()) failure_ = line.text.substr(at);
      }
    }
    finish();
    std::erase_if(out_.tables, [](const NcclTestsTable& table) {
      return table.rows.empty() && table.devices.empty();
    });
    return std::move(out_);
  }

 private:
  NcclTestsTable& table() {
    if (out_.tables.empty()) begin();
    return out_.tables.back();
  }

  void begin() {
    out_.tables.emplace_back();
    out_.tables.back().line = line_;
    name_table();
    header_seen_ = false;
  }

  /// By the program that was named last.
  void name_table() {
    if (!named_) return;
    NcclTestsTable& table = out_.tables.back();
    table.collective = named_->collective;
    table.named_at = named_->line;
    table.command_ranks = named_->ranks;
    if (named_->threads > 0) table.threads = named_->threads;
    if (named_->gpus > 0) table.gpus = named_->gpus;
    table.environment = named_->environment;
  }

  /// A line of NCCL's own log, which may hold the version and settings.
  bool nccl_line(std::string_view line) {
    const std::size_t version = line.find("NCCL version ");
    if (version != std::string_view::npos) {
      const Words words = split_words(line.substr(version + 13));
      if (!words.empty())
        out_.nccl_version = std::string(words.front().substr(0, words.front().find('+')));
    }
    const std::size_t info = line.find("NCCL INFO ");
    if (info == std::string_view::npos) return version != std::string_view::npos;
    const std::string_view said = line.substr(info + 10);
    for (const std::string_view set : {" set by environment to ", " set to "}) {
      const std::size_t at = said.find(set);
      if (!said.starts_with("NCCL_") || at == std::string_view::npos) continue;
      std::string_view value = said.substr(at + set.size());
      value = value.substr(0, value.find_last_not_of(" .") + 1);
      if (is_settable(said.substr(0, at), value)) out_.environment.set(said.substr(0, at), value);
      break;
    }
    network(said);
    return true;
  }

  void network(std::string_view said) {
    const auto keep = [&](std::vector<LoggedLine>& lines, std::string_view text) {
      const auto is_same = [&](const LoggedLine& line) { return line.text == text; };
      if (lines.size() < kNetworkLinesMax && std::ranges::none_of(lines, is_same))
        lines.push_back({line_, std::string(text)});
    };
    said = said.substr(0, said.find(';'));
    said = said.substr(0, said.find_last_not_of(" \t") + 1);
    if (said.starts_with("Using network ")) keep(out_.network.names, said);
    if (said.starts_with("NET/IB : Using [")) keep(out_.network.links, said);
  }

  /// "# nThread 1 nGpus 8 ...", "#  Rank  0 Group  0 Pid 1 on host device 0 [0x07] NAME",
  /// summaries.
  bool header(std::string_view line) {
    if (const auto threads = number_after(line, "nThread ")) {
      if (out_.tables.empty() || !table().rows.empty() || !table().devices.empty()) {
        begin();
      } else {
        ++repeated_headers_;
      }
      table().threads = static_cast<int>(std::clamp<std::int64_t>(*threads, 1, 1024));
      table().gpus = static_cast<int>(
          std::clamp<std::int64_t>(number_after(line, "nGpus ").value_or(1), 1, 1024));
      table().cuda_graph = number_after(line, "graph: ").value_or(0) > 0;
      return true;
    }
    if (line.find("nccl-tests version") != std::string_view::npos) {
      const Words words = split_words(line.substr(line.find("nccl-tests version") + 18));
      if (!words.empty()) out_.tests_version = std::string(words.front());
      if (const auto code = number_after(line, "nccl-library="))
        out_.nccl_version = nccl_version_of_code(*code);
      return true;
    }
    if (line.find("algbw") != std::string_view::npos &&
        line.find("busbw") != std::string_view::npos) {
      header_seen_ = true;
      comma_separated_ = line.find("size,") != std::string_view::npos;
      per_iteration_ = line.find("i_min") != std::string_view::npos;
      const Words words = split_words(line);
      bare_ = line.find("count") == std::string_view::npos;
      rooted_ = comma_separated_ ? line.find(",root,") != std::string_view::npos
                                 : std::ranges::find(words, "root") != words.end();
      return true;
    }
    return device(line) || summary(line);
  }

  bool device(std::string_view line) {
    const auto rank = number_after(line, " Rank ");
    const std::size_t on = line.find(" on "), at = line.find(" device ");
    if (!rank || on == std::string_view::npos || at == std::string_view::npos || at < on + 4)
      return false;
    NcclTestsDevice device;
    device.rank = static_cast<int>(std::clamp<std::int64_t>(*rank, 0, 1 << 24));
    device.group = static_cast<int>(
        std::clamp<std::int64_t>(number_after(line, " Group ").value_or(0), 0, 1 << 24));
    const Words host = split_words(line.substr(on + 4, at - on - 4));
    if (!host.empty()) device.host = std::string(host.front());
    if (const auto number = number_after(line, " device "))
      device.device = static_cast<int>(std::clamp<std::int64_t>(*number, 0, 1 << 24));
    if (const std::size_t end = line.find("] ", at); end != std::string_view::npos) {
      device.model = std::string(line.substr(end + 2));
      const std::size_t begin = line.find('[', at);
      if (begin < end) device.bus = std::string(line.substr(begin + 1, end - begin - 1));
    }
    while (!device.model.empty() && device.model.back() == ' ') device.model.pop_back();
    table().devices.push_back(std::move(device));
    return true;
  }

  bool summary(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (line.find("Out of bounds values") != std::string_view::npos) {
      const Words words = split_words(line.substr(line.find("Out of bounds values") + 20));
      if (const auto count = finite_number(words.size() > 1 ? words[1] : ""))
        table().out_of_bounds = *count;
      table().failed_check = line.find("FAILED") != std::string_view::npos;
      return true;
    }
    if (line.find("Avg bus bandwidth") != std::string_view::npos &&
        colon != std::string_view::npos) {
      const Words words = split_words(line.substr(line.find_last_of(':') + 1));
      double value = 0;
      if (!words.empty() && number(words.front(), value)) table().average_busbw = value;
      return true;
    }
    return false;
  }

  /// The test by its program, as in a command line or "Collective test starting: all_reduce_perf".
  void names_test(std::string_view line) {
    if (!command_.empty() && line.starts_with("> ")) line.remove_prefix(2);  // a shell's prompt
    command_ += line;
    if (command_.ends_with('\\') && command_.size() < kCommandMax) {
      command_.back() = ' ';
      return;
    }
    const auto named = nccl_tests_command(command_, line_);
    if (!named) set_by_trace(command_, out_.environment);
    command_.clear();
    if (!named) return;
    named_ = named;
    if (named->starts) started_ = named;
    if (!out_.tables.empty() && table().rows.empty()) name_table();
  }

  /// A number that may have a decimal comma; `half` a unit of its last digit.
  bool number(std::string_view word, double& out, double* half = nullptr) {
    if (half != nullptr) *half = half_a_digit(word);
    std::optional<double> value = finite_number(word);
    if (!value && std::ranges::count(word, ',') == 1) {
      std::string text(word);
      text[text.find(',')] = '.';
      value = finite_number(text);
      decimal_commas_ |= value.has_value();
    }
    out = value.value_or(out);
    return value.has_value();
  }

  /// Time, algbw, busbw, and what was wrong if the table says so. Moves `at` behind them.
  std::optional<NcclTestsTiming> timing(const Words& words, std::size_t& at) {
    if (at + 3 > words.size()) return std::nullopt;
    NcclTestsTiming out;
    double algbw = 0, busbw = 0;
    if (!number(words[at], out.time_us, &out.time_half) ||
        !number(words[at + 1], algbw, &out.algbw_half) ||
        !number(words[at + 2], busbw, &out.busbw_half) || out.time_us < 0)
      return std::nullopt;
    out.algbw = algbw;
    out.busbw = busbw;
    at += 3;
    if (at < words.size()) {
      double wrong = 0;
      if (number(words[at], wrong)) out.wrong = wrong;
      out.checked = out.wrong.has_value();
      ++at;
    }
    if (per_iteration_) at = std::min(at + 4, words.size());  // least, most, 99 %, variation
    return out;
  }

  static std::string without(std::string_view text, char unwanted) {
    std::string out(text);
    std::erase(out, unwanted);
    return out;
  }

  /// 13 columns; 12 without the root (up to 2.10) or with a blank for no reduction; 9 or 8 with one
  /// half; size and three figures as people retell it. What the header names counts.
  bool row(std::string_view line) {
    std::string blanks;
    if (comma_separated_) {
      blanks = line;
      std::ranges::replace(blanks, ',', ' ');
      line = blanks;
    }
    const Words words = split_words(line);
    NcclTestsRow row;
    row.line = line_;
    if (words.size() < 4) return false;
    row.size = to_number<std::int64_t>(without(words[0], '_')).value_or(-1);
    if (row.size < 0) return false;
    const auto count = to_number<std::int64_t>(words[1]);
    const bool typed =
        words.size() > 4 && count && std::ranges::find(kTypes, words[2]) != kTypes.end();
    if (typed) row.count = *count;
    if (!typed && (!bare_ || words.size() != 4)) return false;
    std::size_t at = typed ? labels(words, row) : 1;
    row.out_of_place = timing(words, at);
    if (row.out_of_place) row.in_place = timing(words, at);
    const bool cut_off = text_.cut && line_ == text_.last_line;
    if (cut_off && at >= words.size()) row.in_place.reset();  // its last number may be cut
    if (!row.out_of_place || (words.size() > at && !row.in_place)) ++out_.unread;
    if (typed && !row.says_root) {  // the last column is the largest error, no count
      if (row.out_of_place) row.out_of_place->wrong.reset();
      if (row.in_place) row.in_place->wrong.reset();
    }
    if (row.out_of_place) add(std::move(row));
    return true;
  }

  /// Type, operator and root of a row. Returns the column behind them.
  std::size_t labels(const Words& words, NcclTestsRow& row) const {
    std::size_t at = 3;
    row.type = std::string(words[2]);
    row.redop = finite_number(words[3]) ? "none" : std::string(words[at++]);
    const std::size_t left = words.size() - at;
    row.says_root = rooted_.value_or(left == 9 || left == 5);
    const auto root = to_number<std::int64_t>(row.says_root ? words[at] : "");
    if (root) row.root = static_cast<int>(std::clamp<std::int64_t>(*root, -1, 1 << 24));
    if (root) ++at;
    return at;
  }

  void add(NcclTestsRow row) {
    if (!table().rows.empty() && header_seen_) begin();
    header_seen_ = false;
    started_.reset();
    table().rows.push_back(std::move(row));
  }

  /// Rows that contradict themselves count for nothing, unless most of a table's do: then its algbw
  /// is something else, and its times count.
  void leave_out_contradictions() {
    for (NcclTestsTable& table : out_.tables) {
      const auto first = std::ranges::find_if(table.rows, contradicts_itself);
      if (first == table.rows.end()) continue;
      const int line = first->line;
      const std::int64_t count = std::ranges::count_if(table.rows, contradicts_itself);
      const bool leaves = 2 * count <= std::ssize(table.rows);
      if (leaves) std::erase_if(table.rows, contradicts_itself);
      out_.remarks.push_back(
          fmt::format("line {}: algbw is not the size over the time, so of {}: {}", line,
                      counted(count, "row"), leaves ? "left out" : "the times count"));
    }
  }

  void finish() {
    leave_out_contradictions();
    const auto remark = [&](std::string text) { out_.remarks.push_back(std::move(text)); };
    for (const std::string& what : text_.removed) remark(fmt::format("{} taken off", what));
    if (decimal_commas_) remark("decimal commas are read as points");
    int single = 0;
    bool wrong = false;
    for (const NcclTestsTable& table : out_.tables) {
      std::set<int> ranks;
      for (const NcclTestsDevice& device : table.devices) ranks.insert(device.rank);
      if (table.devices.size() > ranks.size())
        single = static_cast<int>(table.devices.size() / ranks.size());
      wrong = wrong || table.failed_check;
      for (const NcclTestsRow& row : table.rows) {
        for (const auto& half : {row.out_of_place, row.in_place})
          wrong = wrong || (half && half->wrong.value_or(0) > 0);
      }
    }
    if (single > 1 || repeated_headers_ > 0) {
      remark(
          fmt::format("{} independent runs in one log, each with its own rank 0: nccl-tests was "
                      "built without MPI (make MPI=1)",
                      std::max(single, repeated_headers_ + 1)));
      out_.independent_runs = true;
    }
    if (wrong) remark("values were wrong: the times of such a run mean nothing");
    if (out_.unread > 0)
      remark(fmt::format("{} could be read in part only", counted(out_.unread, "row")));
    out_.failed = failures_ > 0;
    if (out_.failed)
      remark(fmt::format(
          "{} failed: {}",
          failures_ == 1 ? std::string("1 process") : fmt::format("{} processes", failures_),
          failure_));
    if (out_.rows() == 0) {
      if (out_.devices() > 0) remark("the run failed: there is no table");
      return;
    }
    for (const NcclTestsTable& table : out_.tables) {
      if (table.rows.empty() && !table.devices.empty())
        remark(fmt::format("the run of line {}, {} on {}, has no rows: it failed or is cut off",
                           table.line, counted(table.ranks(), "rank"),
                           counted(table.hosts(), "host")));
    }
    const NcclTestsTable& last = out_.tables.back();
    if (started_ && (!last.rows.empty() || last.devices.empty()))
      remark(fmt::format("line {} starts {}, and no row of it follows: it failed or is cut off",
                         started_->line, to_text(started_->collective)));
  }

  LogText text_;
  NcclTestsLog out_;
  int line_ = 0, repeated_headers_ = 0, failures_ = 0;
  std::string failure_;
  bool header_seen_ = false, bare_ = false, comma_separated_ = false, per_iteration_ = false;
  bool decimal_commas_ = false;
  std::optional<bool> rooted_;  ///< whether the header names a root; nothing without one
  std::string command_;         ///< lines of it so far
  std::optional<NamedTest> named_;
  std::optional<NamedTest> started_;  ///< no row has followed yet
};

}  // namespace

std::string nccl_version_of_code(std::int64_t code) {
  if (code < 10'000) return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
  return fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

int NcclTestsTable::hosts() const {
  std::set<std::string> names;
  for (const NcclTestsDevice& device : devices) names.insert(device.host);
  return static_cast<int>(names.size());
}

int NcclTestsTable::ranks() const {
  int last = -1;
  for (const NcclTestsDevice& device : devices) last = std::max(last, device.rank);
  return last + 1;
}

int NcclTestsTable::gpus_per_host() const {
  if (devices.empty()) return 0;
  return static_cast<int>(
      std::ranges::count(devices, devices.front().host, &NcclTestsDevice::host));
}

int NcclTestsTable::groups() const {
  std::set<int> known;
  for (const NcclTestsDevice& device : devices) known.insert(device.group);
  return static_cast<int>(known.size());
}

std::size_t NcclTestsLog::rows() const {
  std::size_t out = 0;
  for (const NcclTestsTable& table : tables) out += table.rows.size();
  return out;
}

std::size_t NcclTestsLog::devices() const {
  std::size_t out = 0;
  for (const NcclTestsTable& table : tables) out += table.devices.size();
  return out;
}

NcclTestsLog parse_nccl_tests_lines(LogText text) { return LogParser(std::move(text)).parse(); }

NcclTestsLog parse_nccl_tests(std::string_view text, const std::string& file) {
  return is_nccl_tests_json(text) ? parse_nccl_tests_json(text, file)
                                  : parse_nccl_tests_lines(read_log(text));
}

NcclTestsLog read_nccl_tests(const std::string& file, const std::string& hint) {
  if (!is_large_file(file)) return parse_nccl_tests(read_text_file(file, hint), file);
  LogText text = read_log_file(file);
  if (!text.is_text) throw Error(Place{file, 0, {}}, "this is no text", hint);
  return parse_nccl_tests_lines(std::move(text));
}

}  // namespace fabricast
