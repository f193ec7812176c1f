#include "models/studies/judge/log_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "models/nccl/base/members.hpp"
#include "models/studies/bench/bench.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

constexpr double kRounding = 1e-9;  ///< of doubles, beside what was printed
constexpr double kSharp = 1.05;     ///< a ratio is told as one figure where its bounds are as near

struct Interval {
  double low = 0, high = std::numeric_limits<double>::infinity();
  bool empty() const { return low > high; }
  double middle() const { return (low + high) / 2; }
};

Interval both(Interval a, Interval b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

Interval around(double value, double half) {
  return {std::max(value - half, 0.0) * (1 - kRounding), (value + half) * (1 + kRounding)};
}

/// Where busbw/algbw of one half of a row lies, by its digits. `with_time`: that of the size over
/// the time has more of them than a small algbw.
Interval ratio_of(const NcclTestsRow& row, const NcclTestsTiming& timing, bool with_time) {
  if (!timing.algbw || !timing.busbw || row.size == 0 || timing.time_us <= 0) return {};
  Interval algbw = around(*timing.algbw, timing.algbw_half);
  const Interval time = around(timing.time_us, timing.time_half);
  const double GB_per_us = static_cast<double>(row.size) * 1e-3;
  const Interval finer =
      both(algbw, {GB_per_us / time.high, time.low > 0 ? GB_per_us / time.low : algbw.high});
  if (with_time && !finer.empty()) algbw = finer;
  const Interval busbw = around(*timing.busbw, timing.busbw_half);
  if (algbw.low <= 0) return {busbw.low / algbw.high, std::numeric_limits<double>::infinity()};
  return {busbw.low / algbw.high, busbw.high / algbw.low};
}

/// What all rows have in common.
class Signature {
 public:
  explicit Signature(const NcclTestsTable& table) {
    divide(table, true);
    if (ratio.empty()) divide(table, false);  // as people retell it, with figures cut off
    for (const NcclTestsRow& row : table.rows) {
      if (row.size == 0) continue;
      add(row);
      if (row.in_place) {
        (row.in_place->checked ? in_place_checked : in_place_open) = true;
        if (!row.in_place->checked && row.out_of_place && row.out_of_place->checked)
          out_of_place_only = true;
      }
    }
  }

  Interval ratio;                  ///< busbw/algbw; empty: rows contradict each other
  int odd_line = 0;                ///< the first one that does
  std::optional<bool> reduces;     ///< nothing: not said
  std::optional<bool> rooted;      ///< nothing: not said
  std::optional<double> multiple;  ///< size over count x bytes
  bool one_kind = true;            ///< of all rows alike
  bool in_place_checked = false, in_place_open = false, out_of_place_only = false;

  /// "redop sum, root -1, busbw/algbw 1.979". Of small bandwidths few digits are printed.
  std::string text(const NcclTestsTable& table) const {
    std::string out;
    const auto say = [&](const std::string& what) { out += (out.empty() ? "" : ", ") + what; };
    const NcclTestsRow& row = table.rows.back();
    if (!row.redop.empty()) say("redop " + row.redop);
    if (row.says_root) say(fmt::format("root {}", row.root));
    if (multiple && *multiple != 1) say(fmt::format("size = {:g} x count", *multiple));
    if (std::isfinite(ratio.high) && !ratio.empty()) {
      const bool is_sharp = ratio.high <= kSharp * ratio.low;
      say(is_sharp ? fmt::format("busbw/algbw {:.4g}", ratio.middle())
                   : fmt::format("busbw/algbw between {:.2g} and {:.2g}, as far as its digits say",
                                 ratio.low, ratio.high));
    }
    if (out_of_place_only && !in_place_checked) say("in place not checked");
    return out;
  }

 private:
  template <class T>
  void agree(std::optional<T>& all, const T& here) {
    if (all && *all != here) one_kind = false;
    all = here;
  }

  void divide(const NcclTestsTable& table, bool with_time) {
    ratio = {};
    odd_line = 0;
    for (const NcclTestsRow& row : table.rows) {
      for (const auto& timing : {row.out_of_place, row.in_place}) {
        if (!timing) continue;
        ratio = both(ratio, ratio_of(row, *timing, with_time));
        if (ratio.empty() && odd_line == 0) odd_line = row.line;
      }
    }
  }

  void add(const NcclTestsRow& row) {
    if (!row.redop.empty()) agree(reduces, row.redop != "none");
    if (row.says_root) agree(rooted, row.root >= 0);
    if (row.type.empty() || row.count <= 0) return;
    try {
      const int bytes = datatype_bytes(datatype_in(row.type));
      agree(multiple,
            static_cast<double>(row.size) / static_cast<double>(row.count * std::int64_t{bytes}));
    } catch (const Error&) {  // a type that is not known
      return;
    }
  }
};

/// What nccl-tests prints of each: whether an operator (sendrecv.cu: one that does nothing, which
/// people and other programs leave out), and whether it checks values in place (alltoall.cu and
/// sendrecv.cu: no).
bool may_print_operator(Collective c, bool prints) {
  if (c == Collective::sendrecv) return true;
  return prints == (c == Collective::all_reduce || c == Collective::reduce_scatter ||
                    c == Collective::reduce);
}
bool checks_in_place(Collective c) {
  return c != Collective::alltoall && c != Collective::sendrecv;
}

/// Ranks with which busbw_factor() lies in `ratio`. The factor grows with the ranks.
PossibleRanks ranks_with(Collective collective, Interval ratio) {
  const auto factor = [&](int ranks) { return busbw_factor(collective, ranks); };
  const auto first = [&](auto&& holds) {  // from 2 on, kRanksMax + 1 if none
    int low = 2, high = kRanksMax + 1;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      (holds(middle) ? high : low) = holds(middle) ? middle : middle + 1;
    }
    return low;
  };
  const int low = first([&](int n) { return factor(n) >= ratio.low - kRounding; });
  const int high = first([&](int n) { return factor(n) > ratio.high + kRounding; }) - 1;
  return {low, high};
}

