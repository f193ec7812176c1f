#pragma once
// Names of networks as NCCL_NET and NCCL's "Using network" have them.

#include <string_view>

#include "models/hardware/parts/networks.hpp"

namespace fabricast {

/// "IB", "Socket", "FasTrak": several kinds may share one.
std::string_view net_name(NetKind kind);
/// Letters of either case are alike, as in NCCL_NET.
bool is_net_name(NetKind kind, std::string_view name);

}  // namespace fabricast
