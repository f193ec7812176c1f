#pragma once
// Kinds of time stamps for one machine: a plain instant, and an instant that knows where its time
// went along the critical path that led to it. What is rare (a run that is explained or watched,
// links that go down, slices that another rung carries) runs on the second kind, so that the first
// one pays nothing for it.

#include <array>
#include <cstdint>

#include "sim/base/units.hpp"

namespace fabricast {

/// What the critical path was doing.
enum class Cause : std::uint8_t {
  latency,  ///< wire, flag and poll latencies, fixed cost per primitive, relay post
  link,     ///< bytes crossing a link, queued behind others on it, or lost on it and sent again
  worker,   ///< the worker's own copying and reducing
  slots,    ///< a freed slot on its way back to a stalled sender
};
inline constexpr int kCauses = 4;

/// An instant, nothing else.
struct PlainStamp {
  std::int64_t ps = 0;

  static constexpr bool kCausal = false;
  PlainStamp plus(Duration d, Cause) const { return {ps + d.ps}; }
  PlainStamp launched(Duration d) const { return {ps + d.ps}; }
  Duration of(Cause) const { return {}; }
};

/// An instant and how it came about: the parts sum up to `ps` but for what launches took. Its
/// machines can be watched, lose slices, and leave them to a Carrier.
struct CausalStamp {
  std::int64_t ps = 0;
  std::array<std::int64_t, kCauses> parts{};

  static constexpr bool kCausal = true;
  CausalStamp plus(Duration d, Cause cause) const {
    CausalStamp out = *this;
    out.ps += d.ps;
    out.parts[static_cast<std::size_t>(cause)] += d.ps;
    return out;
  }
  /// Waits for a launch.
  CausalStamp launched(Duration d) const {
    CausalStamp out = *this;
    out.ps += d.ps;
    return out;
  }
  Duration of(Cause cause) const { return {parts[static_cast<std::size_t>(cause)]}; }
};

/// The later one decides; the first on a tie.
template <class Stamp>
const Stamp& later(const Stamp& a, const Stamp& b) {
  return a.ps < b.ps ? b : a;
}
/// By value: choosing between two places costs more than choosing between two numbers.
inline PlainStamp later(PlainStamp a, PlainStamp b) { return {a.ps < b.ps ? b.ps : a.ps}; }

}  // namespace fabricast
