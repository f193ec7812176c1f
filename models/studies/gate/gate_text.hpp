#pragma once
// Floors and what was held against them, for people and programs.

#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/gate/gate.hpp"
#include "models/studies/judge/judge_text.hpp"

namespace fabricast {

std::string gate_text(const GateResult& result);
/// Tables: rows, a line for each floor; faults, a line for each fault under each floor.
Report gate_report(const GateResult& result);

/// Logs that judge_rows() held against floors. REQUIRES: at least one; each with a healthy_share.
std::string gate_check_text(const std::vector<JudgedTable>& tables);
/// Tables: rows, tables (of the logs), causes of those that fail.
Report gate_check_report(const std::vector<JudgedTable>& tables);
bool all_pass(const std::vector<JudgedTable>& tables);

/// "all_reduce on 2 x dgx-h100, 16 ranks"
std::string what_text(Collective collective, int nodes, const std::string& topology, int ranks);
/// "NVLSTree Simple x16"
std::string choice_text(const JudgeRow& row);
/// "95", "97.5"
std::string per_cent(double share);

}  // namespace fabricast
