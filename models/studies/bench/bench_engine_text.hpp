#pragma once
// What an engine takes for which sizes, as comment lines below the table.

#include <string>
#include <vector>

#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// Of a block of an engine's kernel (vLLM, csrc/custom_all_reduce.cuh).
inline constexpr int kEngineThreads = 512;

/// Runs of sizes with one kernel, or NCCL's algorithm and protocol, joined; and why.
std::string kernel_choices(const BenchConfig& config, const std::vector<const BenchRow*>& rows);

/// What holds a kernel of an engine back, where neither its start nor a link does.
std::string kernel_verdict(bool by_latency, bool by_worker);

}  // namespace fabricast
