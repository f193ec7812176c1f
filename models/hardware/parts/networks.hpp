#pragma once
// Kinds of network: what NCCL's built-in code or plugin for a kind of NIC is and costs.

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/base/units.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class NetKind : std::uint8_t {
  ib,
  roce,
  sockets,  ///< TCP over any interface
  efa,      ///< AWS, by libfabric
  cxi,      ///< Slingshot, by libfabric
  tcpx,     ///< GPUDirect-TCPX
  tcpxo     ///< GPUDirect-TCPXO (FasTrak)
};
inline constexpr auto kNetKindWords =
    enum_words<NetKind>("ib", "roce", "sockets", "efa", "cxi", "tcpx", "tcpxo");
inline constexpr int kNetKinds = kNetKindWords.words.size();
constexpr std::string_view to_text(NetKind kind) { return kNetKindWords[kind]; }

/// Served by NCCL's own verbs transport.
constexpr bool has_verbs(NetKind kind) { return kind == NetKind::ib || kind == NetKind::roce; }
/// Served by a plugin.
constexpr bool needs_plugin(NetKind kind) { return !has_verbs(kind) && kind != NetKind::sockets; }

/// Costs of one kind. Each latency stands alone, so that it can be fitted alone.
struct NetworkCosts {
  std::array<Duration, 3> sync{};  ///< by Protocol: arrival to the poll that sees it, beyond flags
  Duration post;                   ///< a proxy thread is busy so long per message
  Duration piece_post;             ///< and per further piece that the message is cut into
  Duration channel_spread;         ///< a hop takes so much longer for each doubling of the channels
  Duration poll;                   ///< of a group's sends and receives: to look at one, once a loop
  Bandwidth ll_check_rate;         ///< wire bytes/s at which the proxy reads LL flags; 0 = at once
  Bandwidth copy_rate;             ///< wire bytes/s that one thread copies; 0 = nothing is copied
  Bytes task_min;                  ///< of copies: the least that a further thread is given
  Duration helper_wake;            ///< until a helper thread that sleeps copies, at either end
  /// Larger messages than both together, in wire bytes, go by rendezvous; 0 = none does.
  Bytes rendezvous_threshold;
  Bytes rendezvous_get_min;     ///< that the receiver fetches at least
  Duration rendezvous_latency;  ///< of a larger one, before its bytes leave
  Duration rendezvous_post;     ///< the proxy thread is busy so much longer with it
  /// Without GDRCopy the host copies bytes from and to a GPU through its driver, and waits. Up to
  /// `inject_max` wire bytes travel in the command to the NIC, which the host writes.
  Bytes inject_max;
  Duration inject_copy;
  /// Where the host matches messages and not the NIC, they arrive in host memory, whence the host
  /// copies them: up to `safe_copy` by GDRCopy, at a rate, above it by the driver, and waits.
  Bytes safe_copy;
  Bandwidth gdrcopy_rate;  ///< wire bytes/s
  Duration driver_copy;
  Duration sent_ll;  ///< the sender's thread is busy so long after an LL message that is so copied
};

}  // namespace fabricast
