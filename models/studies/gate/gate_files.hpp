#pragma once
// Floors as other programs take them: a shell script around nccl-tests, a constraint of AICR,
// alert rules of Prometheus; and what was held against them as JUnit's XML.

#include <string>
#include <vector>

#include "models/studies/gate/gate.hpp"
#include "models/studies/judge/judge_text.hpp"

namespace fabricast {

/// The command that asks for the same again.
std::string gate_command(const GateResult& result);

/// Runs nccl-tests and ends with 0 = passes, 1 = does not, 2 = nothing was measured. POSIX shell
/// and awk. By the verdict of `gate --check`: at most one row in ten is slower than its floor, and
/// no value is wrong.
std::string gate_script(const GateResult& result);

/// The performance phase of an AICR overlay (NVIDIA/aicr, docs/contributor:
/// validation.performance): the floor of all_reduce at the largest size, which is the row that
/// AICR's validator takes. Throws Error unless there is one number of nodes, and all_reduce among
/// the collectives.
std::string gate_aicr(const GateResult& result);
/// AICR's validator lets this share of a constraint pass (validators/performance/
/// nccl_all_reduce_bw_constraint.go: bandwidth >= threshold * 0.9).
inline constexpr double kAicrTolerance = 0.9;

/// Rules over nccl_bus_bandwidth_gbs of NCCL Inspector (NCCL 2.30, NCCL_INSPECTOR_PROM_DUMP=1;
/// plugins/profiler/inspector/inspector_prom.cc), for collectives that it names and that NCCL
/// tunes. Throws Error where there is none.
std::string gate_alerts(const GateResult& result);
/// Inspector's label of messages of so many bytes: "1-2GB" from 1 GiB to 2 GiB.
std::string inspector_size(std::int64_t bytes);

/// A suite for each table: a case for its verdict, and one for each row, which fails where its
/// suite does.
std::string gate_junit(const std::vector<JudgedTable>& tables);

}  // namespace fabricast
