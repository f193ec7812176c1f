#pragma once
// The part of a scenario that only the study `concurrent` has.

#include "models/io/formats/reader.hpp"
#include "models/studies/scenario/scenario.hpp"

namespace fabricast {

/// What is not said stays as in `config`. Throws Error.
void read_concurrent(Reader& in, ConcurrentConfig& config);
/// Throws Error, also when no group of its case has the name.
Expectation read_concurrent_expectation(Reader& in, const std::vector<ScenarioCase>& cases);

}  // namespace fabricast
