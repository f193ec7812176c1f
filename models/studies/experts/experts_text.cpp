#include "models/studies/experts/experts_text.hpp"

#include <fmt/format.h>

#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

std::string us(Duration time) {
  const double value = microseconds_of(time);
  return fmt::format("{:.{}f}", value, value < 100 ? 1 : 0);
}

std::string head(const ExpertsResult& result) {
  const ExpertsConfig& config = result.config;
  const ExpertChoice& choice = config.call.choice;
  std::string out = fmt::format("dispatch and combine on {}: hidden {}, top {} of {} experts",
                                result.topology, config.call.hidden, choice.top_k, choice.experts);
  if (choice.groups > 1)
    out += fmt::format(" (from {} of {} groups)", choice.top_groups, choice.groups);
  return out +
         fmt::format(", {} dispatched, bf16 combined, experts {}",
                     kEpDatatypeWords[config.call.dispatched], config.load) +
         "\n\n";
}

std::string resources_text(const ExpertsRow& row, EpPhase phase) {
  const EpResult& of = phase == EpPhase::dispatch ? row.dispatch : row.combine;
  TextTable table("    ");
  table.align_right(1);
  for (const EpResource& one : of.resources)
    table.add({one.name, fmt::format("{:.0f} %", 100 * one.share), one.where});
  return fmt::format("  {}, {}, {}, {}: {} us, limited by {}\n{}", kEpModeWords[row.mode],
                     counted(row.nodes, "node"), counted(row.tokens, "token"), kEpPhaseWords[phase],
                     us(of.time), of.resources.front().name, table.text());
}

}  // namespace

std::string experts_text(const ExpertsResult& result, bool explain) {
  std::string out = head(result);
  TextTable table("  ");
  for (const std::size_t column : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) table.align_right(column);
  table.add({"kernels", "nodes", "GPUs", "tokens", "dispatch us", "GB/s", "combine us", "GB/s",
             "busiest", "dispatch is limited by", "combine by"});
  for (const ExpertsRow& row : result.rows)
    table.add({std::string(kEpModeWords[row.mode]), fmt::format("{}", row.nodes),
               fmt::format("{}", row.ranks), fmt::format("{}", row.tokens), us(row.dispatch.time),
               fmt::format("{:.1f}", printed_GBps(row.dispatch)), us(row.combine.time),
               fmt::format("{:.1f}", printed_GBps(row.combine)), fmt::format("{:.2f}", row.busiest),
               row.dispatch.resources.front().name, row.combine.resources.front().name});
  out += table.text();
  out +=
      "\ntokens: of each GPU. GB/s: as the kernels' own tests count, tokens that stay included.\n"
      "busiest: tokens that the fullest GPU receives, over the average.\n";
  if (explain) {
    out += "\nWhat is busy for how much of the time, each at its busiest place:\n";
    for (const ExpertsRow& row : result.rows)
      for (const EpPhase phase : {EpPhase::dispatch, EpPhase::combine})
        out += resources_text(row, phase);
  }
  for (const std::string& note : result.notes) out += "\nnote: " + note;
  return out + (result.notes.empty() ? "" : "\n");
}

}  // namespace fabricast