std::vector<PossibleRun> possible_by(const Signature& rows) {
  std::vector<PossibleRun> out;
  if (!rows.one_kind || rows.ratio.empty()) return out;
  for (const Collective c : kAllCollectives) {
    if (rows.reduces && !may_print_operator(c, *rows.reduces)) continue;
    if (rows.rooted.value_or(has_root(c)) != has_root(c)) continue;
    if (rows.in_place_checked && !checks_in_place(c)) continue;
    if (rows.out_of_place_only && checks_in_place(c)) continue;
    PossibleRanks ranks = ranks_with(c, rows.ratio);
    if (rows.multiple) {
      const double multiple = *rows.multiple;
      const bool whole = multiple == std::floor(multiple) && multiple <= kRanksMax;
      if (!whole || (!counts_per_rank(c) && multiple != 1)) continue;
      if (counts_per_rank(c)) {
        if (!ranks.holds(static_cast<int>(multiple))) continue;
        ranks = {static_cast<int>(multiple), static_cast<int>(multiple)};
      }
    }
    if (ranks.low <= ranks.high) out.push_back({c, ranks});
  }
  return out;
}

std::string names_of(const std::vector<PossibleRun>& runs) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i)
    out += fmt::format("{}{}",
                       i == 0                 ? ""
                       : i + 1 == runs.size() ? " or "
                                              : ", ",
                       to_text(runs[i].collective));
  return out;
}

class RunFinder {
 public:
  RunFinder(const NcclTestsTable& table, const std::string& file)
      : table_(table), file_(file), rows_(table), runs_(possible_by(rows_)) {}

