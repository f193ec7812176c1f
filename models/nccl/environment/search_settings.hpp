#pragma once
// The environment variables that act on paths and graph search.

#include <optional>
#include <string>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast {

/// As it is when nothing is set.
struct SearchSettings {
  int cross_nic = 2;                      ///< NCCL_CROSS_NIC: 0 never, 1 always, 2 where it helps
  bool p2p_disable = false;               ///< NCCL_P2P_DISABLE
  std::optional<PathType> p2p_level;      ///< NCCL_P2P_LEVEL
  bool shm_disable = false;               ///< NCCL_SHM_DISABLE
  std::optional<PathType> net_gdr_level;  ///< NCCL_NET_GDR_LEVEL
  std::optional<bool> net_gdr_read;       ///< NCCL_NET_GDR_READ
  bool net_gdr_c2c = true;                ///< NCCL_NET_GDR_C2C (2.27+)
  bool pxn_disable = false;               ///< NCCL_PXN_DISABLE
  std::optional<bool> pxn_c2c;            ///< NCCL_PXN_C2C: off in 2.27, on in 2.30
  bool nvb_disable = false;               ///< NCCL_NVB_DISABLE
  bool net_disable_intra = false;         ///< NCCL_NET_DISABLE_INTRA
  int nets_per_gpu = 0;  ///< NCCL_NETDEVS_POLICY (2.28.3): 0 AUTO, -1 ALL, n > 0 MAX:n
};

/// As the version reads them. What NCCL ignores or bends adds one sentence to `warnings`, beginning
/// with the variable.
SearchSettings read_search_settings(const Environment& environment, NcclVersion version,
                                    std::vector<std::string>& warnings);

}  // namespace fabricast
