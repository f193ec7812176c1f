#include "models/training/layers/replica_exchange.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

// Megatron-LM, core/distributed/distributed_data_parallel.py: parameters of a bucket.
constexpr double kBucketsMost = 1 << 14;  // of a chunk: more do as these
constexpr double kBucketLeast = 40e6, kBucketPerReplica = 1e6;

}  // namespace

bool ReplicaExchange::happens() const {
  return layout_.trains_weights() &&
         (layout_.dense_replicas() > 1 || layout_.expert_replicas() > 1);
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

/// Bytes of a parameter. 8-bit weights are gathered as such where the optimizer keeps the only
/// exact copy.
double ReplicaExchange::gather_bytes() const {
  return is_8bit_or_less(layout_.precision) && !layout_.shards_weights() ? 1 : 2;
}

GroupCall ReplicaExchange::call(Among among, Collective collective, std::int64_t parameters,
                                double bytes, double pieces) const {
  const auto all = static_cast<double>(parameters);
  return group_call(layout_, among, collective, bytes / pieces * all,
                    static_cast<std::int64_t>(all / pieces));
}

std::vector<GroupCall> ReplicaExchange::gather(const LocalParameters& chunk, double pieces) const {
  const double bytes = gather_bytes();
  return {call(Among::replicas, Collective::all_gather, chunk.dense, bytes, pieces),
          call(Among::expert_replicas, Collective::all_gather, chunk.expert, bytes, pieces)};
}

std::vector<GroupCall> ReplicaExchange::reduce(const LocalParameters& chunk, double pieces) const {
  const double bytes = framework_.gradient_bytes;
  const Collective collective =
      layout_.sharding == Sharding::none ? Collective::all_reduce : Collective::reduce_scatter;
  std::vector<GroupCall> out = {
      call(Among::replicas, collective, chunk.dense, bytes, pieces),
      call(Among::expert_replicas, collective, chunk.expert, bytes, pieces)};
  if (layout_.sharding == Sharding::hsdp) {
    // Then each shard over the copies.
    const int shards = layout_.shards(layout_.dense_replicas());
    GroupCall shard = call(Among::copies, Collective::all_reduce, chunk.all(), bytes, pieces);
    shard.bytes /= shards;
    shard.elements /= shards;
    out.push_back(shard);
  }
  return out;
}

CollectiveTime ReplicaExchange::cost(std::span<const GroupCall> calls,
                                     CollectiveTimes& collectives) const {
  CollectiveTime out;
  for (const GroupCall& call : calls) {
    CollectiveTime one = collectives.cost(call.collective, call.group, call.bytes);
    one.time = to_duration(framework_.communication * seconds(one.time));
    if (call.among != Among::copies) {
      const Bandwidth rate = framework_.exchange_rate;
      if (rate.bytes_per_s > 0 && call.happens())
        one.time = std::max(one.time, transfer_time({static_cast<std::int64_t>(call.bytes)}, rate));
      out.channels = std::max(out.channels, one.channels);
    }
    out.time += one.time;
  }
  return out;
}

}  // namespace fabricast
