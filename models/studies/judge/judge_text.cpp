#include "models/studies/judge/judge_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kShown = 5;  // groups of causes

std::string rows_text(const JudgeResult& result) {
  TextTable table("  ");
  for (std::size_t i = 0; i < 6; ++i) table.align_right(i);
  table.add({"size", "time us", "expected", "ratio", "busbw", "expected", "verdict", "choice"});
  for (const JudgeRow& row : result.rows) {
    const double measured = busbw_of(result, row.size, row.measured_us);
    const double expected = busbw_of(result, row.size, row.expected_us);
    table.add({to_text(row.size), fmt::format("{:.2f}", row.measured_us),
               fmt::format("{:.2f}", row.expected_us),
               fmt::format("{:.2f}", row.measured_us / row.expected_us),
               fmt::format("{:.2f}", measured), fmt::format("{:.2f}", expected),
               std::string(to_text(row.verdict)),
               row.algorithm == "none"
                   ? std::string(row.protocol)
                   : fmt::format("{} {} x{}", row.algorithm, row.protocol, row.channels)});
  }
  return table.text();
}

std::string summary(const JudgeResult& result) {
  return fmt::format("{} of {} within the band, {} slower, {} faster\n",
                     result.count(RowVerdict::within), counted(std::ssize(result.rows), "row"),
                     result.count(RowVerdict::below), result.count(RowVerdict::above));
}

/// A line for each range of sizes among the rows.
std::string bands_text(const JudgeResult& result) {
  std::string out = "The band, of the expected time:\n";
  std::size_t shown = kSizeRanges;
  for (const JudgeRow& row : result.rows) {
    const std::size_t range = size_range(row.size);
    if (range != shown) out += band_line(range, row.band);
    shown = range;
  }
  return out;
}

std::string verdict_text(const JudgeResult& result, JudgeVerdict verdict) {
  const std::string of_times = is_of_log(verdict) && !result.rows.empty()
                                   ? "the times: " + verdict_text(result, result.of_times)
                                   : "";
  switch (verdict) {
    case JudgeVerdict::run_failed:
      return "the run failed: look for that first\n" + of_times;
    case JudgeVerdict::wrong_values: {
      const int rows = result.config.wrong_rows;
      const std::string found = rows > 0
                                    ? fmt::format("in {} of the log, which {} left out",
                                                  counted(rows, "row"), rows == 1 ? "is" : "are")
                                    : std::string("by the end of the log");
      return fmt::format("wrong values {}: look for that first\n{}", found, of_times);
    }
    case JudgeVerdict::as_expected:
      if (!result.costly_settings.empty())
        return fmt::format("as expected with {} of the log: are they meant?\n",
                           fmt::join(result.costly_settings, " and "));
      return is_of_log(result.verdict) ? "as expected\n" : "as expected: nothing to look for\n";
    case JudgeVerdict::faster:
      return "faster than expected: is --topology the machine that was measured?\n";
    case JudgeVerdict::unexplained:
      return "slower than expected, and nothing we know explains it\n";
    case JudgeVerdict::explained:
      return "slower than expected\n";
  }
  return {};
}

std::string titles(const JudgeResult& result, const FitGroup& group) {
  std::string out;
  for (const FitOfPrediction& fit : group.fits) {
    const Suspect& cause = result.causes[fit.which].cause;
    out += fmt::format("{}{}{}", out.empty() ? "" : "\n     or ", cause.title,
                       cause.name.empty() ? "" : fmt::format(" [{}]", cause.name));
  }
  return out;
}

std::string ranking_text(const JudgeResult& result) {
  if (result.ranking.empty()) return "No cause that we know would show in these rows.\n";
  const std::size_t rows = result.rows.size();
  std::string out = "Causes, the one that explains most rows first:\n";
  if (result.of_times == JudgeVerdict::unexplained) {
    out = is_explained(rows - result.ranking.front().fits.front().outside, rows)
              ? fmt::format(
                    "No cause explains more rows than are within the band ({} of {}). "
                    "Nearest are:\n",
                    result.count(RowVerdict::within), rows)
              : "No cause explains 8 of 10 rows. Nearest are:\n";
  }
  const std::size_t shown = std::min(kShown, result.ranking.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const FitGroup& group = result.ranking[i];
    const FitOfPrediction& best = group.fits.front();
    out += fmt::format(
        "  {}. {}\n     explains {} of {} rows, which are typically {:.0f} % off its times{}\n",
        i + 1, titles(result, group), rows - best.outside, rows, 100 * (std::exp(best.typical) - 1),
        group.fits.size() > 1 ? "; these rows cannot tell them apart" : "");
    if (i > 0) continue;
    for (const FitOfPrediction& fit : group.fits) {
      const Suspect& cause = result.causes[fit.which].cause;
      if (!cause.check.empty()) out += fmt::format("     look at: {}\n", cause.check);
    }
  }
  if (shown < result.ranking.size())
    out += fmt::format("  and {} more that fit worse\n", result.ranking.size() - shown);
  return out;
}

/// Causes that a line of the log rules out, by that line.
std::string ruled_out_text(const JudgeResult& result) {
  std::map<std::string, std::string> names;
  for (const SimulatedSuspect& simulated : result.causes) {
    if (simulated.ruled_out.empty()) continue;
    std::string& list = names[simulated.ruled_out];
    list += (list.empty() ? "" : ", ") + simulated.cause.name;
  }
  std::string out;
  for (const auto& [line, list] : names) out += fmt::format("Not by {}: {}\n", line, list);
  return out;
}

std::string unseen_text(const JudgeResult& result) {
  std::string out;
  for (const std::size_t i : result.unseen)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", result.causes[i].cause.name);
  if (out.empty()) return out;
  return fmt::format("These would not show in these rows (less than {:.0f} % each): {}\n",
                     100 * (kSameTime - 1), out);
}

std::string targets_text(const JudgedTable& table) {
  if (table.targets.empty()) return {};
  TextTable out("  ");
  for (std::size_t i = 0; i < 5; ++i) out.align_right(i);
  out.add({"size", "target", "least", "measured", "simulated", "verdict"});
  for (const JudgedTarget& judged : table.targets) {
    out.add({fmt::format("{} B", judged.target.size.count),
             fmt::format("{:.1f}", judged.target.expected),
             fmt::format("{:.1f}", judged.target.least), fmt::format("{:.1f}", judged.measured),
             fmt::format("{:.1f}", judged.predicted), std::string(judged.verdict())});
  }
  return "\nTargets (busbw GB/s)\n" + out.text();
}

}  // namespace

std::string judge_text(const JudgedTable& table) {
  const JudgeResult& result = table.result;
  std::string out =
      fmt::format("fabricast judge: {}: {} on {} x {}, {}, NCCL {}\n", table.source,
                  to_text(result.config.collective), result.nodes, result.config.topology,
                  counted(result.ranks, "rank"), to_text(result.config.version));
  for (const std::string& line : result.config.basis) out += fmt::format("  {}\n", line);
  out += "\n";
  if (!result.rows.empty()) out += rows_text(result) + "\n" + bands_text(result) + summary(result);
  out += verdict_text(result, result.verdict);
  const bool slow =
      result.of_times == JudgeVerdict::explained || result.of_times == JudgeVerdict::unexplained;
  if (slow) out += "\n" + ranking_text(result) + ruled_out_text(result);
  if (!result.rows.empty()) out += unseen_text(result);
  out += targets_text(table);
  for (const std::string& note : result.notes) out += fmt::format("note: {}\n", note);
  return out;
}

}  // namespace fabricast
