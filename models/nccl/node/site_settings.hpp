#pragma once
// Settings that come with a net plugin and not from the user.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/nccl/environment/env.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

using Settings = std::vector<std::pair<const char*, const char*>>;

/// `environment` and those of `settings` that the user did not set. One sentence in `warnings`
/// names them: "`who` NCCL_PROTO=Simple NCCL_NVLS_ENABLE=0."
Environment with_settings(const Environment& environment, const Settings& settings,
                          std::string_view who, std::vector<std::string>& warnings);

/// Visits each NIC of a node that is made of parts; nothing where NCCL wrote the node down.
void each_net(
    const NodeDescription& node,
    const std::function<void(const NodeDescription::Pci&, const NodeDescription::Net&)>& visit);

}  // namespace fabricast
