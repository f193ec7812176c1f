#pragma once
// Why NCCL takes what it takes for one call: every candidate's price, what excluded the rest, the
// channels of the winner, and what each variable changed.

#include <optional>
#include <string>
#include <vector>

#include "models/studies/decide/decide.hpp"

namespace fabricast {

/// What the same call would be if one variable were not set.
struct VariableEffect {
  std::string name, value;
  std::optional<DecideRow> without;  ///< nothing: it could not be decided; `problem` says why
  std::string problem;
  bool changes_ways = false;  ///< what is simulated of the row's call takes others

  bool acts_on(const DecideRow& row) const;
};

/// By variable of the environment that NCCL reads here. Each costs a graph search.
std::vector<VariableEffect> variable_effects(const DecideResult& result, const DecideBlock& block,
                                             const DecideRow& row);

/// All rows of the result, one after the other.
std::string explain_text(const DecideResult& result);

}  // namespace fabricast
