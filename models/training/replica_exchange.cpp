#include "models/training/replica_exchange.hpp"

#include <algorithm>

#include "models/training/rank_groups.hpp"

namespace fabricast {

namespace {

// Megatron-LM, core/distributed/distributed_data_parallel.py: parameters of a bucket.
constexpr double kBucketLeast = 40e6, kBucketPerReplica = 1e6;

}  // namespace

bool ReplicaExchange::happens() const {
  return layout_.train_weights && (layout_.dense_replicas() > 1 || layout_.expert_replicas() > 1);
}

bool ReplicaExchange::gathers_once() const {
  return layout_.sharding == Sharding::zero1 || layout_.sharding == Sharding::zero2;
}

int ReplicaExchange::buckets(const LocalParameters& chunk, int layers) const {
  const double bucket = std::max(kBucketLeast, kBucketPerReplica * layout_.dense_replicas());
  return std::clamp(static_cast<int>(static_cast<double>(chunk.all()) / bucket), 1, layers);
}

CollectiveTime ReplicaExchange::cost(Collective collective, const LocalParameters& chunk,
                                     double bytes) const {
  RankGroup dense = dense_data_group(layout_), expert = expert_data_group(layout_);
  if (layout_.sharding == Sharding::hsdp) {
    dense.size = layout_.shards(dense.size);
    expert.size = layout_.shards(expert.size);
  }
  const auto part = [&](const RankGroup& group, std::int64_t parameters) {
    const double all = bytes * static_cast<double>(parameters);
    CollectiveTime one = collectives_.cost(collective, group, all);
    if (const Bandwidth rate = framework_.exchange_rate; rate.bytes_per_s > 0 && group.ranks() > 1)
      one.time = std::max(one.time, transfer_time({static_cast<std::int64_t>(all)}, rate));
    return one;
  };
  CollectiveTime out = part(dense, chunk.dense);
  const CollectiveTime experts = part(expert, chunk.expert);
  out.time += experts.time;
  out.channels = std::max(out.channels, experts.channels);
  return out;
}

CollectiveTime ReplicaExchange::gather(const LocalParameters& chunk, int pieces) const {
  // 8-bit weights are gathered as such where the optimizer keeps the only exact copy.
  const bool eight_bit = is_8bit_or_less(layout_.precision) && !layout_.shards_weights();
  return cost(Collective::all_gather, chunk, (eight_bit ? 1.0 : 2.0) / pieces);
}

CollectiveTime ReplicaExchange::reduce(const LocalParameters& chunk, int pieces) const {
  const double bytes = static_cast<double>(framework_.gradient_bytes) / pieces;
  if (layout_.sharding == Sharding::none) return cost(Collective::all_reduce, chunk, bytes);
  CollectiveTime out = cost(Collective::reduce_scatter, chunk, bytes);
  if (layout_.sharding == Sharding::hsdp) {
    // Then each shard over the copies.
    const int shards = layout_.shards(layout_.dense_replicas());
    const RankGroup copies{layout_.dense_replicas() / shards, layout_.tensor * shards};
    out.time +=
        collectives_
            .cost(Collective::all_reduce, copies, bytes * static_cast<double>(chunk.all()) / shards)
            .time;
  }
  return out;
}

}  // namespace fabricast
