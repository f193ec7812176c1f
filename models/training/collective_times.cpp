#include "models/training/collective_times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/nccl/simulation.hpp"

namespace fabricast {

namespace {

// Sizes are simulated at powers of two between these; beyond the largest, time grows as between
// the last two. Large rings need more bytes until each step carries full chunks.
constexpr int kSmallest = 12;
constexpr int kLargest = 30, kLargestOfMany = 32;
constexpr int kMany = 128;  // ranks
constexpr int kElementBytes = 2;
// More ranks than this are not simulated: time grows with nodes as between half of these and these.
// A ring takes steps in proportion to its ranks, and its bytes hardly depend on them.
constexpr int kRanksMost = 256;

/// Bytes that left NICs, and that climbed from leaves to spines and from spines to cores, of all
/// nodes.
struct Climbed {
  double nics = 0, leaves = 0, spines = 0;
};

Climbed climbed(const Cluster& cluster, const SimulationResult& result) {
  Climbed out;
  for (const LinkLoad& load : result.links) {
    if (index_of(load.link) >= cluster.links() || !cluster.is_fabric_link(load.link)) continue;
    const Cluster::FabricEnd from = cluster.link_from(load.link), to = cluster.link_to(load.link);
    const double bytes = static_cast<double>(load.carried.count) * load.copies;
    if (!from.is_switch) {
      out.nics += bytes;
    } else if (to.is_switch && from.which.tier < to.which.tier) {
      (from.which.tier == SwitchTier::leaf ? out.leaves : out.spines) += bytes;
    }
  }
  return out;
}

double nic_rate(const Cluster& cluster) {
  double out = 0;
  for (const NicInfo& nic : cluster.node().nics())
    out += static_cast<double>(cluster.link(cluster.nic_to_leaf(0, nic.vertex)).rate.bytes_per_s);
  return out;
}

/// GPUs of a node that the job uses: of hosts that NVLink joined, all that are there.
int gpus_used(const Cluster& cluster, int asked) {
  const bool takes_all = asked == 0 || cluster.node().trays() > 1;
  return takes_all ? static_cast<int>(cluster.node().gpus().size()) : asked;
}

}  // namespace

CollectiveTimes::CollectiveTimes(const Cluster& cluster, const SoftwareCosts& software,
                                 CommunicatorConfig config, Estimate estimate)
    : cluster_(cluster),
      software_(software),
      config_(std::move(config)),
      estimate_(estimate),
      gpus_per_node_(gpus_used(cluster, config_.gpus_per_node)),
      shapes_(cluster, gpus_per_node_) {}

CollectiveTimes::Site& CollectiveTimes::site(const Shape& shape) {
  auto found = sites_.find(shape);
  if (found == sites_.end()) {
    const std::vector<int> nodes = shapes_.nodes(shape, shape.nodes);
    std::vector<int> gpus(static_cast<std::size_t>(shape.gpus));
    std::iota(gpus.begin(), gpus.end(), 0);
    Cluster cluster(cluster_.node(), nodes.back() + 1, cluster_.fabric());
    CommunicatorConfig config = config_;
    config.members = Members(nodes, gpus);
    Communicator communicator = make_communicator(cluster, config);
    found = sites_.emplace(shape, Site{std::move(cluster), std::move(communicator)}).first;
  }
  return found->second;
}

CollectiveTime CollectiveTimes::simulated(Collective collective, const Shape& shape,
                                          std::int64_t bytes) {
  Site& where = site(shape);
  const int ranks = where.communicator.ranks;
  const std::int64_t per = counts_per_rank(collective) ? ranks : 1;
  const std::int64_t count = std::max<std::int64_t>(bytes / kElementBytes / per, 1);
  const DecidedCall call = decide_call(where.communicator, {collective, count, kElementBytes, 0});
  SimulationOptions options;
  options.fold = options.fast_forward = true;
  const SimulationResult result = simulate(where.cluster, software_, call.run, options);
  CollectiveTime out{result.time, is_tuned(collective) ? call.run.channels : 2};
  if (shape.nodes > 1) {
    const double beside = static_cast<double>(gpus_per_node_) / shape.gpus;
    const Climbed carried = climbed(where.cluster, result);
    const FabricConfig& fabric = cluster_.fabric();
    const double spines = fabric.oversubscription, cores = spines * fabric.core_oversubscription;
    const double most = std::max({carried.nics, carried.leaves * spines, carried.spines * cores});
    const double shared = most / shape.nodes * beside / nic_rate(where.cluster);
    out.time = std::max(out.time, Duration{std::llround(shared * 1e12)} + result.launch);
  }
  return out;
}

Duration CollectiveTimes::store_time(const RankGroup& group, double bytes) {
  const GpuPart& gpu = cluster_.node().gpus().front().part;
  const double rate = gpu.nvlink_links * gpu.nvlink_store_efficiency *
                      static_cast<double>(gpu.nvlink_per_link.bytes_per_s);
  if (group.ranks() <= 1) return {};
  if (rate == 0) return cost(Collective::alltoall, group, bytes).time;
  const double leaving = bytes * (group.ranks() - 1) / group.ranks();
  const Duration launch = software_.protocol[index_of(Protocol::simple)].launch;
  return Duration{std::llround(leaving / rate * 1e12)} + launch;
}

Duration CollectiveTimes::bound(Collective collective, const Shape& shape, int ranks,
                                double bytes) const {
  const bool pair = collective == Collective::sendrecv;
  double moved = 0, rate = 0;
  if (shape.nodes == 1) {
    const GpuPart& gpu = cluster_.node().gpus().front().part;
    rate = gpu.nvlink_links * static_cast<double>(gpu.nvlink_per_link.bytes_per_s);
    moved = pair ? bytes : bytes * (ranks - 1) / ranks;
  } else {
    // All groups that cover a node share its NICs.
    const double groups = static_cast<double>(gpus_per_node_) / shape.gpus;
    rate = nic_rate(cluster_);
    const double outside = 1 - 1.0 / shape.nodes;
    moved = groups * bytes *
            (pair ? 1 : outside * (collective == Collective::alltoall ? shape.gpus : 1));
  }
  return rate > 0 ? Duration{static_cast<std::int64_t>(moved / rate * 1e12)} : Duration{};
}

CollectiveTime CollectiveTimes::at(Collective collective, const Shape& shape, int exponent) {
  const int most = std::max(kRanksMost / shape.gpus, 2);
  if (shape.nodes > most) {
    const CollectiveTime half = at(collective, {most / 2, shape.gpus, shape.spread}, exponent);
    CollectiveTime all = at(collective, {most, shape.gpus, shape.spread}, exponent);
    const std::int64_t grown = std::max<std::int64_t>(all.time.ps - half.time.ps, 0);
    all.time.ps += grown * (shape.nodes - most) / (most - most / 2);
    return all;
  }
  return known_.at({collective, shape, exponent},
                   [&] { return simulated(collective, shape, std::int64_t{1} << exponent); });
}

CollectiveTime CollectiveTimes::cost(Collective collective, const RankGroup& group, double bytes) {
  if (group.ranks() <= 1 || bytes < 1) return {};
  const Shape shape = shapes_.of(group);
  if (estimate_ == Estimate::bound) return {bound(collective, shape, group.ranks(), bytes), 0};
  const int largest = group.ranks() >= kMany ? kLargestOfMany : kLargest;
  const auto whole = static_cast<std::uint64_t>(bytes);
  const int below = std::clamp(static_cast<int>(std::bit_width(whole)) - 1, kSmallest, largest - 1);
  const double low_bytes = std::ldexp(1.0, below);
  const CollectiveTime low = at(collective, shape, below);
  if (bytes <= low_bytes) return low;
  const CollectiveTime high = at(collective, shape, below + 1);
  const double share = (bytes - low_bytes) / low_bytes;
  const auto grown = static_cast<double>(high.time.ps - low.time.ps) * share;
  return {{low.time.ps + std::llround(grown)},
          bytes < 1.5 * low_bytes ? low.channels : high.channels};
}

}  // namespace fabricast
