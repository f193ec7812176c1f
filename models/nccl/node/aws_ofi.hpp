#pragma once
// What aws-ofi-nccl, the net plugin that serves EFA, does to a node and its environment before NCCL
// looks at them (aws/aws-ofi-nccl, src/platform-aws.cpp at commit 01666ece, src/nccl_ofi_topo.c at
// 16fe0e11). It knows nodes made of parts; what NCCL wrote down itself has been through it.

#include <string>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// `environment` and what the plugin sets where the user did not: sizes of buffers and chunks; from
/// EFA v2 on no flush; NVLS off before 2.18.5; on EFA v1, which may deliver out of order,
/// NCCL_PROTO=simple. One sentence in `warnings` names what was set. As it is where no NIC is EFA's
/// or NCCL_NET_PLUGIN=none.
Environment with_aws_ofi(const Environment& environment, const NodeDescription& node,
                         NcclVersion version, std::vector<std::string>& warnings);

/// Whether it writes into remote memory (OFI_NCCL_PROTOCOL; EFA v2 and later unless set): then it
/// shows the NICs that stand beside one GPU as one, its rails.
bool joins_rails(const Environment& environment, const NodeDescription& node);

}  // namespace fabricast
