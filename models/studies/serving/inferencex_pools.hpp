#pragma once
// How many requests a decode engine of InferenceX's pools takes, which no column of its results
// says.

#include <optional>

#include "models/studies/training/serve.hpp"

namespace fabricast {

/// Of each copy of attention; nothing where no recipe of TensorRT-LLM is known.
/// REQUIRES: config.load, config.prefill.
std::optional<int> decode_places(const ServeConfig& config);

}  // namespace fabricast
