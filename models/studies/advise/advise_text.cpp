#include "models/studies/advise/advise_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

std::string time_with_unit(const WorkRow& row, double us) {
  if (!row.collective) return time_text(us * 1e-6);
  return us >= 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} us", us);
}

/// What is saved, if the effect is as far off as a pair of predictions: kNear either way.
std::string saving(double saves) {
  const double ratio = 1 - saves;
  const double least = 1 - ratio * (1 + kNear), most = 1 - ratio / (1 + kNear);
  return fmt::format("{:.1f} % ({:.0f} .. {:.0f} %)", 100 * saves, 100 * least, 100 * most);
}

std::string keep_text(const AdviseResult& result) {
  const bool defaults = job_of(result.config.work).environment.variables().empty();
  return fmt::format(
      "Keep {}: nothing that was tried is sure to save {:.3g} % of the time of all sizes that "
      "count and, at one of them, the {:.0f} % by which predictions of two settings can be "
      "apart{}.\n",
      defaults ? "NCCL's defaults" : "what you have", 100 * result.config.least, 100 * kNear,
      result.held_back.empty() ? "" : "; what may save less, or is in doubt, stands below");
}

/// Sizes that do not count may get slower.
std::string losses_text(const AdviseResult& result) {
  std::string out;
  for (const AdviseRow& row : result.rows) {
    const double more = row.after.time_us / row.before.time_us - 1;
    if (!row.counts && more > SearchRules{}.harm)
      out += fmt::format("  {} takes {:.0f} % longer\n", row.after.what, 100 * more);
  }
  return out.empty() ? out : "What does not count pays for it:\n" + out;
}

std::string lines_text(const AdviseResult& result) {
  if (result.lines.empty()) return keep_text(result);
  std::string out = fmt::format(
      "{}, by what is lost when only it goes (in brackets: if the ratio of the two predictions "
      "is off by {:.0f} %):\n",
      result.lines.size() == 1 ? "One line" : fmt::format("{} lines", result.lines.size()),
      100 * kNear);
  TextTable table("  ");
  for (const AdviseLine& line : result.lines) {
    std::string most =
        line.row.empty() ? "" : fmt::format("{}: {}", line.row, saving(line.saves_most));
    table.add({line.factor.text(), fmt::format("saves {:.1f} %", 100 * line.saves),
               line.pinned ? "asked for" : std::move(most)});
  }
  table.align_right(1);
  out += table.text();
  for (const AdviseLine& line : result.lines) {
    if (!line.reason.empty()) out += fmt::format("    {}: {}\n", line.factor.name, line.reason);
  }
  return out + losses_text(result);
}

std::string band_text(const AdviseRow& row) {
  if (!row.band) return "";
  if (!row.after.collective)
    return fmt::format("{} .. {}", time_with_unit(row.after, row.after.time_us * row.band->lower),
                       time_with_unit(row.after, row.after.time_us * row.band->upper));
  return fmt::format("{:.4g} .. {:.4g}", row.after.busbw_GBps / row.band->upper,
                     row.after.busbw_GBps / row.band->lower);
}

std::string rows_text(const AdviseResult& result) {
  TextTable table("  ");
  const bool step = is_step(result.config.work);
  table.add({"", "now", "advised", "of the time", step ? "tokens/s" : "busbw GB/s", "80 % lie in",
             step ? "" : "choice"});
  for (const AdviseRow& row : result.rows) {
    table.add({row.after.what + (row.counts ? "" : " *"),
               time_with_unit(row.before, row.before.time_us),
               time_with_unit(row.after, row.after.time_us),
               fmt::format("{:.3f}", row.after.time_us / row.before.time_us),
               step ? fmt::format("{:.0f}", row.after.tokens_per_s)
                    : fmt::format("{:.4g}", row.after.busbw_GBps),
               band_text(row), step ? "" : row.after.choice});
  }
  for (std::size_t column = 1; column <= 5; ++column) table.align_right(column);
  std::string out = "Expected:\n" + table.text();
  if (std::ranges::any_of(result.rows, [](const AdviseRow& row) { return !row.counts; }))
    out += fmt::format("  * does not count for {}\n", to_text(result.config.goal));
  return out;
}

/// Values of one variable that are held back for one reason stand in one line.
bool is_alike(const HeldBack& a, const HeldBack& b) {
  return a.settings.front().first == b.settings.front().first && a.reason == b.reason &&
         a.settings.front().second.has_value() == b.settings.front().second.has_value();
}

/// In a line the figures are those of the value that saves most.
std::string held_back_text(const AdviseResult& result) {
  if (result.held_back.empty()) return {};
  std::vector<const HeldBack*> best;
  std::vector<std::string> names;
  for (const HeldBack& held : result.held_back) {
    const auto same =
        std::ranges::find_if(best, [&](const HeldBack* one) { return is_alike(*one, held); });
    if (same != best.end()) {
      names[static_cast<std::size_t>(same - best.begin())] += ", " + held.text();
      continue;
    }
    best.push_back(&held);
    names.push_back(held.text());
  }
  TextTable table("  ");
  table.add({"", "best size", "mean", "at", "why not"});
  for (std::size_t i = 0; i < best.size(); ++i)
    table.add({names[i], fmt::format("{:.1f} %", 100 * best[i]->saves_most),
               fmt::format("{:.1f} %", 100 * best[i]->saves), best[i]->row, best[i]->reason});
  table.align_right(1);
  table.align_right(2);
  return "\nHeld back, though each alone saves time at some size:\n" + table.text();
}

/// The commands of the script that verifies it.
std::string commands_text(const AdviseResult& result) {
  std::string out;
  std::istringstream script(advise_verify(result));
  for (std::string line; std::getline(script, line);) {
    if (!line.empty() && !line.starts_with('#')) out += fmt::format("  {}\n", line);
  }
  return out.empty() ? out : "\nTo verify, with nccl-tests:\n" + out;
}

}  // namespace

std::string advise_text(const AdviseResult& result) {
  const Job setup = job_of(result.config.work);
  std::string out = fmt::format(
      "# fabricast advise: {} on {}, NCCL {}; {} environments simulated\n\n",
      to_text(result.config.goal), result.topology, to_text(setup.version), result.tried);
  out += lines_text(result) + "\n" + rows_text(result) + held_back_text(result);
  if (!result.idle.empty()) {
    out += "\nChanges no time here and could go:";
    for (const std::string& name : result.idle) out += " " + name;
    out += "\n";
  }
  if (!result.hcas.empty() && !result.best.get("NCCL_IB_HCA"))
    out += fmt::format(
        "\nNames of the HCAs, if the real nodes have others beside them: NCCL_IB_HCA={} "
        "(--pin-hcas writes it)\n",
        result.hcas);
  if (result.tuner) {
    out +=
        "\nTuner plugin, where another choice than NCCL's is faster by more than predictions are "
        "off "
        "(--format tuner-csv):\n";
    for (const TunerPick& pick : result.tuner->picks) {
      if (!pick.is_own())
        out += fmt::format("  {} {} on {} nodes: {} {} {:.1f} us instead of {} {} {:.1f} us\n",
                           to_text(pick.size), to_text(pick.collective), pick.nodes,
                           to_text(pick.algorithm), to_text(pick.protocol), pick.time_us,
                           to_text(pick.own_algorithm), to_text(pick.own_protocol), pick.own_us);
    }
  } else {
    out += fmt::format("\nNo file for a tuner plugin: {}.\n", result.no_tuner);
  }
  out += commands_text(result);
  for (const std::string& note : result.notes) out += fmt::format("note: {}\n", note);
  return out;
}

}  // namespace fabricast
