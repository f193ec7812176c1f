#include "models/nccl/call/collective_run.hpp"

#include <algorithm>
#include <set>

namespace fabricast {
namespace {

/// Every chunk of the message is walked in loops of as much as the protocol's slots hold. A message
/// that does not divide evenly has its chunks rounded up (MSCCL leaves such sizes to NCCL).
Partition custom_partition(const CollectiveRun& run, int ranks) {
  Partition out;
  out.element_bytes = run.element_bytes;
  out.shape = custom_shape(run.protocol);
  const std::int64_t elements =
      message_size(run.collective, run.count, run.element_bytes, ranks).count / run.element_bytes;
  const std::int64_t chunks = run.custom->chunks;
  const std::int64_t chunk = (elements + chunks - 1) / chunks;
  const std::int64_t loop =
      step_payload(run.protocol, run.buffers).count * out.shape.per_chunk / run.element_bytes;
  for (int channel = 0; channel < run.custom->channels(); ++channel)
    out.parts.push_back({channel, 0, chunk, std::min(chunk, loop), std::min(chunk, loop)});
  return out;
}

}  // namespace

Members members_of(const CollectiveRun& run, int cluster_nodes) {
  return run.members.empty() ? Members::first(cluster_nodes, run.graph.gpus()) : run.members;
}

Partition partition_of(const CollectiveRun& run, const Members& members) {
  if (run.custom) return custom_partition(run, members.ranks());
  PartitionInput input;
  input.version = run.version;
  input.collective = run.collective;
  input.algorithm = run.algorithm;
  input.protocol = run.protocol;
  input.count = run.count;
  input.element_bytes = run.element_bytes;
  input.calls = run.calls;
  input.nodes = members.node_count();
  input.ranks = members.ranks();
  input.channels = run.channels;
  input.communicator_channels = run.communicator_channels;
  input.threads = run.threads;
  input.buffers = run.buffers;
  input.heads = run.heads;
  return partition(input);
}

int working_channels(const CollectiveRun& run, const Members& members) {
  if (is_tuned(run.collective) && run.version < kNccl2_20) return run.channels;  // all run
  if (!run.has_algorithm()) return run.channels;
  std::set<int> out;
  for (const ChannelPart& part : partition_of(run, members).parts) out.insert(part.channel);
  return static_cast<int>(out.size());
}

}  // namespace fabricast
