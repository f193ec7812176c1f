#pragma once
// Equal-cost multipath: a switch picks one of its equal ways by a hash of what stands in the header
// of every packet of a connection, so a connection keeps one way and connections collide.

#include <cassert>
#include <cstdint>

#include "sim/base/random.hpp"

namespace fabricast {

/// What the hash sees. Over RoCEv2 the UDP source port stands for the queue pair; the destination
/// port and the protocol are the same for all.
struct FlowKey {
  std::uint32_t source = 0, destination = 0;  ///< addresses
  std::uint64_t queue_pair = 0;
};

/// The choice among `ways` of a switch with this seed. Switches of one seed choose alike: give each
/// tier its own, or the choice of the next tier is no choice (hash polarisation).
constexpr std::uint32_t ecmp_choice(const FlowKey& key, std::uint64_t seed, std::uint32_t ways) {
  assert(ways > 0);
  const std::uint64_t addresses = (std::uint64_t{key.source} << 32) | key.destination;
  const std::uint64_t hash = mixed(mixed(addresses + seed) + key.queue_pair);
  return static_cast<std::uint32_t>((hash >> 32) * ways >> 32);
}

}  // namespace fabricast
