#pragma once
// The machines of an upgrade, from a file:
//
//   targets:
//     - {topology: dgx-h100, nodes: "1..64"}
//     - {name: ours, topology: node.yaml, nodes: 8, environment: {NCCL_IB_HCA: mlx5}}

#include <string>
#include <vector>

#include "models/studies/upgrade/upgrade.hpp"

namespace fabricast {

/// The preset's name, or the file's without folder and ending.
std::string target_name(const std::string& topology);

/// `defaults`: what a target does not say. Throws Error.
std::vector<UpgradeTarget> load_upgrade_targets(const std::string& file,
                                                const UpgradeTarget& defaults);
std::vector<UpgradeTarget> parse_upgrade_targets(const std::string& text, const std::string& file,
                                                 const UpgradeTarget& defaults);

}  // namespace fabricast
