#pragma once
// The option --engine: inference engines whose all-reduce kernels run.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "models/engines/engine_costs.hpp"

namespace fabricast {

inline constexpr const char* kNoEngine = "nccl";

/// "vllm,sglang:0.5.10", each once; "nccl": none. Throws Error.
std::vector<CallingEngine> engines_from_option(const std::string& text);

}  // namespace fabricast
