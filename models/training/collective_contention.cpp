// Two collectives of a step that run at the same time: how much each is slowed, from a simulation
// of both on one clock (simulate_together) on as few nodes as show it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "models/nccl/together.hpp"
#include "models/training/collective_times.hpp"

namespace fabricast {

namespace {

// What is slowed is the rate, so that sizes beyond these change little.
constexpr int kSmallest = 14, kLargest = 24;  // exponents of two
constexpr int kGpusMost = 8;                  // of a node: more do as these
constexpr int kCallsMost = 16;
constexpr int kElementBytes = 2;

std::vector<int> counted_from(int first, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

CollectiveTimes::SceneExchange CollectiveTimes::scene_of(const Exchange& exchange) {
  const Shape& shape = shapes_.of(exchange.group);
  const int size = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(exchange.bytes))) - 1;
  return {exchange.collective, std::min(shape.nodes, 2), std::min(shape.gpus, kGpusMost),
          std::clamp(size, kSmallest, kLargest)};
}

CollectiveTimes::Slowdown CollectiveTimes::beside(const Exchange& first, const Exchange& second) {
  const auto happens = [](const Exchange& e) { return e.group.ranks() > 1 && e.bytes >= 1; };
  if (estimate_ == Estimate::bound || !happens(first) || !happens(second)) return {};
  const SceneExchange a = scene_of(first), b = scene_of(second);
  return slowdowns_.at({a, b}, [&] { return together(a, b); });
}

CollectiveTimes::Slowdown CollectiveTimes::together(const SceneExchange& first,
                                                    const SceneExchange& second) {
  const int nodes = std::max(first.nodes, second.nodes);
  const Cluster cluster(cluster_.node(), nodes, cluster_.fabric());
  const int nics = std::max(static_cast<int>(cluster.node().nics().size()), 1);
  // All GPUs that share a NIC, and whole groups of both.
  const int sharing = (static_cast<int>(cluster.node().gpus().size()) + nics - 1) / nics;
  const int gpus = std::min(std::max(std::lcm(first.gpus, second.gpus), sharing), gpus_per_node_);

  const auto runs_of = [&](const SceneExchange& exchange) {
    std::vector<CollectiveRun> out;
    for (int node = 0; node < nodes; node += exchange.nodes) {
      for (int gpu = 0; gpu + exchange.gpus <= gpus; gpu += exchange.gpus) {
        CommunicatorConfig config = config_;
        config.members =
            Members(counted_from(node, exchange.nodes), counted_from(gpu, exchange.gpus));
        const Communicator communicator = make_communicator(cluster, config);
        const std::int64_t per = counts_per_rank(exchange.collective) ? communicator.ranks : 1;
        const std::int64_t count =
            std::max<std::int64_t>((std::int64_t{1} << exchange.exponent) / kElementBytes / per, 1);
        out.push_back(
            decide_call(communicator, {exchange.collective, count, kElementBytes, 0}).run);
      }
    }
    return out;
  };
  std::vector<Stream> streams;
  const auto add = [&](const std::vector<CollectiveRun>& runs, int calls) {
    for (const CollectiveRun& run : runs)
      streams.push_back({std::vector<CollectiveRun>(static_cast<std::size_t>(calls), run), {}});
  };
  /// The slowest of streams from..to of what was simulated, in seconds.
  const auto time_of = [](const TogetherResult& result, std::size_t from, std::size_t to) {
    std::int64_t out = 0;
    for (std::size_t i = from; i < to; ++i) out = std::max(out, result.streams[i].time.ps);
    return static_cast<double>(out);
  };
  const auto alone = [&](const std::vector<CollectiveRun>& runs, int calls) {
    streams.clear();
    add(runs, calls);
    return time_of(simulate_together(cluster, software_, streams), 0, streams.size());
  };
  const std::vector<CollectiveRun> a = runs_of(first), b = runs_of(second);
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
  const TogetherResult both = simulate_together(cluster, software_, streams);
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
