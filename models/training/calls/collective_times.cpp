#include "models/training/calls/collective_times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

namespace {

// Sizes are simulated at powers of two between these; beyond the largest, time grows as between
// the last two. Large rings need more bytes until each step carries full chunks.
constexpr int kSmallest = 12;
constexpr int kLargest = 30, kLargestOfMany = 32;
constexpr int kMany = 128;  // ranks
// More ranks than this are not simulated: time grows with nodes as between half of these and these.
// A ring takes steps in proportion to its ranks, and its bytes hardly depend on them.
constexpr int kRanksMost = 256;
// Groups that share links are simulated rank by rank: fewer, and of so many bytes of all ranks. Of
// more bytes they slow each other as of these.
constexpr int kRanksMostTogether = 256;
constexpr double kBytesMostTogether = 1LL << 37;

/// The rate of all NICs together.
double nic_rate(const Cluster& cluster) {
  double out = 0;
  for (const NicInfo& nic : cluster.node().nics())
    out += static_cast<double>(cluster.link(cluster.nic_to_leaf(0, nic.vertex)).rate.bytes_per_s);
  return out;
}

/// How long the switches of a fabric are busy with what groups on all nodes do: as long as NICs,
/// times the share of it that climbs from leaves to spines (or from spines to cores) and what these
/// have less of. `links`: of a run, which is one of `copies` on its nodes.
Duration climbing(const Cluster& cluster, const std::vector<LinkLoad>& links, double copies) {
  double sent = 0, busiest = 0, leaves = 0, spines = 0;
  for (const LinkLoad& load : links) {
    if (index_of(load.link) >= cluster.links() || !cluster.is_fabric_link(load.link)) continue;
    const Cluster::FabricEnd from = cluster.link_from(load.link), to = cluster.link_to(load.link);
    const double bytes = static_cast<double>(load.carried.count) * load.copies;
    if (!from.is_switch) {
      const auto rate = static_cast<double>(cluster.link(load.link).rate.bytes_per_s);
      sent += bytes;
      busiest = std::max(busiest, static_cast<double>(load.carried.count) / rate);
    } else if (to.is_switch && from.which.tier < to.which.tier) {
      (from.which.tier == SwitchTier::leaf ? leaves : spines) += bytes;
    }
  }
  if (sent == 0) return {};
  // Rails have leaves of their own; else the NICs of a node share one.
  const double busy =
      cluster.planes() > 1 ? busiest : sent * copies / cluster.nodes() / nic_rate(cluster);
  const FabricConfig& fabric = cluster.fabric();
  const double of_leaves = leaves * fabric.oversubscription,
               of_spines = spines * fabric.oversubscription * fabric.core_oversubscription;
  return Duration{std::llround(busy * std::max(of_leaves, of_spines) / sent * 1e12)};
}

/// Of runs that share links the slowest, and the fabric besides.
class CrowdTime {
 public:
  CrowdTime(const Cluster& cluster, const SoftwareCosts& software, double copies)
      : cluster_(cluster), software_(software), copies_(copies) {}

  Duration of(std::vector<CollectiveRun> runs) const {
    if (runs.size() == 1) return alone(runs);
    double bytes = 0;
    for (const CollectiveRun& run : runs)
      bytes += static_cast<double>(size_of(run).count) * run.members.ranks();
    if (bytes <= kBytesMostTogether) return together(runs);
    const Duration whole = alone(runs);
    for (; bytes > kBytesMostTogether; bytes /= 2)
      for (CollectiveRun& run : runs) run.count = std::max<std::int64_t>(run.count / 2, 1);
    const auto slower =
        static_cast<double>(together(runs).ps) / static_cast<double>(alone(runs).ps);
    return Duration{std::llround(static_cast<double>(whole.ps) * slower)};
  }

 private:
  static Bytes size_of(const CollectiveRun& run) {
    return message_size(run.collective, run.count, run.element_bytes, run.members.ranks());
  }

  Duration alone(const std::vector<CollectiveRun>& runs) const {
    SimulationOptions options;
    options.fold = options.fast_forward = true;
    Duration out;
    for (const CollectiveRun& run : runs) {
      const SimulationResult result = simulate(cluster_, software_, run, options);
      out = std::max({out, result.time, climbing(cluster_, result.links, copies_) + result.launch});
    }
    return out;
  }

