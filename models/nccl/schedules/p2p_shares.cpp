#include "models/nccl/schedules/p2p_shares.hpp"

#include <algorithm>
#include <bit>

namespace fabricast {
namespace {

constexpr int kBlockWarps = 20;  ///< of a block of sends and receives

}  // namespace

P2pWarps p2p_warps(NcclVersion version, int rounds, int sends, int receives) {
  if (version >= kNccl2_22) {
    // src/device/sendrecv.h: nWarpPerWork, after it was made even for sends and receives. Up to
    // four warps a send has none that only says that data are there, alone from three on.
    const int all = std::max(kBlockWarps / rounds, 1);
    const int half = std::max(all <= 4 ? all / 2 : (all - 1) / 2, 1);
    const int both = all <= 4 ? 2 * half : 2 * half + 1;
    return {half, both > 2 ? both - 1 : both, both, both};
  }
  // Receives and sends take turns; as many groups of warps as the power of two at or above.
  const int elements = std::max(2 * sends, 2 * receives - 1);
  const int groups = static_cast<int>(std::bit_ceil(static_cast<unsigned>(elements)));
  int each = 1;
  while (each * groups <= kBlockWarps / 2) each *= 2;
  return {each, each, each, each};
}

double share_of_lane(const ExchangeLane& lane, std::size_t lanes, double of_long) {
  const double chunks =
      std::max(1.0, static_cast<double>(lane.bytes.count) / static_cast<double>(lane.chunk.count));
  return (of_long + (1 - of_long) / chunks) / static_cast<double>(lanes);
}

double share_of_lone(const ExchangeLane& lane, std::size_t lanes, bool is_net, double of_long) {
  const double even = 1 / static_cast<double>(lanes);
  return is_net ? std::min(even, share_of_lane(lane, 1, of_long)) : even;
}

}  // namespace fabricast
