#pragma once
// What a protocol adds to the bytes of its payload.

#include <cstdint>

#include "sim/base/units.hpp"

namespace fabricast {

/// `payload` bytes travel as `wire` bytes, in whole units: LL is 8 -> 16. {1, 1} adds nothing.
struct WireFormat {
  std::int64_t payload = 1, wire = 1;

  bool operator==(const WireFormat&) const = default;

  constexpr Bytes on_wire(Bytes data) const {
    return {(data.count + payload - 1) / payload * wire};
  }
  /// So much on the wire for a rate of payload.
  constexpr Bandwidth rate_on_wire(Bandwidth data) const {
    return {data.bytes_per_s / payload * wire};
  }
};

}  // namespace fabricast
