#pragma once
// Closed forms of lossless links: how much buffer credits and pauses need.

#include <algorithm>
#include <cstdint>

#include "sim/base/units.hpp"

namespace fabricast {

/// From a byte leaving to its credit being back: there, turn-around in the receiver, and back.
constexpr Duration credit_loop(Duration propagation, Duration turnaround) {
  return propagation * 2 + turnaround;
}

/// Bytes that cross at `rate` in `time`, rounded up.
constexpr Bytes bytes_in(Duration time, Bandwidth rate) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::int64_t ps_per_s = 1'000'000'000'000;
  const Wide parts = static_cast<Wide>(time.ps) * static_cast<Wide>(rate.bytes_per_s);
  return {static_cast<std::int64_t>((parts + ps_per_s - 1) / ps_per_s)};
}

/// Buffer that keeps a link busy: a round of the credit loop at full rate.
constexpr Bytes credit_buffer(Bandwidth rate, Duration loop) { return bytes_in(loop, rate); }

/// Rate of a lane whose receiver has `buffer`, as a fluid; packets lose up to one packet of it.
constexpr Bandwidth credit_rate(Bandwidth rate, Bytes buffer, Duration loop) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::int64_t ps_per_s = 1'000'000'000'000;
  if (loop.ps == 0) return rate;
  const Wide allowed = static_cast<Wide>(buffer.count) * ps_per_s / static_cast<Wide>(loop.ps);
  return {static_cast<std::int64_t>(std::min<Wide>(allowed, static_cast<Wide>(rate.bytes_per_s)))};
}

/// PFC counts pauses in quanta of 512 bit times, at most 65535 of them (IEEE 802.1Qbb).
constexpr Bytes kPauseQuantum{512 / 8};
constexpr std::int64_t kPauseQuantaMax = 65'535;
constexpr Duration longest_pause(Bandwidth rate) {
  return transfer_time(kPauseQuantum * kPauseQuantaMax, rate);
}

/// What still arrives after a pause was asked for: the wire both ways, the sender's response, a
/// packet that had just begun at either end, and the pause frame itself.
struct PauseHeadroom {
  Bytes response{60 * 64};  ///< 60 quanta
  Bytes packet{4'200};      ///< largest on the wire
  Bytes frame{64};

  constexpr Bytes over(Bandwidth rate, Duration propagation) const {
    return bytes_in(propagation * 2, rate) + response + packet * 2 + frame;
  }
};

}  // namespace fabricast