  Duration together(const std::vector<CollectiveRun>& runs) const {
    std::vector<Stream> streams;
    for (const CollectiveRun& run : runs) streams.push_back({{run}, {}});
    const StreamsResult result = simulate(cluster_, software_, streams);
    const double copies = copies_ / static_cast<double>(runs.size());
    return std::max(result.time, climbing(cluster_, result.links, copies));
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  double copies_;
};

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

CollectiveTimes::Site::Site(const Cluster& whole, const CommunicatorConfig& config,
                            const std::vector<int>& nodes, const Sides& sides)
    : cluster(whole.node(), nodes.back() + 1, whole.fabric()), communicators(cluster, config) {
  for (const std::vector<int>& gpus : sides) groups.emplace_back(nodes, gpus);
}

CollectiveTimes::Site& CollectiveTimes::site(const Shape& shape) {
  const auto found = sites_.find(shape);
  if (found != sites_.end()) return found->second;
  return sites_
      .try_emplace(shape, cluster_, config_, shapes_.nodes(shape, shape.nodes),
                   shapes_.sides(shape))
      .first->second;
}

/// The same, made to take what a call takes elsewhere.
CollectiveTimes::Site& CollectiveTimes::site(const Shape& shape, const CollectiveRun& taken) {
  if (!is_tuned(taken.collective)) return site(shape);
  const std::tuple key(shape, taken.algorithm, taken.protocol);
  const auto found = forced_sites_.find(key);
  if (found != forced_sites_.end()) return found->second;
  CommunicatorConfig config = config_;
  config.environment.set("NCCL_ALGO", to_text(taken.algorithm));
  config.environment.set("NCCL_PROTO", to_text(taken.protocol));
  return forced_sites_
      .try_emplace(key, cluster_, config, shapes_.nodes(shape, shape.nodes), shapes_.sides(shape))
      .first->second;
}

CollectiveRun CollectiveTimes::run_of(Site& site, std::size_t group, Collective collective,
                                      std::int64_t bytes) {
  const Communicator& communicator = site.communicators.like(site.groups[group]);
  const std::int64_t per = counts_per_rank(collective) ? communicator.ranks : 1;
  const std::int64_t count = std::max<std::int64_t>(bytes / kElementBytes / per, 1);
  return decide_call(communicator, {collective, count, kElementBytes, 0}).run;
}

/// Which links groups share can be seen on two nodes, by what NCCL takes on all of them: LL goes
/// through host memory where Simple reaches the NIC.
const std::vector<Crowd>& CollectiveTimes::crowds(Collective collective, const Shape& shape,
                                                  std::int64_t bytes) {
  static const std::vector<Crowd> kAlone = {{0}};
  if (shape.sides == 0) return kAlone;
  const std::vector<Crowd>*& known = crowds_of_calls_[{collective, shape, bytes}];
  if (known == nullptr) known = &crowds_seen(collective, shape, bytes);
  return *known;
}

/// By what each call takes, as many calls take the same.
const std::vector<Crowd>& CollectiveTimes::crowds_seen(Collective collective, const Shape& shape,
                                                       std::int64_t bytes) {
  Shape simulated = shape;
  simulated.nodes = std::min(shape.nodes, std::max(kRanksMost / shape.gpus, 2));
  Site& all = site(simulated);
  const Shape few{std::min(shape.nodes, 2), shape.gpus, 0, shape.sides};
  const CollectiveRun taken = run_of(all, 0, collective, bytes);
  const std::tuple key(collective, few, Way(taken.algorithm, taken.protocol, taken.channels));
  const auto found = crowds_.find(key);
  if (found != crowds_.end()) return found->second;
  Site& where = site(few, taken);
  std::vector<CollectiveRun> runs;
  for (std::size_t group = 0; group < where.groups.size(); ++group)
    runs.push_back(run_of(where, group, collective, bytes));
  return crowds_.emplace(key, unlike_crowds_of(where.cluster, software_, runs)).first->second;
}

CollectiveTime CollectiveTimes::simulated(Collective collective, const Shape& shape,
                                          std::int64_t bytes) {
  Site& where = site(shape);
  const CrowdTime crowd_time(where.cluster, software_, static_cast<double>(where.groups.size()));
  CollectiveTime out;
  for (const Crowd& crowd : crowds(collective, shape, bytes)) {
    std::vector<CollectiveRun> runs;
    for (const std::size_t group : crowd) {
      runs.push_back(run_of(where, group, collective, bytes));
      out.channels = std::max(out.channels, is_tuned(collective) ? runs.back().channels : 2);
    }
    out.time = std::max(out.time, crowd_time.of(std::move(runs)));
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

/// The most nodes on which a group is simulated.
int CollectiveTimes::nodes_most(Collective collective, const Shape& shape, std::int64_t bytes) {
  std::size_t largest = 1;
  for (const Crowd& crowd : crowds(collective, shape, bytes))
    largest = std::max(largest, crowd.size());
  const int gpus = shape.gpus * static_cast<int>(largest);
  return std::max((largest > 1 ? kRanksMostTogether : kRanksMost) / gpus, 2);
}

CollectiveTime CollectiveTimes::at(Collective collective, const Shape& shape, int exponent) {
  const int most = nodes_most(collective, shape, std::int64_t{1} << exponent);
  if (shape.nodes > most) {
    const auto on = [&](int nodes) {
      Shape fewer = shape;
      fewer.nodes = nodes;
      return at(collective, fewer, exponent);
    };
    const CollectiveTime half = on(most / 2);
    CollectiveTime all = on(most);
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
