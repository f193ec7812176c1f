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
/// All stages, wherever they are: a job that does not fill nodes evenly has some of these, too.
RankGroup pipeline_group(const Layout& layout);

}  // namespace fabricast
