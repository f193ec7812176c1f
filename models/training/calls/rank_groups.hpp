#pragma once
// Who communicates with whom in a layout.

#include "models/training/calls/collective_times.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// Groups of ranks by the layout's order; EP inside DP.
RankGroup tensor_group(const Layout& layout);
RankGroup context_group(const Layout& layout);
RankGroup context_pair(const Layout& layout);  ///< neighbours of the ring
RankGroup expert_group(const Layout& layout);
RankGroup expert_tensor_group(const Layout& layout);
RankGroup dense_data_group(const Layout& layout);
RankGroup expert_data_group(const Layout& layout);
RankGroup stage_pair(const Layout& layout);  ///< neighbours of the pipeline

}  // namespace fabricast
