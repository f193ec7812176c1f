#include "models/nccl/tuner/channel_counts.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {

ChannelCounts channel_counts(const ChannelCountInput& input, const NcclSettings& settings) {
  assert(input.searched >= 1);
  const int most = max_channels(input.version);
  int n = std::min(most, 2 * input.searched);
  if (input.collnet_widens) n = std::min(most, n + n / 2);
  const int cc = input.compute_capability_min;
  const bool hopper = input.version < kNccl2_25 ? cc == 90 : cc >= 90;
  // Four thread blocks per search channel where few channels are as fast as that.
  const bool is_few = input.version < kNccl2_20 ? 2 * n <= most : n < 16;
  if (hopper && input.nodes > 1 && input.ring_bw_intra > 45.0F && is_few) n *= 2;
  n = std::max(std::min(n, settings.channels_max), settings.channels_min);
  const bool nvls_extends = input.version >= kNccl2_20 && input.version < kNccl2_28;
  return {n, nvls_extends ? std::max(n, input.nvls) : n};
}

}  // namespace fabricast