  LogFacts find(std::optional<Collective> asked) {
    refuse_contradictions();
    out_.possible = choose(asked).ranks;
    count_ranks();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(int line, const std::string& what, const std::string& hint) const {
    throw Error(Place{file_, line, {}}, what, hint);
  }

  void refuse_contradictions() const {
    if (table_.groups() > 1)
      refuse(table_.line,
             fmt::format("{} run at the same time (NCCL_TESTS_SPLIT): what one of them takes says "
                         "nothing of a call of all ranks",
                         counted(table_.groups(), "group")),
             "run nccl-tests without a split; `fabricast bench --split` forecasts one with it");
    if (rows_.ratio.empty())
      refuse(rows_.odd_line,
             "busbw/algbw of this row is not that of the rows above: they are of different numbers "
             "of ranks, or edited",
             "give each run a file of its own");
    if (rows_.ratio.high < 0.25)
      refuse(table_.line, "busbw is 0: each process ran alone, as one rank",
             "build nccl-tests with MPI=1");
    if (runs_.empty())
      refuse(table_.line,
             fmt::format("no collective that is known prints such rows: {}", rows_.text(table_)),
             rows_.one_kind ? "" : "rows of several tests are mixed: give each a file of its own");
  }

  std::optional<PossibleRun> possible(std::optional<Collective> collective) const {
    const auto found = std::ranges::find_if(
        runs_, [&](const PossibleRun& run) { return collective == run.collective; });
    return found == runs_.end() ? std::nullopt : std::optional(*found);
  }

  PossibleRun choose(std::optional<Collective> asked) {
    const std::string by_rows = "the rows: " + rows_.text(table_);
    if (asked) {
      const auto run = possible(asked);
      if (!run)
        refuse(table_.line,
               fmt::format("the rows are not those of {}: {}", to_text(*asked), rows_.text(table_)),
               fmt::format("--collective {}", names_of(runs_)));
      return take(*run, "--collective");
    }
    const auto named = possible(table_.collective);
    if (table_.collective && !named)
      out_.notes.push_back(fmt::format("{} names {}, but the rows are not of it", where_named(),
                                       to_text(*table_.collective)));
    if (named) return take(*named, where_named());
    if (runs_.size() == 1) return take(runs_.front(), by_rows);
    if (const auto by_name = possible(collective_in_name(file_)))
      return take(*by_name, "the file's name; " + by_rows);
    // A list of devices that goes beyond what a collective can have been run with.
    std::vector<PossibleRun> left = runs_;
    std::erase_if(left, [&](const PossibleRun& run) { return run.ranks.high < table_.ranks(); });
    if (left.size() == 1)
      return take(left.front(),
                  fmt::format("{}; the list of {}", by_rows, counted(table_.ranks(), "device")));
    refuse(table_.line,
           fmt::format("the rows are those of {}: {}", names_of(runs_), rows_.text(table_)),
           fmt::format("say which: --collective {}", names_of(runs_)));
  }

  PossibleRun take(const PossibleRun& run, std::string from) {
    out_.collective = run.collective;
    out_.collective_from = std::move(from);
    return run;
  }

  std::string where_named() const {
    return table_.named_at > 0 ? fmt::format("line {}", table_.named_at) : "the command line";
  }

  void count_ranks() {
    const int listed = table_.ranks();
    const PossibleRanks range = out_.possible;
    if (range.low == range.high) {
      out_.ranks = range.low;
      out_.ranks_from = counts_per_rank(out_.collective) && rows_.multiple
                            ? fmt::format("size = {} x count", range.low)
                            : fmt::format("busbw/algbw {:.4g}", rows_.ratio.middle());
      if (listed > 0 && listed != out_.ranks)
        out_.notes.push_back(
            fmt::format("the list of devices ends with rank {}, the rows are of {}", listed - 1,
                        counted(out_.ranks, "rank")));
      if (listed == out_.ranks) out_.ranks_from = "the list of devices, " + out_.ranks_from;
      return;
    }
    if (listed > 0 && range.holds(listed)) {
      out_.ranks = listed;
      out_.ranks_from = "the list of devices";
    } else if (table_.command_ranks > 0 && range.holds(table_.command_ranks)) {
      out_.ranks = table_.command_ranks;
      out_.ranks_from = fmt::format("the command in {}", where_named());
    }
  }

  const NcclTestsTable& table_;
  const std::string& file_;
  Signature rows_;
  std::vector<PossibleRun> runs_;
  LogFacts out_;
};

}  // namespace

std::vector<PossibleRun> possible_runs(const NcclTestsTable& table) {
  return possible_by(Signature(table));
}

LogFacts facts_of(const NcclTestsTable& table, const std::string& file,
                  std::optional<Collective> asked) {
  return RunFinder(table, file).find(asked);
}

std::optional<Collective> collective_in_name(std::string_view file) {
  std::string name;
  for (const char c : file.substr(file.find_last_of('/') + 1)) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter) != 0) name += static_cast<char>(std::tolower(letter));
  }
  // A longer name holds a shorter one.
  constexpr std::array<std::pair<std::string_view, Collective>, 11> kWords = {
      {{"reducescatter", Collective::reduce_scatter},
       {"allreduce", Collective::all_reduce},
       {"allgather", Collective::all_gather},
       {"alltoall", Collective::alltoall},
       {"broadcast", Collective::broadcast},
       {"bcast", Collective::broadcast},
       {"sendrecv", Collective::sendrecv},
       {"sendreceive", Collective::sendrecv},
       {"scatter", Collective::scatter},
       {"gather", Collective::gather},
       {"reduce", Collective::reduce}}};
  for (const auto& [word, collective] : kWords) {
    if (name.find(word) != std::string::npos) return collective;
  }
  return std::nullopt;
}

std::string datatype_in(const std::string& type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOlder = {
      {{"", "float"},
       {"char", "int8"},
       {"int", "int32"},
       {"fp8_e4m3", "f8e4m3"},
       {"fp8_e5m2", "f8e5m2"}}};
  for (const auto& [older, name] : kOlder) {
    if (type == older) return std::string(name);
  }
  return type;
}

}  // namespace fabricast
