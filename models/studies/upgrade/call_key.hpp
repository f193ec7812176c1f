#pragma once
// What can be seen of a call that NCCL runs: two releases run it alike where these are equal.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/tuner/tuner.hpp"

namespace fabricast {

/// Calls are of float32.
inline constexpr int kCallElementBytes = 4;

struct CallKey {
  std::optional<Algorithm> algorithm;  ///< nothing: the call is refused, and what follows is 0
  Protocol protocol{};
  int channels = 0;  ///< that get work
  int threads = 0;   ///< of each
  std::int64_t chunk_bytes = 0;
  float estimate_us = 0;  ///< NCCL's own; two calls of different estimates may run alike

  /// "Ring LL128", "NVLS", "refused"
  std::string choice() const;
};

/// In what two runs of a call differ.
struct CallDifference {
  bool choice = false;  ///< algorithm or protocol; then the others are not looked at
  bool channels = false, threads = false, chunk = false;
  bool ways = false;  ///< the channels lie on other NICs, or have other bandwidths

  bool any() const { return choice || channels || threads || chunk || ways; }
  constexpr bool operator==(const CallDifference&) const = default;
  /// "channels, chunk"
  std::string text() const;
};

/// `ways`: of the algorithm that runs, as ways_of() says them.
CallDifference difference(const CallKey& a, const CallKey& b, bool same_ways);

/// One call of float32 of `count` elements (NCCL's meaning), as this model decides it.
CallKey call_key(const TuningModel& model, Collective collective, std::int64_t count);

/// How the channels of an algorithm lie: bandwidths, path types, and how many channels go in and
/// out by which NIC. What only renumbers GPUs is not seen.
std::string ways_of(const TunerInput& input, Algorithm algorithm);

}  // namespace fabricast
