#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/io/report/answer_words.hpp"

namespace fabricast::answers {
namespace {

std::string check(const Report& report) {
  const AnswerRows rows(report, "rules");
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows.flag(i, "as_expected"))
      return fmt::format("Not as expected: {} ({}: {}).", rows.text(i, "claim"),
                         rows.text(i, "verdict"), rows.text(i, "range"));
  return rows.size() == 0 ? "" : "Each rule is as the file expects.";
}

std::string judge(const Report& report) {
  const AnswerRows tables(report, "tables"), causes(report, "causes"), rows(report, "rows");
  if (tables.size() == 0) return {};
  std::string out =
      fmt::format("{} on {}: {}.", tables.text(0, "collective"),
                  counted(tables.number(0, "nodes"), "node"), tables.text(0, "verdict"));
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "ratio")) last = i;
  if (last)
    out += fmt::format(" {} took {}, expected are {}.", size(rows, *last),
                       us(rows.number(*last, "time_us")), us(rows.number(*last, "expected_us")));
  if (causes.size() > 0 && !tables.flag(0, "passes"))
    out += fmt::format(" What explains it best: {}.", causes.text(0, "title"));
  return out;
}

std::string gate(const Report& report) {
  const AnswerRows rows(report, "rows"), logs(report, "tables");
  if (report.facts.contains("passes")) {
    int passed = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) passed += logs.flag(i, "passes") ? 1 : 0;
    std::string out =
        fmt::format("{} of {} passes.", passed, counted(static_cast<double>(logs.size()), "table"));
    for (std::size_t i = 0; i < logs.size(); ++i)
      if (!logs.flag(i, "passes"))
        return out + fmt::format(" {} does not: {} of {} are slower than their floor.",
                                 logs.text(i, "source"), whole(logs, i, "slow_rows"),
                                 counted(logs.number(i, "rows"), "row"));
    return out;
  }
  const auto best = rows.largest("floor_busbw_GBps");
  if (!best) return {};
  return fmt::format("A healthy cluster of {} reaches {:.4g} GB/s at {}; {:.4g} are expected.",
                     counted(rows.number(*best, "nodes"), "node"),
                     rows.number(*best, "floor_busbw_GBps"), size(rows, *best),
                     rows.number(*best, "expected_busbw_GBps"));
}

std::string judge_inspector(const Report& report) {
  const AnswerRows rows(report, "rows");
  std::size_t judged = 0, slower = 0;
  std::string suspect;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    judged += rows.has(i, "expected_us") ? 1 : 0;
    slower += rows.text(i, "verdict") == "below" ? 1 : 0;
    if (suspect.empty()) suspect = rows.text(i, "suspect");
  }
  std::string out = fmt::format("{} of {} of what was recorded slower than expected.", slower,
                                counted(static_cast<double>(judged), "row"));
  if (!suspect.empty()) out += " First suspect: " + suspect + ".";
  return out;
}

/// "rank 5", "ranks 0-4 6-15": of many ranges the first.
std::string ranks(const std::string& listed) {
  constexpr std::size_t kRangesMax = 8;
  std::size_t end = 0;
  for (std::size_t i = 0; i < kRangesMax && end != std::string::npos; ++i)
    end = listed.find(' ', end + 1);
  const bool is_one = listed.find_first_of(" -") == std::string::npos;
  return fmt::format("rank{} {}{}", is_one ? "" : "s", listed.substr(0, end),
                     end == std::string::npos ? "" : " and others");
}

std::string first_mismatch(const AnswerRows& rows) {
  const std::string one = rows.text(0, "ranks");
  return fmt::format("{} call{} {} on {}, {} {}: they meet and do not fit ({})", ranks(one),
                     one.find_first_of(" -") == std::string::npos ? "s" : "", rows.text(0, "op"),
                     rows.text(0, "group"), ranks(rows.text(0, "other_ranks")),
                     rows.text(0, "other_op"), rows.text(0, "what"));
}

/// What each rank of a cycle waits in, and for whom.
std::string cycle_words(const AnswerRows& rows, const std::vector<int>& cycle) {
  constexpr std::size_t kRanksMax = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(cycle.size(), kRanksMax); ++i) {
    std::size_t row = 0;
    while (row + 1 < rows.size() && rows.number(row, "rank") != cycle[i]) ++row;
    out +=
        fmt::format("{}rank {} in {} on {} waits for rank {}", i == 0 ? "" : ", ", cycle[i],
                    rows.text(row, "op"), rows.text(row, "group"), cycle[(i + 1) % cycle.size()]);
  }
  return out + (cycle.size() > kRanksMax ? " and so on" : "");
}

