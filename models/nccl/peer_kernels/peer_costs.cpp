#include "models/nccl/peer_kernels/peer_costs.hpp"

#include <cassert>
#include <cmath>
#include <iterator>

#include "sim/base/scaled.hpp"

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
  return {scaled(known.hop, factor), scaled(known.load, factor), local, clock_GHz,
          scaled(known.start, factor)};
}

}  // namespace fabricast
