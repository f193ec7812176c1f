#include "models/training/layers/replica_exchange.hpp"

#include <algorithm>
#include <cmath>

#include "models/training/calls/rank_groups.hpp"

namespace fabricast {

namespace {

// Megatron-LM, core/distributed/distributed_data_parallel.py: parameters of a bucket.
constexpr double kBucketsMost = 1 << 14;  // of a chunk: more do as these
constexpr double kBucketLeast = 40e6, kBucketPerReplica = 1e6;

}  // namespace

bool ReplicaExchange::happens() const {
  return layout_.train_weights && (layout_.dense_replicas() > 1 || layout_.expert_replicas() > 1);
}

bool ReplicaExchange::gathers_once() const {
  return layout_.sharding == Sharding::zero1 || layout_.sharding == Sharding::zero2;
}

int ReplicaExchange::buckets(const LocalParameters& chunk, int layers) const {
  const auto parameters = static_cast<double>(chunk.all());
  if (layout_.bucket > 0) {
    const double count = parameters * framework_.gradient_bytes / layout_.bucket;
    return static_cast<int>(std::clamp(std::ceil(count), 1.0, kBucketsMost));
  }
  const double bucket = std::max(kBucketLeast, kBucketPerReplica * layout_.dense_replicas());
  return std::clamp(static_cast<int>(parameters / bucket), 1, layers);
}

int ReplicaExchange::pieces(const LocalParameters& chunk, int layers) const {
  const int whole = std::max(layers, 1);
  return layout_.shards_weights() ? whole : buckets(chunk, whole);
}

int ReplicaExchange::units_reduced_together(const LocalParameters& chunk, int units) const {
  if (layout_.bucket == 0) return 1;
  const double unit = static_cast<double>(chunk.all()) * framework_.gradient_bytes / units;
  return static_cast<int>(std::clamp(std::ceil(layout_.bucket / unit), 1.0, 1.0 * units));
}

ReplicaExchange::Groups ReplicaExchange::groups() const {
  Groups out{dense_data_group(layout_), expert_data_group(layout_)};
  if (layout_.sharding == Sharding::hsdp) {
    out.dense.size = layout_.shards(out.dense.size);
    out.expert.size = layout_.shards(out.expert.size);
  }
  return out;
}

CollectiveTime ReplicaExchange::cost(Collective collective, const LocalParameters& chunk,
                                     double bytes) const {
  const auto [dense, expert] = groups();
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

/// Bytes of a parameter. 8-bit weights are gathered as such where the optimizer keeps the only
/// exact copy.
double ReplicaExchange::gather_bytes() const {
  return is_8bit_or_less(layout_.precision) && !layout_.shards_weights() ? 1 : 2;
}

CollectiveTime ReplicaExchange::gather(const LocalParameters& chunk, double pieces) const {
  return cost(Collective::all_gather, chunk, gather_bytes() / pieces);
}

CollectiveTimes::Exchange ReplicaExchange::gather_call(const LocalParameters& chunk,
                                                       double pieces) const {
  return {Collective::all_gather, groups().dense,
          gather_bytes() * static_cast<double>(chunk.dense) / pieces};
}

CollectiveTimes::Exchange ReplicaExchange::reduce_call(const LocalParameters& chunk,
                                                       double pieces) const {
  return {layout_.sharding == Sharding::none ? Collective::all_reduce : Collective::reduce_scatter,
          groups().dense, framework_.gradient_bytes * static_cast<double>(chunk.dense) / pieces};
}

CollectiveTime ReplicaExchange::reduce(const LocalParameters& chunk, double pieces) const {
  const double bytes = framework_.gradient_bytes / pieces;
  if (layout_.sharding == Sharding::none) return cost(Collective::all_reduce, chunk, bytes);
  CollectiveTime out = cost(Collective::reduce_scatter, chunk, bytes);
  if (layout_.sharding == Sharding::hsdp) {
    // Then each shard over the copies.
    const int shards = layout_.shards(layout_.dense_replicas());
    const RankGroup copies{
        layout_.dense_replicas() / shards, layout_.tensor * shards, 1, 1, 0, layout_.gpus};
    out.time +=
        collectives_
            .cost(Collective::all_reduce, copies, bytes * static_cast<double>(chunk.all()) / shards)
            .time;
  }
  return out;
}

}  // namespace fabricast
