// Two collectives of a step that run at the same time: how much each is slowed, from a simulation
// of both on one clock (simulate_together) on as few nodes as show it.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/nccl/run/shared_links.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/training/calls/collective_times.hpp"

namespace fabricast {

namespace {

// What is slowed is the rate, so that sizes beyond these change little.
constexpr int kSceneSmallest = 14, kSceneLargest = 24;  // exponents of two
constexpr std::size_t kGpusMost = 8;                    // of a group in a node: more do as these
constexpr int kCallsMost = 16;

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
  std::vector<Stream> streams;
  const auto add = [&](const std::vector<CollectiveRun>& runs, int calls) {
    for (const CollectiveRun& run : runs)
      streams.push_back({std::vector<CollectiveRun>(static_cast<std::size_t>(calls), run), {}});
  };
  /// The slowest of streams from..to of what was simulated, in seconds.
  const auto time_of = [](const StreamsResult& result, std::size_t from, std::size_t to) {
    std::int64_t out = 0;
    for (std::size_t i = from; i < to; ++i) out = std::max(out, result.streams[i].time.ps);
    return static_cast<double>(out);
  };
  const auto alone = [&](const std::vector<CollectiveRun>& runs, int calls) {
    streams.clear();
    add(runs, calls);
    return time_of(simulate(cluster, software_, streams), 0, streams.size());
  };
  double a_alone = alone(a, 1), b_alone = alone(b, 1);
  // About as long.
  const auto calls_of = [](double shorter, double longer) {
    return std::clamp(static_cast<int>(std::lround(longer / shorter)), 1, kCallsMost);
  };
  const int a_calls = calls_of(a_alone, b_alone), b_calls = calls_of(b_alone, a_alone);
  if (a_calls > 1) a_alone = alone(a, a_calls);
  if (b_calls > 1) b_alone = alone(b, b_calls);
  streams.clear();
  add(a, a_calls);
  add(b, b_calls);
  const StreamsResult both = simulate(cluster, software_, streams);
  const double a_both = time_of(both, 0, a.size()),
               b_both = time_of(both, a.size(), streams.size());
  // Until the first of them ends both run; the other one then goes on alone.
  const double until = std::min(a_both, b_both);
  const auto slowdown = [&](double alone_time, double time) {
    const double done = alone_time - (time - until);
    return done > 0 ? std::max(1.0, until / done) : 1.0;
  };
  return {slowdown(a_alone, a_both), slowdown(b_alone, b_both)};
}

}  // namespace fabricast
