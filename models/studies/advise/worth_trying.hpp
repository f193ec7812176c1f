#pragma once
// Which settings to try on a large job: those that do something for the same work on fewer nodes,
// where trying all of them takes little.

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

/// So many are tried on all nodes, alone and in pairs. Assumed: the longest advice of
/// docs/advise.md has two lines.
inline constexpr std::size_t kMovesTried = 9;

}  // namespace fabricast
