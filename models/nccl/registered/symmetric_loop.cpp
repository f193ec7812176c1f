#include "models/nccl/registered/symmetric_loop.hpp"

#include <algorithm>

namespace fabricast {
namespace {

using Kernel = SymmetricKernel;

// What four warps move at once, 16 or 4 bytes a thread, four times unrolled.
constexpr std::int64_t kDeepChunk = 8 << 10, kSmallChunk = 2 << 10;
constexpr int kPacks = 512;  // of 8 B, a turn of a block in LL

int up(std::int64_t all, std::int64_t each) { return static_cast<int>((all + each - 1) / each); }

/// One peer, then so many at a time. Elements beside whole chunks: eight peers at a time from the
/// first on.
int deep(int ranks, int at_a_time) { return 1 + up(ranks - 2, at_a_time); }
int of_elements(int ranks) { return up(ranks - 1, 8); }

}  // namespace

int rounds_of_loads(const SymmetricLoop& loop) {
  const int n = loop.ranks;
  if (loop.kernel == Kernel::reduce_ld_st) {
    // allreduceDeep(): chunks go round over the blocks of all ranks, whole rounds of them.
    const std::int64_t share = loop.size.count / (std::int64_t{n} * loop.blocks);
    if (share >= kDeepChunk) return deep(n, 2);
    return share >= kSmallChunk ? deep(n, 4) : of_elements(n);
  }
  if (loop.kernel == Kernel::scatter_ld) {
    // reduceDeep(). Measured times rise from the second chunk on, by a load for each peer.
    const std::int64_t share = loop.size.count / n;
    if (share >= 2 * kDeepChunk) return n - 1;
    return share >= 2 * kSmallChunk ? deep(n, 4) : of_elements(n);
  }
  return 1;
}

double rounds_of_reads(const SymmetricLoop& loop) {
  const SymmetricTraits traits = traits_of(loop.kernel);
  if (!traits.ll) return 0;
  // A thread sums one pack of each rank, eight reads at a time (recvReduce).
  if (traits.collective != Collective::all_gather) return loop.ranks / 8.0;
  // All threads copy the packs of all ranks, four reads at a time (recvUnrolled).
  const int packs = up(loop.size.count, std::int64_t{8} * loop.ranks * loop.blocks);
  return loop.ranks * (std::min(packs, kPacks) / static_cast<double>(kPacks)) / 4;
}

}  // namespace fabricast
