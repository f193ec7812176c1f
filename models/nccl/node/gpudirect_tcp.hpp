#pragma once
// The settings that jobs need which use Google's net plugins GPUDirect-TCPX (A3 High) and TCPXO
// (A3 Mega): nccl-env-profile.sh, which comes with TCPXO's plugin, and what Google's tests of TCPX
// set (GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/README.md, releases of
// April 2024 to January 2026, and gpudirect-tcpx/nccl-config.yaml). TCPXO's plugin checks them and
// ends a job that has others.

#include <string>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// `environment` and those of the settings that act here and that the user did not set. They went
/// with NCCL's release: with 2.21 Simple alone and no NVLS, from 2.23 on LL128, too, from 2.26 on
/// NVLS. One sentence in `warnings` names what was set. As it is where the node is not made of
/// parts, no NIC is one of these, or NCCL_NET or NCCL_NET_PLUGIN=none ask for another network.
Environment with_gpudirect_tcp(const Environment& environment, const NodeDescription& node,
                               NcclVersion version, std::vector<std::string>& warnings);

}  // namespace fabricast
