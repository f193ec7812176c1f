#pragma once
// The network rungs as cases of the digest: small runs that pass every kind of event.

#include <cstdint>

#include "sim/base/units.hpp"

namespace fabricast {

struct NetworkOutcome {
  std::uint64_t digest;
  Duration time;
};

/// Fluids of random sizes, weights, priorities and caps over random links, one of which fails.
NetworkOutcome flow_outcome();
/// Twelve DCQCN senders through two tiers: pauses, marks, losses and retries.
NetworkOutcome roce_outcome();
/// The same under credits, with two lanes, adaptive ways and a cable that fails.
NetworkOutcome infiniband_outcome();

}  // namespace fabricast
