#pragma once
// LAYOUT.yaml of `fabricast step` -> StepConfig, and what other questions about models share with
// it.

#include <string>

#include "models/io/formats/reader.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast {

inline constexpr int kSequenceMax = 1 << 24;  // tokens
inline constexpr int kBatchMax = 1 << 24;     // sequences, requests

/// Model, cluster and price: what every question about a model begins with.
void read_site(Reader& in, const std::string& file, StepConfig& out);

}  // namespace fabricast
