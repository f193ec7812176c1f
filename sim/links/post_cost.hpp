#pragma once
// What handing a message to the network costs the thread that does it, by the bytes on the wire.

#include <algorithm>
#include <cstdint>

#include "sim/base/units.hpp"

namespace fabricast {

struct PostCost {
  Duration post{};   ///< per message
  Bandwidth rate{};  ///< and the thread touches the wire bytes at this rate; 0 = it does not
  /// Up to so many hands touch pieces of at least `piece` at the same time; the thread itself is
  /// one of them.
  std::int64_t hands = 1;
  Bytes piece{};
  /// Messages above `large` cost so much more, and leave so much later without occupying the
  /// thread: the two ends agree on them first. 0 = there are none.
  Bytes large{};
  Duration large_post{}, large_delay{};
  Duration each_delay{};  ///< every message leaves so much later without occupying the thread
  Bytes tiny{};           ///< messages up to it, unless empty, cost so much more
  Duration tiny_post{};
  Bytes copied{};  ///< messages above it that are not large cost so much more
  Duration copied_post{};
  Bandwidth near_copy{};  ///< and those up to it are copied at this rate; 0 = they are not
  /// After each message the thread is busy so long with one that arrived, by whether they are above
  /// `large`: threads receive as many as they send.
  Duration receipt{}, large_receipt{};
  Duration copied_receipt{};  ///< and so much longer after those that `copied_post` is for
  /// The thread may begin so much before the bytes are there: what announces them comes ahead. At
  /// most `post`.
  Duration ahead{};

  bool operator==(const PostCost&) const = default;

  constexpr bool is_large(Bytes wire) const { return large.count > 0 && wire > large; }

  /// For how long the thread is busy.
  Duration busy(Bytes wire) const {
    Duration out = post;
    if (rate.bytes_per_s > 0 && wire.count > 0) {
      const std::int64_t pieces =
          hands == 1 ? 1 : std::max<std::int64_t>(1, (wire.count + piece.count - 1) / piece.count);
      const std::int64_t share = std::min(pieces, hands);
      out += transfer_time(Bytes{(wire.count + share - 1) / share}, rate);
    }
    if (is_large(wire)) return out + large_post;
    if (wire.count > 0 && wire <= tiny) out += tiny_post;
    if (wire > copied) return out + copied_post;
    return near_copy.bytes_per_s > 0 ? out + transfer_time(wire, near_copy) : out;
  }
  /// After a message that it sent.
  constexpr Duration receiving(Bytes wire) const {
    if (is_large(wire)) return large_receipt;
    return wire > copied ? receipt + copied_receipt : receipt;
  }
  /// From then until the bytes leave.
  constexpr Duration delay(Bytes wire) const {
    return is_large(wire) ? each_delay + large_delay : each_delay;
  }
};

}  // namespace fabricast
