#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/studies/skew/skew.hpp"
#include "models/studies/training/step.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kRowsShown = 24, kRanksShown = 16;

/// "3, 7-9"
std::string ranks_text(const std::vector<int>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", ranks[i]);
    if (last > i) out += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return out;
}

std::string ms(double us) { return fmt::format("{:.3f}", us / 1000); }

std::string clocks_text(const SkewResult& result) {
  double most = 0;
  for (const SkewRank& one : result.ranks) most = std::max(most, std::abs(one.offset_us));
  std::string out = fmt::format(
      "# clocks: aligned by the ends of {}; up to {} apart, {:.1f} us are left (nine of ten ends: "
      "{:.1f} us)\n",
      counted(static_cast<std::int64_t>(result.aligned_by), "collective"), time_text(most * 1e-6),
      result.residual_us, result.residual_most_us);
  if (result.early_ends > 0)
    out += fmt::format(
        "# {} before the last rank came, by up to {:.1f} us: no wait below that is "
        "certain\n",
        counted(static_cast<std::int64_t>(result.early_ends), "end"), result.early_most_us);
  return out;
}

std::string rows_text(const SkewResult& result) {
  TextTable table("  ");
  for (std::size_t column = 1; column <= 10; ++column) table.align_right(column);
  table.add({"call", "ranks", "bytes", "times", "wait us", "most", "transfer us", "p90",
             "expected us", "ratio", "waited for most", "group"});
  for (std::size_t i = 0; i < std::min(kRowsShown, result.rows.size()); ++i) {
    const SkewRow& row = result.rows[i];
    const TracedLine& line = row.line;
    const double expected = line.time ? microseconds_of(*line.time) : 0;
    table.add({line.call.collective, std::to_string(line.ranks),
               line.time ? to_text(Bytes{line.bytes}) : "-", std::to_string(row.times),
               fmt::format("{:.1f}", row.wait_us), fmt::format("{:.1f}", row.wait_most_us),
               fmt::format("{:.1f}", row.transfer_us), fmt::format("{:.1f}", row.transfer_p90_us),
               line.time ? fmt::format("{:.1f}", expected) : "-",
               line.time ? fmt::format("{:.2f}", row.transfer_us / expected) : "-",
               fmt::format("rank {} ({:.0f} %)", row.slowest, 100 * row.slowest_share),
               line.time ? line.call.group : line.why_not});
  }
  std::string out = table.text();
  if (result.rows.size() > kRowsShown)
    out += fmt::format("  and {}, of less time: --format csv has all\n",
                       counted(static_cast<std::int64_t>(result.rows.size() - kRowsShown), "kind"));
  return out;
}

std::string steps_text(const SkewResult& result) {
  std::string out = "# steps, ms:\n";
  TextTable table("  ");
  for (std::size_t column = 0; column <= 8; ++column) table.align_right(column);
  table.add({"step", "time", "slowest rank", "last in", "others wait for it", "exposed wait",
             "exposed transfer", "above expected", "network at best"});
  for (const SkewStep& step : result.steps)
    table.add(
        {std::to_string(step.number), ms(step.time_us), std::to_string(step.slowest),
         fmt::format("{} of {}", step.last, step.calls), ms(step.caused_us), ms(step.wait_us),
         ms(step.transfer_us), ms(step.above_us),
         fmt::format("{:.1f} %", step.time_us > 0 ? 100 * step.transfer_us / step.time_us : 0)});
  out += table.text();
  return out +
         "# exposed: while the GPU computes nothing; the mean rank's wait, the slowest rank's "
         "transfer.\n# A network without any time gives back that transfer; one as expected, what "
         "is above.\n";
}

std::string ranks_text(const SkewResult& result) {
  std::vector<const SkewRank*> all;
  for (const SkewRank& one : result.ranks) all.push_back(&one);
  std::ranges::stable_sort(all, std::greater{}, &SkewRank::caused_us);
  std::string out = "# ranks, those that others wait for most first:\n";
  TextTable table("  ");
  for (std::size_t column = 0; column <= 8; ++column) table.align_right(column);
  table.add({"rank", "last in", "others wait ms", "exposed wait ms", "transfer ms", "GPU busy ms",
             "clock ms", "drift ppm", "residual us"});
  for (std::size_t i = 0; i < std::min(kRanksShown, all.size()); ++i) {
    const SkewRank& one = *all[i];
    table.add({std::to_string(one.rank), std::to_string(one.last), ms(one.caused_us),
               ms(one.wait_us), ms(one.transfer_us), ms(one.compute_us),
               one.clock_known ? fmt::format("{:+.3f}", one.offset_us / 1000) : "unknown",
               fmt::format("{:+.1f}", one.drift_ppm), fmt::format("{:.1f}", one.residual_us)});
  }
  out += table.text();
  if (all.size() > kRanksShown) out += fmt::format("  and {} more\n", all.size() - kRanksShown);
  return out;
}

}  // namespace

std::string skew_text(const SkewResult& result) {
  std::string out =
      fmt::format("# {}: {} of {} ranks, {} matched, in {}; expected on {}, NCCL {}\n",
                  result.folder, result.ranks.size(), result.world_size,
                  counted(static_cast<std::int64_t>(result.calls), "collective"),
                  counted(std::ssize(result.steps), "step"), result.config.topology,
                  to_text(result.config.version));
  if (!result.missing.empty())
    out += fmt::format("# no trace of rank{} {}\n", result.missing.size() == 1 ? "" : "s",
                       ranks_text(result.missing));
  out += clocks_text(result) + rows_text(result) + steps_text(result) + ranks_text(result);
  for (const std::string& note : result.notes) out += fmt::format("# note: {}\n", note);
  return out;
}

}  // namespace fabricast
