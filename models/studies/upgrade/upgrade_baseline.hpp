#pragma once
// An upgrade beside the answer of an earlier run: a regression test of the next release, of
// machines and of releases of this program.

#include <string>
#include <vector>

#include "models/studies/upgrade/upgrade.hpp"

namespace fabricast {

/// A stretch of sizes that is not as it was.
struct UpgradeDrift {
  std::string where;  ///< "dgx-h100, all_reduce on 4 nodes from 256 MiB"
  /// "Ring Simple to NVLSTree, +19.8 %", "runs as before", "not asked then"
  std::string before, after;
};

/// `text`: what `upgrade --json` wrote. Times may differ by `tolerance` (0.02 = 2 %). Throws Error
/// with the file.
std::vector<UpgradeDrift> compare_upgrade(const UpgradeResult& result, const std::string& text,
                                          const std::string& file, double tolerance);

std::string drift_text(const std::vector<UpgradeDrift>& drifts, const std::string& file);

}  // namespace fabricast
