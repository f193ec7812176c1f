#include "models/training/calls/collective_times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/simulation.hpp"

namespace fabricast {

namespace {

// Sizes are simulated at powers of two between these; beyond the largest, time grows as between
// the last two. Large rings need more bytes until each step carries full chunks.
constexpr int kSmallest = 12;
constexpr int kLargest = 30, kLargestOfMany = 32;
constexpr int kMany = 128;  // ranks

/// The rate of all NICs together.
double nic_rate(const Cluster& cluster) {
  double out = 0;
  for (const NicInfo& nic : cluster.node().nics())
    out += static_cast<double>(cluster.link(cluster.nic_to_leaf(0, nic.vertex)).rate.bytes_per_s);
  return out;
}

/// How long the switches of a fabric are busy with what groups on all nodes do: as long as NICs,
/// times the share of it that climbs from leaves to spines (or from spines to cores) and what these
/// have less of. `links`: of a run, which is one of `copies` on its `nodes`; between these the
/// cluster may have others, as where the next rank's leaf is another one.
Duration climbing(const Cluster& cluster, const std::vector<LinkLoad>& links, double copies,
                  double nodes) {
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
  const double busy = cluster.planes() > 1 ? busiest : sent * copies / nodes / nic_rate(cluster);
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

  /// Slices that are simulated.
  std::uint64_t size(const std::vector<CollectiveRun>& runs) const {
    const std::vector<Stream> streams = streams_of(runs);
    return job_size(cluster_, software_, streams, plan_job(cluster_, streams)).simulated;
  }

  Duration of(const std::vector<CollectiveRun>& runs) const {
    SimulationOptions options;
    options.fold = options.fast_forward = true;
    if (runs.size() > 1) {
      const StreamsResult result = simulate(cluster_, software_, streams_of(runs), options);
      const double copies = copies_ / static_cast<double>(runs.size());
      return std::max(result.time, climbing(cluster_, result.links, copies, nodes_of(runs)));
    }
    const SimulationResult result = simulate(cluster_, software_, runs.front(), options);
    return std::max(result.time,
                    climbing(cluster_, result.links, copies_, nodes_of(runs)) + result.launch);
  }

 private:
  double nodes_of(const std::vector<CollectiveRun>& runs) const {
    return static_cast<double>(members_of(runs.front(), cluster_.nodes()).nodes().size());
  }

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  double copies_;
};

}  // namespace

CollectiveTimes::CollectiveTimes(const Cluster& cluster, const SoftwareCosts& software,
                                 CommunicatorConfig config, Estimate estimate)
    : cluster_(cluster),
      software_(software),
      config_(std::move(config)),
      estimate_(estimate),
      gpus_per_node_(gpus_used(cluster, config_.gpus_per_node)),
      shapes_(cluster, gpus_per_node_) {}

CollectiveTimes::CollectiveTimes(const CollectiveTimes& of, const GroupShapes& shapes)
    : cluster_(of.cluster_),
      software_(of.software_),
      config_(of.config_),
      estimate_(of.estimate_),
      slices_most_(of.slices_most_),
      gpus_per_node_(of.gpus_per_node_),
      shapes_(shapes),
      kernels_(of.kernels_),
      wish_(of.wish_) {}

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
  Site& all = site(shape);
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

std::vector<std::vector<CollectiveRun>> CollectiveTimes::crowd_runs(Collective collective,
                                                                    const Shape& shape,
                                                                    std::int64_t bytes) {
  Site& where = site(shape);
  std::vector<std::vector<CollectiveRun>> out;
  for (const Crowd& crowd : crowds(collective, shape, bytes)) {
    out.emplace_back();
    for (const std::size_t group : crowd)
      out.back().push_back(run_of(where, group, collective, bytes));
  }
  return out;
}

/// Of the crowd that takes most.
CallSize CollectiveTimes::size_of(Collective collective, const Shape& shape, std::int64_t bytes) {
  const Site& where = site(shape);
  const CrowdTime crowd_time(where.cluster, software_, static_cast<double>(where.groups.size()));
  CallSize out;
  for (const std::vector<CollectiveRun>& runs : crowd_runs(collective, shape, bytes)) {
    out = size_of_call(runs.front(), std::max(out.simulated, crowd_time.size(runs)));
  }
  return out;
}

CollectiveTime CollectiveTimes::simulated(Collective collective, const Shape& shape,
                                          std::int64_t bytes) {
  const Site& where = site(shape);
  const CrowdTime crowd_time(where.cluster, software_, static_cast<double>(where.groups.size()));
  CollectiveTime out;
  for (const std::vector<CollectiveRun>& runs : crowd_runs(collective, shape, bytes)) {
    out.time = std::max(out.time, crowd_time.of(runs));
    for (const CollectiveRun& run : runs)
      out.channels = std::max(out.channels, is_tuned(collective) ? run.channels : 2);
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
  const Duration launch = software_.launch(Protocol::simple, gpu);
  return Duration{std::llround(leaving / rate * 1e12)} + launch;
}

double CollectiveTimes::nic_rate() const { return fabricast::nic_rate(cluster_); }

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
    rate = nic_rate();
    const double outside = 1 - 1.0 / shape.nodes;
    moved = groups * bytes *
            (pair ? 1 : outside * (collective == Collective::alltoall ? shape.gpus : 1));
  }
  return rate > 0 ? Duration{static_cast<std::int64_t>(moved / rate * 1e12)} : Duration{};
}

