#pragma once
// Which settings to try on a large job: those that do something for the same work on fewer nodes,
// where trying all of them takes little.

#include <cstdint>
#include <optional>
#include <vector>

#include "models/studies/advise/advise.hpp"

namespace fabricast {

struct MovesWorthTrying {
  std::vector<SettingMove> moves;  ///< in the order in which they were given
  int nodes = 0;                   ///< the most on which all of them were tried
};

/// Nothing where the budget suffices for all of them on all nodes, where there is none, for a
/// training step, and for nodes that cannot be fewer. `before`: the work as it is, simulated.
std::optional<MovesWorthTrying> moves_worth_trying(const AdviseConfig& config,
                                                   const std::vector<SettingMove>& moves,
                                                   const WorkRun& before,
                                                   const PartsCatalogue& parts,
                                                   const ForEach& for_each);

/// A search times about so many environments for each of its moves, alone, in pairs and to drop
/// lines; assumed, from the examples of docs/advise.md.
inline constexpr std::uint64_t kTimedPerMove = 6;
/// Of so many calls that are asked for one is simulated, as the others are the same (KnownCalls).
/// Assumed: of 1,023 calls on 64 nodes of dgx-h100, goal training, 225 were different ones, and the
/// dear ones more often.
inline constexpr std::uint64_t kAskedOfOne = 2;
/// So many moves are tried on all nodes, whatever that takes.
inline constexpr std::size_t kMovesLeast = 3;

}  // namespace fabricast
