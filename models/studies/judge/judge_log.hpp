#pragma once
// From a table of somebody's log to what `judge` holds it against: what the log itself says counts,
// what the user adds must not contradict it.

#include <optional>
#include <string>

#include "models/studies/judge/judge.hpp"
#include "models/studies/judge/log_facts.hpp"

namespace fabricast {

/// What the user says of the machine and the run.
struct JudgeRequest {
  std::string topology, fabric;
  int nodes = 0, gpus_per_node = 0;  ///< 0 = not said
  bool sharp = false;
  std::optional<Collective> collective;
};

/// Rows with a size and a time: out of place, or in place where only that was run. Not those whose
/// values were wrong: their times mean nothing.
std::vector<JudgedRow> judged_rows(const NcclTestsTable& table);

/// By a row, or by the sum at the end.
bool has_wrong_values(const NcclTestsTable& table);

/// `file`: in messages, and for what its name says. Release and environment are left to the caller.
/// Throws Error where the log does not say enough, or contradicts the request.
JudgeConfig judge_config(const NcclTestsTable& table, const std::string& file,
                         const JudgeRequest& request, const PartsCatalogue& parts);

}  // namespace fabricast
