#pragma once
// Which network NCCL takes between nodes (src/init.cc, ncclNetInit: a plugin, then InfiniBand
// verbs, then sockets), which NICs it sees there, and how it cuts messages on them.

#include <string>
#include <vector>

#include "models/nccl/env.hpp"
#include "models/nccl/node_description.hpp"
#include "models/nccl/settings.hpp"

namespace fabricast {

/// Of the Socket network (src/transport/net_socket.cc).
struct SocketSettings {
  int threads = 0;             ///< NCCL_SOCKET_NTHREADS: helpers; 0 = the proxy thread copies
  int sockets_per_thread = 1;  ///< NCCL_NSOCKS_PERTHREAD

  constexpr bool operator==(const SocketSettings&) const = default;
};

/// Of an InfiniBand connection (src/transport/net_ib.cc).
struct QueuePairs {
  int per_connection = 1;  ///< NCCL_IB_QPS_PER_CONNECTION
  bool split = false;      ///< NCCL_IB_SPLIT_DATA_ON_QPS: each message over all, else in turn

  constexpr bool operator==(const QueuePairs&) const = default;
  /// Into how many a message is cut. Each is a work request of its own, empty ones too.
  constexpr int pieces() const { return split ? per_connection : 1; }
  /// Bytes of all but the last pieces that carry something: multiples of 128.
  constexpr Bytes piece(Bytes message) const {
    const std::int64_t share = (message.count + pieces() - 1) / pieces();
    return {(share + 127) / 128 * 128};
  }
  /// Which one a piece of the connection's n-th message takes: what a switch hashes.
  constexpr int of(std::uint64_t message, int piece) const {
    const auto all = static_cast<std::uint64_t>(per_connection);
    return split ? piece : static_cast<int>(message % all);
  }
};

struct NetworkSettings {
  NetKind kind = NetKind::ib;
  SocketSettings sockets;
  QueuePairs queue_pairs;
  bool flush_always = false;  ///< NCCL_NET_FORCE_FLUSH: on compute capability 9.0 and above, too
  bool flush_never = false;   ///< NCCL_GDR_FLUSH_DISABLE

  constexpr bool operator==(const NetworkSettings&) const = default;
};

struct NetworkChoice {
  NetworkSettings settings;
  NodeDescription node;   ///< as NCCL sees it over that network
  std::vector<int> nics;  ///< of it, that NCCL may use
};

/// What NCCL does without being told adds one sentence to `warnings`. Throws Error when there are
/// several nodes and no network is left.
NetworkChoice choose_network(const NodeDescription& node, const Environment& environment,
                             NcclVersion version, const IbHcaFilter& hcas, int nodes,
                             std::vector<std::string>& warnings);

}  // namespace fabricast