std::string why_it_hangs(const Report& report) {
  const AnswerRows rows(report, "rows"), ended(report, "ended"), mismatches(report, "mismatches"),
      unfinished(report, "unfinished");
  if (mismatches.size() > 0) return ": " + first_mismatch(mismatches);
  if (ended.size() > 0) {
    const std::string why = ended.text(0, "why");
    return fmt::format(": rank {} is not there any more ({}), {}and others wait for it",
                       whole(ended, 0, "rank"), why.empty() ? "it makes no further call" : why,
                       ended.size() > 1 ? "nor are some others, " : "");
  }
  if (unfinished.size() > 0)
    return fmt::format(" in {} on {}: all that are needed are there, and it does not end",
                       unfinished.text(0, "op"), unfinished.text(0, "group"));
  const auto cycle = report.facts.value("cycle", std::vector<int>());
  if (!cycle.empty()) return " in a cycle: " + cycle_words(rows, cycle);
  if (rows.size() == 0) return {};
  return fmt::format(": rank {} waits in {} for {}", whole(rows, 0, "rank"), rows.text(0, "op"),
                     ranks(rows.text(0, "waits_for")));
}

std::string hang(const Report& report) {
  if (report.facts.value("hangs", false)) return "The job hangs" + why_it_hangs(report) + ".";
  const AnswerRows mismatches(report, "mismatches");
  if (mismatches.size() > 0)
    return "Nobody waits for ever, but " + first_mismatch(mismatches) + ".";
  return "Nobody waits for ever: each call meets its partners.";
}

std::string calls_of_ranks(const Report& report) {
  const AnswerRows steps(report, "steps"), rows(report, "rows");
  const auto worst = steps.largest("caused_us");
  if (!worst || rows.size() == 0) return {};
  std::string out = fmt::format("In step {} rank {} is the slowest: the others wait {} for it.",
                                whole(steps, *worst, "step"), whole(steps, *worst, "slowest_rank"),
                                us(steps.number(*worst, "caused_us")));
  if (rows.has(0, "expected_us"))
    out += fmt::format(" {} takes {} of transfer, expected are {}.", rows.text(0, "collective"),
                       us(rows.number(0, "transfer_us")), us(rows.number(0, "expected_us")));
  return out + fmt::format(" The network could at best give back {} of {}.",
                           us(steps.number(*worst, "exposed_transfer_us")),
                           us(steps.number(*worst, "time_us")));
}

std::string lint(const Report& report) {
  const AnswerRows rows(report, "findings");
  for (const char* const severity : {"error", "warning", "note"})
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows.text(i, "severity") == severity)
        return fmt::format("The first {}: {}", severity, rows.text(i, "message"));
  return "Nothing is wrong with these settings.";
}

std::string validate(const Report& report) {
  const AnswerRows rows(report, "ranges");
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "median_over_classes") && rows.text(i, "era") == rows.text(0, "era"))
      out += fmt::format("{}{} for {}", out.empty() ? "" : ", ",
                         percent(rows.number(i, "median_over_classes")), rows.text(i, "sizes"));
  return out.empty()
             ? out
             : "Median over classes of hardware of how far predictions are off: " + out + ".";
}

std::string topo(const Report& report) {
  const AnswerRows rows(report, "counts");
  std::map<std::string, double> counts;
  for (std::size_t i = 0; i < rows.size(); ++i)
    counts[rows.text(i, "what")] = rows.number(i, "count");
  return fmt::format("{}: {}, each with {}, {} and {}.", report.facts.value("title", ""),
                     counted(counts["nodes"], "node"), counted(counts["gpu"], "GPU"),
                     counted(counts["nic"], "NIC"), counted(counts["cpu"], "CPU"));
}

std::string calibrate(const Report& report) {
  const AnswerRows rows(report, "rows");
  const auto most = rows.largest("sources");
  return most ? fmt::format("{} is told by most: by runs of {}.", rows.text(*most, "parameter"),
                            counted(rows.number(*most, "sources"), "source"))
              : std::string();
}

std::string placement(const Report& report) {
  const AnswerRows rows(report, "rows"), swaps(report, "swaps"), jobs(report, "neighbours");
  if (rows.size() == 0) return {};
  std::size_t last = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.text(i, "collective") == rows.text(0, "collective") &&
        rows.number(i, "size_bytes") == rows.number(0, "size_bytes"))
      last = i;
  std::string out = fmt::format("{} takes {}", call(rows, 0), us(rows.number(0, "time_us")));
  if (last == 0) {
    out += " on these hosts, and no others are faster.";
  } else {
    out += fmt::format(" on these hosts, {} on the best: {}.", us(rows.number(last, "time_us")),
                       swaps.size() == 0 ? std::string("the same ones in another order")
                                         : counted(static_cast<double>(swaps.size()), "swap"));
  }
  if (jobs.size() == 2)
    out += fmt::format(
        " While both communicate, this job is slower by a factor of {:.3f}, its "
        "neighbour by {:.3f}.",
        jobs.number(0, "slowdown"), jobs.number(1, "slowdown"));
  return out;
}

}  // namespace

std::span<const StudyAnswer> of_clusters() {
  static constexpr StudyAnswer kStudies[] = {
      {"check", check},        {"judge", judge},
      {"gate", gate},          {"judge inspector", judge_inspector},
      {"hang", hang},          {"calls of ranks", calls_of_ranks},
      {"lint", lint},          {"validate nccl-tests", validate},
      {"topo", topo},          {"calibrate", calibrate},
      {"placement", placement}};
  return kStudies;
}

}  // namespace fabricast::answers
