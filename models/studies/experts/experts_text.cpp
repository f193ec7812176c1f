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

/// After what is asked; of kernels alone nothing.
std::string_view launch_text(EpLaunch launch) {
  switch (launch) {
    case EpLaunch::kernels:
      return "";
    case EpLaunch::stream:
      return "\ncalls of a framework on a stream, each of newly routed tokens";
    case EpLaunch::graph:
      return "\ncalls in a CUDA graph, each of newly routed tokens";
    case EpLaunch::one_shot:
      return "\na lone call from idle, of newly routed tokens";
  }
  return "";
}

std::string head(const ExpertsResult& result) {
  const ExpertsConfig& config = result.config;
  const ExpertChoice& choice = config.call.choice;
  std::string phases(kEpPhaseWords[config.phases.front()]);
  for (std::size_t i = 1; i < config.phases.size(); ++i)
    phases += fmt::format(" and {}", kEpPhaseWords[config.phases[i]]);
  std::string out = fmt::format("{} on {}: hidden {}, top {} of {} experts", phases,
                                result.topology, config.call.hidden, choice.top_k, choice.experts);
  if (choice.groups > 1)
    out += fmt::format(" (from {} of {} groups)", choice.top_groups, choice.groups);
  return out +
         fmt::format(", {} dispatched, bf16 combined, experts {}",
                     kEpDatatypeWords[config.call.dispatched], config.load) +
         std::string(launch_text(config.launch)) + "\n\n";
}

std::string resources_text(const ExpertsRow& row, EpPhase phase) {
  const EpResult& of = row.of(phase);
  TextTable table("    ");
  table.align_right(1);
  for (const EpResource& one : of.resources)
    table.add({one.name, fmt::format("{:.0f} %", 100 * one.share), one.where});
  return fmt::format("  {}, {}, {}, {}: {} us, limited by {}\n{}", kEpModeWords[row.mode],
                     counted(row.nodes, "node"), counted(row.tokens, "token"), kEpPhaseWords[phase],
                     us(of.time), of.resources.front().name, table.text());
}

std::vector<std::string> headings(const ExpertsConfig& config) {
  std::vector<std::string> out = {"kernels", "nodes", "GPUs", "tokens"};
  for (const EpPhase phase : config.phases) {
    out.push_back(fmt::format("{} us", kEpPhaseWords[phase]));
    if (config.launch != EpLaunch::kernels) out.emplace_back("launch");
    out.emplace_back("GB/s");
  }
  out.emplace_back("busiest");
  for (const EpPhase phase : config.phases)
    out.push_back(fmt::format("{}{} by", kEpPhaseWords[phase],
                              phase == config.phases.front() ? " is limited" : ""));
  return out;
}

}  // namespace

std::string experts_text(const ExpertsResult& result, bool explain) {
  const ExpertsConfig& config = result.config;
  const bool launched = config.launch != EpLaunch::kernels;
  std::string out = head(result);
  TextTable table("  ");
  table.add(headings(config));
  const std::size_t figures = 4 + config.phases.size() * (launched ? 3 : 2);
  for (std::size_t column = 1; column <= figures; ++column) table.align_right(column);
  for (const ExpertsRow& row : result.rows) {
    std::vector<std::string> cells = {std::string(kEpModeWords[row.mode]),
                                      fmt::format("{}", row.nodes), fmt::format("{}", row.ranks),
                                      fmt::format("{}", row.tokens)};
    for (const EpPhase phase : config.phases) {
      cells.push_back(us(row.of(phase).time));
      if (launched) cells.push_back(us(row.of(phase).launch));
      cells.push_back(fmt::format("{:.1f}", printed_GBps(row.of(phase))));
    }
    cells.push_back(fmt::format("{:.2f}", row.busiest));
    for (const EpPhase phase : config.phases) cells.push_back(row.of(phase).resources.front().name);
    table.add(std::move(cells));
  }
  out += table.text();
  out += "\ntokens: of each GPU. ";
  if (launched) out += "launch: of the time, what is not kernels that move or count tokens.\n";
  out += fmt::format(
      "GB/s: as the kernels' own tests count, {}tokens that stay included.\n"
      "busiest: tokens that the fullest GPU receives, over the average.\n",
      launched ? "launch left out, " : "");
  if (explain) {
    out += "\nWhat is busy for how much of the time, each at its busiest place:\n";
    for (const ExpertsRow& row : result.rows)
      for (const EpPhase phase : config.phases) out += resources_text(row, phase);
  }
  for (const std::string& note : result.notes) out += "\nnote: " + note;
  return out + (result.notes.empty() ? "" : "\n");
}

}  // namespace fabricast
