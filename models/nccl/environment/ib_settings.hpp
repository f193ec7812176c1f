#pragma once
// What NCCL asks of InfiniBand or RoCE, as far as it acts on the network's rungs.

#include <string>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast {

struct IbSettings {
  int queue_pairs = 1;    ///< NCCL_IB_QPS_PER_CONNECTION
  bool split = false;     ///< NCCL_IB_SPLIT_DATA_ON_QPS
  int service_level = 0;  ///< NCCL_IB_SL, of InfiniBand
  int traffic_class = 0;  ///< NCCL_IB_TC, of RoCE
};

/// NCCL's defaults where nothing is set (2.21 to 2.30: src/transport/net_ib.cc, since 2.28
/// src/transport/net_ib/connect.cc and common.cc).
IbSettings read_ib_settings(const Environment& environment, NcclVersion version,
                            std::vector<std::string>& warnings);

}  // namespace fabricast
