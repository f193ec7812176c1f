#include "models/nccl/sendrecv/p2p_message.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace fabricast {
namespace {

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The low bits of i that number `channels`, in reverse order.
int mirrored(int i, int channels) {
  int out = 0;
  for (int bit = 1; bit < channels; bit *= 2, i /= 2) out = out * 2 + i % 2;
  return out;
}

/// An 8-bit float with three bits of mantissa, rounded down: how 2.22+ pass chunk sizes on.
Bytes as_small_float(Bytes size) {
  const int excess = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size.count))) - 4;
  return excess > 0 ? Bytes{size.count >> excess << excess} : size;
}

/// Parts that every message may have, so that all channels find work.
int usual_parts(const P2pRules& rules) {
  int parts = rules.channels.per_peer;
  while (parts > 1 && parts * rules.ranks > rules.channels.channels) parts /= 2;
  return parts;
}

/// Does a release choose the protocol of a whole message before it counts parts?
bool chooses_first(const P2pRules& rules) {
  return rules.version >= kNccl2_22 && rules.version < kNccl2_29;
}

bool is_ll(const P2pRules& rules, Bytes message, Bytes part, int parts, bool remote) {
  if (remote && !rules.ll_over_net) return false;
  const std::int64_t most = rules.ll_threshold.count;
  if (rules.version < kNccl2_22) return part.count <= most;
  return message.count <= most * (chooses_first(rules) ? rules.channels.per_peer : parts);
}

/// What parts are measured by: a step of Simple; where the protocol is known by then, one of its
/// own.
std::int64_t step_of(const P2pRules& rules, Bytes message, bool remote) {
  const bool ll = chooses_first(rules) && is_ll(rules, message, message, 1, remote);
  return (ll ? step_size(Protocol::ll, rules.buffers) : rules.channels.chunk).count;
}

}  // namespace

P2pSplit p2p_split(const P2pRules& rules, Bytes message, bool remote) {
  const bool is_old = rules.version < kNccl2_22;
  const std::int64_t step = step_of(rules, message, remote);
  const std::int64_t least = rules.several_nodes ? step / 2 : step / 8;
  const std::int64_t most = rules.several_nodes ? step : step * 32;
  std::int64_t parts = usual_parts(rules);
  if (!is_old) parts = std::clamp<std::int64_t>(divided_up(message.count, least), 1, parts);
  std::int64_t size = std::max(least, divided_up(message.count, parts));
  while (size > most && parts <= rules.channels.per_peer / 2) {
    parts *= 2;
    size = divided_up(message.count, parts);
  }
  const std::int64_t grain = is_old ? least : 4096;
  if (!is_old) size = divided_up(message.count, parts);
  P2pSplit out;
  out.part = {std::max<std::int64_t>(divided_up(size, grain), 1) * grain};
  // Rounding up can leave nothing for the last parts.
  out.parts =
      static_cast<int>(std::max<std::int64_t>(divided_up(message.count, out.part.count), 1));
  return out;
}

P2pPart p2p_part(const P2pRules& rules, Bytes message, const P2pSplit& split, int part,
                 bool remote) {
  assert(part >= 0 && part < split.parts);
  P2pPart out;
  out.size = split.size(part, message);
  const bool ll = is_ll(rules, message, out.size, split.parts, remote);
  out.protocol = ll ? Protocol::ll : Protocol::simple;
  out.chunk = ll ? step_size(Protocol::ll, rules.buffers) : rules.channels.chunk;
  if (remote) {
    const std::int64_t step = out.chunk.count;
    const std::int64_t bytes = rules.version < kNccl2_22 ? out.size.count : message.count;
    if (!ll && bytes < step) {
      out.chunk.count = step / 4;
    } else if (bytes < 8 * step) {
      out.chunk.count = step / 2;
    }
  }
  if (ll) out.chunk.count /= 2;  // half of a line is flags
  if (rules.version >= kNccl2_22) out.chunk = as_small_float(out.chunk);
  return out;
}

int p2p_channel(NcclVersion version, int channels, int base, int part) {
  if (version >= kNccl2_22 && version < kMirroredBase)
    return (base + mirrored(part, channels)) % channels;
  return (mirrored(base % channels, channels) + part) % channels;
}

int p2p_part_of_channel(NcclVersion version, int channels, int base, int channel) {
  if (version >= kNccl2_22 && version < kMirroredBase)
    return mirrored((channel - base % channels + channels) % channels, channels);
  return (channel - mirrored(base % channels, channels) + channels) % channels;
}

}  // namespace fabricast
