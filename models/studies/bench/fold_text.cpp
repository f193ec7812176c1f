#include "models/studies/bench/fold_text.hpp"

#include <fmt/format.h>

#include "text/counted.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

std::string fold_text(const BenchRow& row) {
  const SimulationResult& result = row.result;
  // Groups of a split are simulated in full.
  const Members& members = row.decided.run.members;
  const int nodes = members.empty() ? row.nodes : members.node_count();  // hosts may be joined
  const int copies = result.nodes_simulated > 0 ? nodes / result.nodes_simulated : 1;
  std::string out = fmt::format("#\n# {} {} on {}: ", to_text(row.size), to_text(row.collective),
                                counted(row.nodes, "node"));
  const std::string rails = fmt::format("one of {} equal rails", result.rails_folded);
  if (copies > 1) {
    out +=
        fmt::format("{}{} simulated, each for {}\n", result.rails_folded > 1 ? rails + " of " : "",
                    counted(result.nodes_simulated, "node"), copies);
  } else if (result.rails_folded > 1) {
    out += rails + " simulated\n";
  } else if (result.merged) {
    out += "GPUs of a node that copy alike simulated as one\n";
  } else {
    out += "every rank simulated\n";
  }
  if (result.channels_simulated > 0)
    out += fmt::format("#   {} of {} simulated, for those that take the same ways\n",
                       result.channels_simulated,
                       counted(std::ssize(result.partition.parts), "channel"));
  if (!result.why_not_folded.empty())
    out += fmt::format("#   {}: {}\n", copies > 1 ? "not fewer" : "nodes not folded",
                       result.why_not_folded);
  out += fmt::format("#   {} events, {} of them simulated\n", result.events,
                     result.events - result.events_skipped);
  return out;
}

}  // namespace fabricast
