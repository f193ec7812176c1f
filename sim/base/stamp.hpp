#pragma once
// Kinds of time stamps for one executor: a plain instant, an instant that knows where its time went
// along the critical path that led to it (of an executor whose links can go down, of one that hands
// slices over to another rung, or of neither), and one for an executor that is watched.

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
  static constexpr bool kObserved = false;
  static constexpr bool kLossy = false;
  static constexpr bool kCarried = false;
  static constexpr bool kRepeats = true;
  PlainStamp plus(Duration d, Cause) const { return {ps + d.ps}; }
  Duration of(Cause) const { return {}; }
};

/// An instant and how it came about: the parts always sum up to `ps`.
template <bool kLinksFail, bool kHandsOver>
struct CausalStampOf {
  std::int64_t ps = 0;
  std::array<std::int64_t, kCauses> parts{};

  static constexpr bool kCausal = true;
  static constexpr bool kObserved = false;
  static constexpr bool kLossy = kLinksFail;
  static constexpr bool kCarried = kHandsOver;
  static constexpr bool kRepeats = false;
  CausalStampOf plus(Duration d, Cause cause) const {
    CausalStampOf out = *this;
    out.ps += d.ps;
    out.parts[static_cast<std::size_t>(cause)] += d.ps;
    return out;
  }
  Duration of(Cause cause) const { return {parts[static_cast<std::size_t>(cause)]}; }
};

using CausalStamp = CausalStampOf<false, false>;
/// The stamp of an executor whose links can go down.
using LossyStamp = CausalStampOf<true, false>;
/// The stamp of one that hands slices over to a Carrier.
using CarriedStamp = CausalStampOf<false, true>;

/// An instant of an executor that tells an Observer what it does.
struct ObservedStamp {
  std::int64_t ps = 0;

  static constexpr bool kCausal = false;
  static constexpr bool kObserved = true;
  static constexpr bool kLossy = true;
  static constexpr bool kCarried = false;
  static constexpr bool kRepeats = false;
  ObservedStamp plus(Duration d, Cause) const { return {ps + d.ps}; }
  Duration of(Cause) const { return {}; }
};

/// The later one decides; the first on a tie.
template <class Stamp>
const Stamp& later(const Stamp& a, const Stamp& b) {
  return a.ps < b.ps ? b : a;
}

}  // namespace fabricast
