// Dispatch and combine of kernels of their own, as CollectiveTimes remembers them.
#include <algorithm>
#include <bit>
#include <cassert>

#include "models/experts/routing.hpp"
#include "models/training/calls/collective_times.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {

void CollectiveTimes::use(const ExpertKernels& kernels, ExpertWish wish) {
  kernels_ = &kernels;
  wish_ = std::move(wish);
}

EpRoundTrip CollectiveTimes::round_trip(const RankGroup& group, ExpertCall call) {
  assert(kernels_ != nullptr && wish_ && has_own_kernels(wish_->mode));
  if (group.ranks() <= 1) return {};
  const Shape shape = shapes_.of(group);
  check_reach(wish_->mode, shape.nodes, shape.gpus);
  const auto at_power = [&](int exponent) {
    return at(RoundTrip{shape, call.choice.experts, call.choice.top_k, call.hidden, call.dispatched,
                        exponent});
  };
  const int tokens = std::max(call.tokens, 1);
  const int below = static_cast<int>(std::bit_width(static_cast<unsigned>(tokens))) - 1;
  const EpRoundTrip low = at_power(below);
  const int power = 1 << below;
  if (tokens == power) return low;
  const EpRoundTrip high = at_power(below + 1);
  const double share = static_cast<double>(tokens - power) / power;
  const auto between = [&](Duration a, Duration b) { return a + scaled(b - a, share); };
  return {between(low.dispatch, high.dispatch), between(low.combine, high.combine),
          low.busiest + (high.busiest - low.busiest) * share};
}

Duration CollectiveTimes::round_trip_launch(int tokens, bool has_handle) const {
  const GpuPart& gpu = cluster_.node().gpus().front().part;
  return fabricast::round_trip_launch(kernels_->launch, EpLaunch::stream, wish_->mode, tokens,
                                      gpu.launch.value_or(software_.launch_any), has_handle);
}

EpRoundTrip CollectiveTimes::at(const RoundTrip& question) {
  if (wanted_ != nullptr) wanted_->round_trips.insert(question);
  if (wanted_ != nullptr || estimate_ == Estimate::bound) return bound(question);
  return round_trips_.at(question, [&] {
    const auto found = found_.round_trips.find(question);
    if (found != found_.round_trips.end()) return found->second;
    return found_.round_trips.emplace(question, find(question)).first->second;
  });
}

EpRoundTrip CollectiveTimes::find(const RoundTrip& question) {
  const auto& [shape, experts, top_k, hidden, dispatched, exponent] = question;
  ExpertCall call = wish_->call(experts, top_k, hidden, dispatched);
  call.dispatched = dispatched;
  call.tokens = 1 << exponent;
  const EpWays ways(site(shape).cluster, shape.gpus, shapes_.nodes(shape, shape.nodes));
  return ep_round_trip(ways, *kernels_, call, wish_->mode);
}

/// What leaves a GPU, or a node by its NICs. Uneven loads and groups of experts leave less alone:
/// then nothing is known.
EpRoundTrip CollectiveTimes::bound(const RoundTrip& question) const {
  const auto& [shape, experts, top_k, hidden, dispatched, exponent] = question;
  if (!wish_->weights.empty() || wish_->groups > 1) return {};
  ExpertCall call = wish_->call(experts, top_k, hidden, dispatched);
  call.dispatched = dispatched;
  const GpuPart& gpu = cluster_.node().gpus().front().part;
  const bool leaves = shape.nodes > 1;
  const int shares = leaves ? shape.nodes : shape.gpus;
  double rate = gpu.nvlink_links * static_cast<double>(gpu.nvlink_per_link.bytes_per_s);
  if (leaves) rate = nic_rate() / gpus_per_node_;
  if (rate <= 0) return {};
  const double sent =
      std::ldexp(1.0, exponent) * shares_reached(shares, experts, top_k) * (shares - 1) / shares;
  const auto lasts = [&](EpPhase phase) {
    const double bytes = sent * static_cast<double>(token_bytes(call, phase));
    // Draws are even on average only, and stores of some kernels are wider than NCCL's.
    return Duration{static_cast<std::int64_t>(0.75 * bytes / rate * 1e12)};
  };
  return {lasts(EpPhase::dispatch), lasts(EpPhase::combine)};
}

}  // namespace fabricast
