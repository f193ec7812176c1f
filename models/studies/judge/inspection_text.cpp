#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/studies/judge/judge_inspector.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kRowsShown = 40, kSuspectsShown = 20;

std::string communicator_text(const InspectedRow& row) {
  const std::string name = row.name.empty() ? row.communicator : row.name;
  return fmt::format("{} ({} on {})", name.empty() ? "unknown" : name, row.ranks, row.nodes);
}

std::string header_text(const JudgedInspection& judged) {
  const InspectedRun& run = judged.run;
  std::set<std::string> communicators;
  for (const InspectedRow& row : run.rows)
    communicators.insert(row.job + row.communicator + row.name);
  std::string out = fmt::format(
      "fabricast judge: {}: NCCL Inspector{}, {}, {} of {} on {}, NCCL {}\n", judged.request.source,
      run.version.empty() ? "" : " " + run.version, counted(run.files, "file"),
      counted(run.calls, "record"), counted(std::ssize(communicators), "communicator"),
      judged.request.job.topology, to_text(judged.request.job.version));
  if (run.seconds) out += fmt::format("  {:.3g} s from the first to the last dump\n", *run.seconds);
  return out + fmt::format("  share: of {}\n\n",
                           run.seconds ? "that time, one rank's calls on each communicator"
                                       : "the time of all collectives recorded");
}

std::string wait_text(const InspectedRow& row) {
  return row.skew ? fmt::format("{:.1f}", row.skew->wait_us) : "-";
}

std::string took_text(const InspectedRow& row) {
  return row.algorithm.empty() ? "" : row.algorithm + " " + row.protocol;
}

std::string size_text(const InspectedRow& row) {
  if (row.size_doubt == 0) return to_text(row.size);
  const double mib = static_cast<double>(row.size.count) / (1 << 20);
  return mib < 1024 ? fmt::format("~{:.3g} MiB", mib) : fmt::format("~{:.3g} GiB", mib / 1024);
}

std::string table_text(const JudgedInspection& judged) {
  TextTable table("  ");
  for (std::size_t column = 2; column <= 12; ++column) {
    if (column != 11) table.align_right(column);  // not the verdict
  }
  table.add({"communicator", "collective", "size", "calls", "time us", "wait", "transfer",
             "expected", "ratio", "busbw", "expected", "verdict", "share", "took", "expected"});
  for (std::size_t i = 0; i < std::min(kRowsShown, judged.run.rows.size()); ++i) {
    const InspectedRow& row = judged.run.rows[i];
    const JudgeRow* const of = judged.judged(i);
    std::vector<std::string> cells = {
        communicator_text(row),
        row.collective ? std::string(to_text(*row.collective)) : row.word,
        size_text(row),
        std::to_string(row.calls),
        fmt::format("{:.1f}", row.time_us),
        wait_text(row),
        fmt::format("{:.1f}", row.transfer_us)};
    if (of != nullptr) {
      cells.insert(cells.end(), {fmt::format("{:.1f}", of->expected_us),
                                 fmt::format("{:.2f}", row.transfer_us / of->expected_us),
                                 fmt::format("{:.1f}", busbw_of(row, row.transfer_us)),
                                 fmt::format("{:.1f}", busbw_of(row, of->expected_us)),
                                 std::string(to_text(of->verdict))});
    } else {
      cells.insert(cells.end(), {"-", "-", fmt::format("{:.1f}", busbw_of(row, row.transfer_us)),
                                 "-", "not judged"});
    }
    cells.push_back(fmt::format("{:.1f} %", 100 * judged.run.share(row)));
    cells.push_back(took_text(row));
    cells.push_back(of == nullptr || of->algorithm == "none"
                        ? ""
                        : fmt::format("{} {} x{}", of->algorithm, of->protocol, of->channels));
    table.add(std::move(cells));
  }
  std::string out = table.text();
  if (judged.run.rows.size() > kRowsShown)
    out += fmt::format("  and {} more rows: --format json has all\n",
                       judged.run.rows.size() - kRowsShown);
  return out;
}

/// Why rows are not judged, each reason once.
std::string unjudged_text(const JudgedInspection& judged) {
  std::vector<std::pair<std::string, int>> reasons;
  for (const InspectedRowVerdict& verdict : judged.verdicts) {
    if (verdict.judgement) continue;
    const auto at =
        std::ranges::find(reasons, verdict.why_not, &std::pair<std::string, int>::first);
    if (at == reasons.end()) {
      reasons.emplace_back(verdict.why_not, 1);
    } else {
      ++at->second;
    }
  }
  std::string out;
  for (const auto& [why, rows] : reasons)
    out += fmt::format("Not judged, {}: {}\n", counted(rows, "row"), why);
  return out;
}

std::string bands_of_text(const JudgedInspection& judged) {
  std::set<std::string> lines;
  for (std::size_t i = 0; i < judged.run.rows.size(); ++i) {
    if (const JudgeRow* const of = judged.judged(i); of != nullptr)
      lines.insert(fmt::format("  {:<14} {}", to_text(*judged.run.rows[i].collective),
                               band_line(size_range(of->size), of->band)));
  }
  std::string out = lines.empty() ? "" : "The band, of the expected time:\n";
  for (const std::string& line : lines) out += line;
  return out;
}

/// Suspects, the one that costs most first.
std::string suspects_text(const JudgedInspection& judged) {
  std::string out;
  std::size_t shown = 0, more = 0;
  for (std::size_t i = 0; i < judged.run.rows.size(); ++i) {
    const InspectedRow& row = judged.run.rows[i];
    const InspectedRowVerdict& verdict = judged.verdicts[i];
    if (verdict.suspect.empty()) continue;
    if (shown == kSuspectsShown) {
      ++more;
      continue;
    }
    ++shown;
    const JudgeRow* const of = judged.judged(i);
    const bool slow = of != nullptr && of->verdict == RowVerdict::below;
    const double lost =
        slow ? 1 - of->expected_us / row.transfer_us : row.skew->wait_us / row.time_us;
    out += fmt::format(
        "  {} {} of {}: {}; {} {:.1f} % of the {}\n", communicator_text(row), row.word,
        size_text(row), verdict.suspect, slow ? "slower than expected by" : "waits are",
        100 * judged.run.share(row) * lost, judged.run.seconds ? "run" : "collectives' time");
  }
  if (more > 0) out += fmt::format("  and {} more\n", more);
  return out.empty() ? "" : "First suspects, by the row:\n" + out;
}

}  // namespace

std::string inspection_text(const JudgedInspection& judged) {
  std::size_t within = 0, below = 0, above = 0;
  for (std::size_t i = 0; i < judged.run.rows.size(); ++i) {
    const JudgeRow* const of = judged.judged(i);
    if (of == nullptr) continue;
    within += of->verdict == RowVerdict::within ? 1 : 0;
    below += of->verdict == RowVerdict::below ? 1 : 0;
    above += of->verdict == RowVerdict::above ? 1 : 0;
  }
  std::string out = header_text(judged) + table_text(judged) + "\n" + bands_of_text(judged);
  out += fmt::format("{} of {} within the band, {} slower, {} faster\n", within,
                     counted(static_cast<std::int64_t>(within + below + above), "judged row"),
                     below, above);
  out += unjudged_text(judged);
  const std::string suspects = suspects_text(judged);
  if (!suspects.empty()) out += "\n" + suspects;
  for (const std::string& note : judged.run.notes) out += fmt::format("note: {}\n", note);
  for (const std::string& note : judged.notes) out += fmt::format("note: {}\n", note);
  return out;
}

}  // namespace fabricast
