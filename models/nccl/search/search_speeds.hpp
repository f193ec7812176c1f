#pragma once
// The bandwidths per channel that the graph search tries, GB/s, widest first (src/graph/search.cc).

#include <span>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// `min_sm`: least compute capability of the node's GPUs.
std::span<const float> search_speeds(int min_sm, bool over_net, NcclVersion version);

}  // namespace fabricast
