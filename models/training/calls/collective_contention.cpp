// Two collectives of a step that run at the same time: how much each is slowed, from a simulation
// of both on one clock (side_by_side) on as few nodes as show it.
#include <algorithm>
#include <bit>

#include "models/nccl/run/shared_links.hpp"
#include "models/nccl/run/side_by_side.hpp"
#include "models/training/calls/collective_times.hpp"

namespace fabricast {

namespace {

// What is slowed is the rate, so that sizes beyond these change little.
constexpr int kSceneSmallest = 14, kSceneLargest = 24;  // exponents of two
constexpr std::size_t kGpusMost = 8;                    // of a group in a node: more do as these

/// Of both only what shares links, directly or through others, with the first of `a`.
void keep_crowd(const Cluster& cluster, const SoftwareCosts& software,
                std::vector<CollectiveRun>& a, std::vector<CollectiveRun>& b) {
  std::vector<CollectiveRun> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const Crowd crowd = crowds_of(cluster, software, all).front();
  const std::size_t of_a = a.size();
  a.clear();
  b.clear();
  for (const std::size_t run : crowd) (run < of_a ? a : b).push_back(all[run]);
}

}  // namespace

CollectiveTimes::SceneExchange CollectiveTimes::scene_of(const Exchange& exchange) {
  const Shape& shape = shapes_.of(exchange.group);
  const int size = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(exchange.bytes))) - 1;
  return {exchange.collective, std::min(shape.nodes, 2), shape.gpus, shape.sides,
          std::clamp(size, kSceneSmallest, kSceneLargest)};
}

/// The exchange of all groups on the cluster's nodes.
std::vector<CollectiveRun> CollectiveTimes::runs_of(const SceneExchange& exchange,
                                                    const Cluster& cluster) const {
  std::vector<CollectiveRun> out;
  for (std::vector<int>& gpus : shapes_.sides({exchange.nodes, exchange.gpus, 0, exchange.sides})) {
    if (gpus.size() > kGpusMost) gpus.resize(kGpusMost);
    for (int node = 0; node < cluster.nodes(); node += exchange.nodes) {
      CommunicatorConfig config = config_;
      config.members = Members(exchange.nodes == 1 ? std::vector{node} : std::vector{0, 1}, gpus);
      const Communicator communicator = make_communicator(cluster, config);
      const std::int64_t per = counts_per_rank(exchange.collective) ? communicator.ranks : 1;
      const std::int64_t count =
          std::max<std::int64_t>((std::int64_t{1} << exchange.exponent) / kElementBytes / per, 1);
      out.push_back(decide_call(communicator, {exchange.collective, count, kElementBytes, 0}).run);
    }
  }
  return out;
}

CollectiveTimes::Slowdown CollectiveTimes::beside(const Exchange& first, const Exchange& second) {
  const auto happens = [](const Exchange& e) { return e.group.ranks() > 1 && e.bytes >= 1; };
  if (estimate_ == Estimate::bound || !happens(first) || !happens(second)) return {};
  const SceneExchange a = scene_of(first), b = scene_of(second);
  if (wanted_ != nullptr) {
    wanted_->slowdowns.insert({a, b});
    return {};
  }
  return slowdown({a, b});
}

CollectiveTimes::Slowdown CollectiveTimes::slowdown(const Scene& scene) {
  return slowdowns_.at(scene, [&] {
    const auto found = found_.slowdowns.find(scene);
    if (found != found_.slowdowns.end()) return found->second;
    const auto& [first, second] = scene;
    return found_.slowdowns.emplace(scene, together(first, second)).first->second;
  });
}

CollectiveTimes::Slowdown CollectiveTimes::together(const SceneExchange& first,
                                                    const SceneExchange& second) {
  const Cluster cluster(cluster_.node(), std::max(first.nodes, second.nodes), cluster_.fabric());
  std::vector<CollectiveRun> a = runs_of(first, cluster), b = runs_of(second, cluster);
  keep_crowd(cluster, software_, a, b);
  if (b.empty()) return {};
  const TwoJobs both = side_by_side(cluster, software_, a, b);
  return {both.first.slowdown, both.second.slowdown};
}

}  // namespace fabricast
