#pragma once
// How one message of a group of sends and receives is cut: parts for channels, chunks, protocol.
// src/enqueue.cc and src/channel.cc of NCCL 2.21.5, 2.27.7, 2.30.7; src/include/{channel,device}.h.

#include <algorithm>

#include "models/nccl/sendrecv/p2p_channels.hpp"
#include "models/nccl/split/slices.hpp"

namespace fabricast {

/// What NCCL settled once for all sends and receives of a communicator.
struct P2pRules {
  NcclVersion version = kNccl2_21_5;
  bool several_nodes = false;
  int ranks = 1;
  P2pChannels channels;
  Bytes ll_threshold{16384};  ///< NCCL_P2P_LL_THRESHOLD
  bool ll_over_net = false;   ///< NCCL_ALLOC_P2P_NET_LL_BUFFERS
  BufferSizes buffers;
};

/// A message cut into parts: part i holds [i * part, (i + 1) * part), the last what is left.
struct P2pSplit {
  int parts = 1;
  Bytes part;

  constexpr bool operator==(const P2pSplit&) const = default;
  constexpr Bytes size(int i, Bytes message) const {
    return {std::min(part.count, message.count - part.count * i)};
  }
};
/// An empty message is one empty part: it synchronises. `remote`: to another node.
P2pSplit p2p_split(const P2pRules& rules, Bytes message, bool remote);

/// How a part travels.
struct P2pPart {
  Bytes size;
  Bytes chunk;  ///< payload of a step
  Protocol protocol = Protocol::simple;

  constexpr bool operator==(const P2pPart&) const = default;
};
P2pPart p2p_part(const P2pRules& rules, Bytes message, const P2pSplit& split, int part,
                 bool remote);

/// From here on the base is mirrored again, as up to 2.21.
inline constexpr NcclVersion kMirroredBase{28, 3};
/// The channel of a part, of `channels` (a power of two). `base`: P2pRounds::base().
int p2p_channel(NcclVersion version, int channels, int base, int part);
/// The part that a channel serves; it is the inverse of p2p_channel().
int p2p_part_of_channel(NcclVersion version, int channels, int base, int channel);

}  // namespace fabricast
