#include "models/experts/ep_launch.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

/// Whether times of kernels have in them the gap before a kernel. Profilers gave those of
/// low-latency kernels, each by itself; events around calls on a stream those of normal ones, CUDA
/// graphs those of TensorRT-LLM. Normal kernels of several nodes were profiled, too: the gap before
/// each of the two, 1 % of a call, is left out.
constexpr bool has_gap(EpMode mode) { return mode != EpMode::low_latency; }

}  // namespace

Duration launch_time(const EpLaunchCosts& costs, EpLaunch launch, EpMode mode, EpPhase phase,
                     int tokens, Duration idle, Duration kernels) {
  assert(has_own_kernels(mode));
  if (launch == EpLaunch::kernels) return {};
  const bool lays_out = mode == EpMode::normal && phase == EpPhase::dispatch;
  Duration out;
  if (launch == EpLaunch::one_shot)
    out = idle;
  else if (lays_out || !has_gap(mode))
    out = costs.node;
  if (lays_out) out += costs.layout + costs.layout_token * tokens;
  if (launch == EpLaunch::graph) return out;
  if (phase == EpPhase::dispatch && waits_for_counts(mode)) out += idle;
  return launch == EpLaunch::stream ? std::max(out, costs.host_call - kernels) : out;
}

Duration round_trip_launch(const EpLaunchCosts& costs, EpLaunch launch, EpMode mode, int tokens,
                           Duration idle, bool has_handle) {
  EpLaunchCosts own = costs;
  own.host_call = {};
  const auto beside = [&](EpPhase phase) {
    return launch_time(own, launch, mode, phase, tokens, idle, {});
  };
  // A dispatch that knows its layout needs no more than a combine.
  return beside(has_handle ? EpPhase::combine : EpPhase::dispatch) + beside(EpPhase::combine);
}

}  // namespace fabricast
