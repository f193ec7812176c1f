#pragma once
// What `fabricast judge` found, for people and programs.

#include <string>

#include "models/io/report/report.hpp"
#include "models/studies/judge/judge_targets.hpp"

namespace fabricast {

/// One table of a log. `source`: where it is from, "log.txt, table 2".
struct JudgedTable {
  std::string source;
  JudgeResult result;
  std::vector<JudgedTarget> targets;
};

std::string judge_text(const JudgedTable& table);
/// Tables: rows, tables (of the log), causes, cause_times, excluded_causes, targets. REQUIRES: at
/// least one table.
Report judge_report(const std::vector<JudgedTable>& tables);

}  // namespace fabricast
