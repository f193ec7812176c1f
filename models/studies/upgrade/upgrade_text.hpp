#pragma once
// Texts of `fabricast upgrade`.

#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/upgrade/upgrade.hpp"

namespace fabricast {

struct UpgradePage {
  bool all = false;     ///< every change, not only the largest
  bool bisect = false;  ///< which release changed what
};

/// "1 call runs", "2 calls run".
std::string calls_run(int calls);
std::string upgrade_text(const UpgradeResult& result, const UpgradePage& page);
Report upgrade_report(const UpgradeResult& result);
/// For a pull request: a table a target.
std::string upgrade_markdown(const UpgradeResult& result);
/// A test for each target and collective, which fails where a call takes longer by more than
/// `fail_over` (0.05 = 5 %; nothing = never), or runs otherwise and nobody knows how long.
std::string upgrade_junit(const UpgradeResult& result, std::optional<double> fail_over);

}  // namespace fabricast
