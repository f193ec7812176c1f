#include "models/experts/ep_launch.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

/// Profilers gave the times of low-latency kernels, each by itself. Normal kernels were timed by
/// events around calls on a stream, TensorRT-LLM's in CUDA graphs: the gap before them is in.
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

}  // namespace fabricast
