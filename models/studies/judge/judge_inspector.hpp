#pragma once
// What the Inspector recorded of a job, held against what its machine should do: the verdicts and
// causes of `judge`, one communicator and collective at a time.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/judge/inspected_run.hpp"
#include "models/studies/judge/judge.hpp"

namespace fabricast {

/// Sizes of one collective on one shape of communicators that are simulated, those that take most
/// of the time.
inline constexpr std::size_t kInspectedSizesMax = 12;

struct InspectorRequest {
  Job job;                    ///< topology and settings
  bool release_said = false;  ///< by the user: another one is no suspect
  std::string source;         ///< folder or file, for messages
};

/// Rows of one communicator and collective.
struct InspectedJudgement {
  std::vector<std::size_t> rows;  ///< of the run, in the order of the result's rows
  JudgeResult result;
};

struct InspectedRowVerdict {
  std::optional<std::size_t> judgement;  ///< its number; nothing: not judged
  std::size_t row = 0;                   ///< in its result
  std::string why_not;                   ///< it is not judged
  /// What is wrong first, "" = nothing: a setting that NCCL took otherwise, a cause of `judge`, a
  /// rank that comes last.
  std::string suspect;
};

struct JudgedInspection {
  InspectorRequest request;
  InspectedRun run;
  std::vector<InspectedJudgement> judgements;
  std::vector<InspectedRowVerdict> verdicts;  ///< for each row of the run
  std::vector<std::string> notes;

  const JudgeRow* judged(std::size_t row) const;
  /// Limits of the expected time: the band, and for a range of sizes as much more.
  double lower_us(std::size_t row) const;
  double upper_us(std::size_t row) const;
};

JudgedInspection judge_inspection(InspectedRun run, const InspectorRequest& request,
                                  const PartsCatalogue& parts, const BandTable& bands,
                                  const ForEach& for_each);

std::string inspection_text(const JudgedInspection& judged);
/// Tables: rows, causes.
Report inspection_report(const JudgedInspection& judged);
/// For Prometheus, as node_exporter's textfile collector reads it: what is expected, with the
/// labels of what was measured; of JSON what was measured, too.
std::string inspection_metrics(const JudgedInspection& judged);

/// GB/s of a row of the run that takes so long.
double busbw_of(const InspectedRow& row, double time_us);

}  // namespace fabricast
