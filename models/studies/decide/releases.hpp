#pragma once
// Which releases of NCCL questions are answered for, and by whose rules.

#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/nccl/base/types.hpp"

namespace fabricast {

struct ReleaseRow {
  NcclVersion version, rules;
  /// Variables that NCCL reads in one of the two only; empty where they are the same release.
  std::vector<std::string> variables;
};

/// Of all known releases, oldest first.
std::vector<ReleaseRow> release_rows();

std::string releases_text(const std::vector<ReleaseRow>& rows);
Report releases_report(const std::vector<ReleaseRow>& rows);

}  // namespace fabricast
