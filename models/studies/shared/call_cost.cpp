#include "models/studies/shared/call_cost.hpp"

#include <algorithm>

#include "models/nccl/programs/custom_program.hpp"

namespace fabricast {

namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Slices of all messages: one for each chunk.
std::int64_t p2p_slices(const CollectiveRun& run, std::int64_t ranks) {
  const std::int64_t peers = counts_per_rank(run.collective) ? ranks : 1;
  const Bytes message{run.count * run.element_bytes};
  const P2pSplit split = p2p_split(run.p2p.rules, message);
  const P2pPart part = p2p_part(run.p2p.rules, message, split, 0, true);
  const std::int64_t chunks =
      split.parts * std::max<std::int64_t>(1, divided_up(split.part.count, part.chunk.count));
  return (has_root(run.collective) ? 1 : ranks) * peers * chunks;
}

/// Primitives of one rank for one loop.
std::int64_t steps(const CollectiveRun& run, std::int64_t ranks) {
  constexpr std::int64_t kUpAndDown = 3, kHeads = 4;
  switch (run.algorithm) {
    case Algorithm::ring:
      if (run.collective == Collective::all_reduce) return 2 * ranks - 1;
      return has_root(run.collective) ? 1 : ranks;
    case Algorithm::pat:
      return ranks;
    case Algorithm::tree:
      return kUpAndDown;
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return kHeads;
  }
  return 1;
}

}  // namespace

std::int64_t expected_slices(const CollectiveRun& run, int cluster_nodes) {
  const Members members = members_of(run, cluster_nodes);
  const std::int64_t ranks = members.ranks();
  if (ranks == 1) return 0;
  if (!run.has_algorithm()) return p2p_slices(run, ranks);
  const Partition parts = partition_of(run, members);
  if (run.custom) return custom_slices(run, parts);
  std::int64_t loops = 0;
  for (const ChannelPart& part : parts.parts) {
    loops += loop_count(part, run.algorithm, run.collective, static_cast<std::uint32_t>(ranks));
  }
  return loops * ranks * steps(run, ranks) * parts.shape.slices_per_chunk();
}

}  // namespace fabricast
