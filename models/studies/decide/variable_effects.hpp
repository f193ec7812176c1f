#pragma once
// What each variable of a job changes about one of its calls.

#include <vector>

#include "models/studies/decide/decide.hpp"

namespace fabricast {

/// By variable of the environment that NCCL reads here. Each costs a graph search. `block`: of
/// `config` on `topology`; `row`: of it.
std::vector<VariableEffect> variable_effects(const Topology& topology, const DecideConfig& config,
                                             const DecideBlock& block, const DecideRow& row);

}  // namespace fabricast
