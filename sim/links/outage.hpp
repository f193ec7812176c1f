#pragma once
// When a link is down, what senders do about it, and what came of it.

#include <algorithm>
#include <cstdint>

#include "sim/base/units.hpp"

namespace fabricast {

/// Longer than any run: what happens then never happens.
inline constexpr Instant kNever{INT64_MAX / 4};

/// Down from `first` for `length`, and again after every `period`; 0 = once.
struct Outage {
  Instant first;
  Duration length{kNever.ps};
  Duration period;

  /// Is the link down at any time from `from` on for `busy`?
  constexpr bool hits(Instant from, Duration busy) const {
    const std::int64_t end = from.ps + std::max<std::int64_t>(busy.ps, 1);
    std::int64_t down = first.ps;
    if (period.ps > 0 && from.ps >= down + length.ps)
      down += (from.ps - down - length.ps) / period.ps * period.ps + period.ps;
    return down < end && from.ps < down + length.ps;
  }
};

/// A reliable connection: what is not acknowledged after `timeout` is sent again, `count` times.
struct Retry {
  Duration timeout;  ///< 0 = it waits for ever
  int count = 0;

  Duration patience() const { return timeout * (count + 1); }  ///< then it gives up
};

/// What was lost on links that were down.
struct Losses {
  std::uint64_t lost = 0;               ///< slices, each time that one was lost
  int retries_most = 0;                 ///< of one slice that came through
  bool gave_up = false;                 ///< a slice did not, and what depends on it never happens
  std::uint32_t link = 0;               ///< that lost it
  Instant sent, given_up;               ///< kNever = it waits for ever
  std::uint64_t handled = 0, done = 0;  ///< slices of workers: all, and those that did happen

  /// A slice in a worker's hands up to this time.
  void count(Instant end) {
    ++handled;
    if (end < kNever) ++done;
  }
};

}  // namespace fabricast
