#pragma once
// Which network NCCL takes between nodes (src/init.cc, ncclNetInit: a plugin, then InfiniBand
// verbs, then sockets), which NICs it sees there, and how it cuts messages on them.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/environment/env.hpp"
#include "models/nccl/environment/settings.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// Settings of the Socket network (src/transport/net_socket.cc).
struct SocketSettings {
  int threads = 0;             ///< NCCL_SOCKET_NTHREADS: helpers; 0 = the proxy thread copies
  int sockets_per_thread = 1;  ///< NCCL_NSOCKS_PERTHREAD

  constexpr bool operator==(const SocketSettings&) const = default;
};

struct NetworkSettings {
  NetKind kind = NetKind::ib;
  SocketSettings sockets;
  int pieces = 1;  ///< of a message: work requests, on a queue pair each
  /// NICs that NCCL takes for one, whose number is that of the first (nic_fusion.hpp).
  std::vector<std::vector<int>> fused;
  bool flush_always = false;  ///< NCCL_NET_FORCE_FLUSH: on compute capability 9.0 and above, too
  bool flush_never = false;   ///< NCCL_GDR_FLUSH_DISABLE
  /// Slingshot: FI_CXI_RX_MATCH_MODE=software, and FI_HMEM_CUDA_USE_GDRCOPY other than 1.
  bool matches_in_software = false, copies_by_driver = false;
  bool injects = true;  ///< not FI_CXI_DISABLE_NON_INJECT_MSG_IDC
  /// FI_CXI_RDZV_THRESHOLD, FI_CXI_RDZV_GET_MIN; nothing = as the network's costs say.
  std::optional<Bytes> rendezvous_threshold, rendezvous_get_min;
  std::optional<Bytes> safe_copy;  ///< FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD

  /// The NICs that a number of NCCL's stands for.
  std::vector<int> members(int nic) const {
    for (const std::vector<int>& group : fused)
      if (std::ranges::find(group, nic) != group.end()) return group;
    return {nic};
  }

  bool operator==(const NetworkSettings&) const = default;
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
