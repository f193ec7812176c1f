#include "models/nccl/peer_kernels/peer_costs.hpp"

#include <cassert>
#include <cmath>
#include <iterator>

namespace fabricast {

const PeerGpu& costs_of(const PeerCosts& costs, int sm) {
  assert(!costs.gpus.empty());
  const auto later = costs.gpus.upper_bound(sm);
  return later == costs.gpus.begin() ? later->second : std::prev(later)->second;
}

Duration cycles(Duration at_1GHz, const PeerGpu& gpu) {
  return {std::llround(static_cast<double>(at_1GHz.ps) / gpu.clock_GHz)};
}

PeerGpu derived(const PeerGpu& known, double clock_GHz, Bandwidth local) {
  const double factor = known.clock_GHz / clock_GHz;
  const auto scaled = [&](Duration time) {
    return Duration{std::llround(static_cast<double>(time.ps) * factor)};
  };
  return {scaled(known.hop), scaled(known.load), local, clock_GHz, scaled(known.start)};
}

}  // namespace fabricast