CollectiveTime CollectiveTimes::at(const Question& question) {
  if (wanted_ != nullptr) {
    wanted_->times.insert(question);
    const Shape& shape = std::get<Shape>(question);
    return {bound(std::get<Collective>(question), shape, shape.nodes * shape.gpus,
                  std::ldexp(1.0, std::get<int>(question))),
            0};
  }
  return known_.at(question, [&] {
    const auto found = found_.times.find(question);
    if (found == found_.times.end())
      return found_.times.emplace(question, find(question)).first->second.time;
    for (const Question& part : found->second.of) at(part);  // which are asked as well
    return found->second.time;
  });
}

CollectiveTimes::Found CollectiveTimes::find(const Question& question) {
  const auto collective = std::get<Collective>(question);
  const Shape& shape = std::get<Shape>(question);
  const Bytes bytes{std::int64_t{1} << std::get<int>(question)};
  const auto there = [&](int nodes) {
    Shape out = shape;
    out.nodes = nodes;
    return out;
  };
  const std::vector<CallShare> shares =
      affordable({shape.nodes, bytes}, slices_most_, [&](const CallAt& at) {
        return std::optional(size_of(collective, there(at.nodes), at.size.count));
      });
  if (shares.size() < 2) return {simulated(collective, shape, bytes.count)};
  SharesTime ps;
  Found out;
  for (const CallShare& share : shares) {
    // The nearest power of two, as for each peer there are as many bytes on an odd number of nodes.
    const auto size =
        static_cast<int>(std::lround(std::log2(static_cast<double>(share.at.size.count))));
    out.of.emplace_back(collective, there(share.at.nodes), size);
    const CollectiveTime time = at(out.of.back());
    ps.add(share.weight, static_cast<double>(time.time.ps));
    out.time.channels = std::max(out.time.channels, time.channels);
  }
  out.time.time.ps = std::llround(ps.whole());
  return out;
}

void CollectiveTimes::prepare(const SideBySide& side_by_side, const std::function<void()>& ask) {
  if (estimate_ == Estimate::bound) return;
  Wanted wanted;
  wanted_ = &wanted;
  try {
    ask();
  } catch (const Error&) {  // and again, when it is asked in earnest
  }
  wanted_ = nullptr;
  std::erase_if(wanted.times, [&](const Question& one) { return found_.times.contains(one); });
  std::erase_if(wanted.slowdowns, [&](const Scene& one) { return found_.slowdowns.contains(one); });
  std::erase_if(wanted.round_trips,
                [&](const RoundTrip& one) { return found_.round_trips.contains(one); });
  // Questions of groups that differ in their number of nodes alone are answered by each other.
  std::map<Shape, std::vector<Question>> families;
  for (const Question& one : wanted.times) {
    Shape family = std::get<Shape>(one);
    family.nodes = 0;
    families[family].push_back(one);
  }
  std::vector<Answers> found(families.size() + wanted.slowdowns.size() + wanted.round_trips.size());
  std::vector<std::function<void(CollectiveTimes&)>> tasks;
  for (const auto& family : families)
    tasks.emplace_back([&family](CollectiveTimes& times) {
      for (const Question& one : family.second) times.at(one);
    });
  for (const Scene& scene : wanted.slowdowns)
    tasks.emplace_back([&scene](CollectiveTimes& times) { times.slowdown(scene); });
  for (const RoundTrip& trip : wanted.round_trips)
    tasks.emplace_back([&trip](CollectiveTimes& times) { times.at(trip); });
  side_by_side(tasks.size(), [&](std::size_t i) {
    CollectiveTimes times(*this, shapes_);
    try {
      tasks[i](times);
    } catch (const Error&) {  // likewise
    }
    found[i] = std::move(times.found_);
  });
  for (Answers& one : found) {
    found_.times.merge(one.times);
    found_.slowdowns.merge(one.slowdowns);
    found_.round_trips.merge(one.round_trips);
  }
}

CollectiveTime CollectiveTimes::cost(Collective collective, const RankGroup& group, double bytes) {
  if (group.ranks() <= 1 || bytes < 1) return {};
  const Shape shape = shapes_.of(group);
  if (estimate_ == Estimate::bound) return {bound(collective, shape, group.ranks(), bytes), 0};
  const int largest = group.ranks() >= kMany ? kLargestOfMany : kLargest;
  const auto whole = static_cast<std::uint64_t>(bytes);
  const int below = std::clamp(static_cast<int>(std::bit_width(whole)) - 1, kSmallest, largest - 1);
  const double low_bytes = std::ldexp(1.0, below);
  const CollectiveTime low = at({collective, shape, below});
  if (bytes <= low_bytes) return low;
  const CollectiveTime high = at({collective, shape, below + 1});
  const double share = (bytes - low_bytes) / low_bytes;
  const auto grown = static_cast<double>(high.time.ps - low.time.ps) * share;
  return {{low.time.ps + std::llround(grown)},
          bytes < 1.5 * low_bytes ? low.channels : high.channels};
}

}  // namespace fabricast
