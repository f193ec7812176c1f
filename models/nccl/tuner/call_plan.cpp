#include "models/nccl/tuner/call_plan.hpp"

#include <cassert>

namespace fabricast {
namespace {

/// NVLS over several nodes goes in small pieces where it is slow (src/enqueue.cc).
Bytes nvls_chunk(const TuningModel& model) {
  constexpr float kSlow = 150;  // GB/s of all_reduce
  const TunedPair& pair = model.pair(Collective::all_reduce, Algorithm::nvls, Protocol::simple);
  const bool is_slow =
      model.input.version >= kNccl2_19 && model.input.nodes > 1 && pair.bandwidth_GBps < kSlow;
  return is_slow ? Bytes{32 << 10} : model.input.nvls_setup.chunk;
}

HeadRules head_rules(const TuningModel& model, Algorithm algorithm) {
  const TunerInput& in = model.input;
  HeadRules rules;
  rules.heads = algorithm == Algorithm::collnet_direct ? in.collnet_direct_heads : in.nvls_heads;
  rules.nvls_chunk = algorithm == Algorithm::nvls ? nvls_chunk(model) : in.nvls_setup.chunk;
  rules.nvls_tree_chunk_max = in.nvls_setup.tree_chunk_max;
  return rules;
}

}  // namespace

PartitionInput split_of(const TuningModel& model, Collective collective, std::int64_t count,
                        int element_bytes, const TunerDecision& decision) {
  assert(decision.algorithm);
  const TunerInput& in = model.input;
  const Algorithm algorithm = *decision.algorithm;
  PartitionInput split;
  split.version = in.version;
  split.collective = collective;
  split.algorithm = algorithm;
  split.protocol = decision.protocol;
  split.count = count;
  split.element_bytes = element_bytes;
  split.ranks = in.ranks;
  split.nodes = in.nodes;
  split.channels = decision.channels;
  split.communicator_channels =
      is_nvls(algorithm) ? in.nvls_setup.channels : in.channels.communicator;
  split.threads = decision.threads;
  split.buffers = in.settings.buffers;
  split.heads = head_rules(model, algorithm);
  return split;
}

CallPlan call_plan(const PartitionInput& split) {
  const Partition parts = partition(split);
  CallPlan plan;
  // Up to 2.19 channels run even if nothing is left for them.
  plan.channels = split.version < kNccl2_20 ? split.channels : static_cast<int>(parts.parts.size());
  plan.step = step_size(split.protocol, split.buffers);
  if (parts.parts.empty()) return plan;
  const ChannelPart& part = parts.parts[parts.parts.size() > 2 ? 1 : 0];
  plan.chunk = Bytes{part.chunk_elements * parts.element_bytes};
  return plan;
}

}  // namespace fabricast
