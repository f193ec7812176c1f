#pragma once
// The study behind `fabricast step --calls DIR`: traces of several ranks beside each other. Of each
// collective the wait for the last rank apart from the transfer, against what the simulator
// expects; of each step the slowest rank, and what of it the network could at best give back.

#include <optional>
#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/traces/rank_trace.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/job.hpp"
#include "models/studies/training/traced_calls.hpp"

namespace fabricast {

/// Collectives of one kind: name, size, group.
struct SkewRow {
  TracedLine line;  ///< the call, its ranks and bytes, what is expected
  std::size_t times = 0;
  // Microseconds; medians over calls. The wait is the mean of the ranks but the last.
  double wait_us = 0, wait_most_us = 0;
  double transfer_us = 0, transfer_p90_us = 0;
  double all_wait_us = 0, all_transfer_us = 0;  ///< summed over calls
  int slowest = -1;                             ///< rank that others wait for most,
  double slowest_share = 0;                     ///< and its share of all waits, 0..1
};

struct SkewStep {
  int number = 0;
  double time_us = 0;  ///< of ProfilerStep, the longest; of calls without one from first to last
  std::size_t calls = 0;
  int slowest = -1;      ///< rank that others wait for most
  std::size_t last = 0;  ///< of so many calls it came last
  double caused_us = 0;  ///< waits of the mean other rank for it
  // Exposed: while the GPU computes nothing. The mean rank's wait; the slowest rank's transfer,
  double wait_us = 0, transfer_us = 0;
  double above_us = 0;  ///< and what of that is more than expected
};

struct SkewRank {
  int rank = 0;
  std::string file;
  std::size_t calls = 0, last = 0;
  double caused_us = 0;                                 ///< waits of the mean other rank for it
  double wait_us = 0, transfer_us = 0, compute_us = 0;  ///< exposed; GPU busy
  bool clock_known = true;
  double offset_us = 0, drift_ppm = 0, residual_us = 0;
};

struct SkewResult {
  Job config;
  std::string folder;
  int world_size = 0;
  std::vector<int> missing;   ///< ranks of the job without a trace
  std::vector<SkewRow> rows;  ///< those with most time first
  std::vector<SkewStep> steps;
  std::vector<SkewRank> ranks;
  std::size_t calls = 0, part = 0;  ///< matched; of those so many with members missing
  std::size_t aligned_by = 0;
  double residual_us = 0, residual_most_us = 0;
  std::size_t early_ends = 0;  ///< ends before the last arrival: what clocks still are off,
  double early_most_us = 0;    ///< at most
  std::vector<std::string> notes;
};

/// Files of a folder that are traces of ranks, in the order of their names: *.json. Throws Error.
std::vector<std::string> trace_files(const std::string& folder);

/// Reads them, files side by side; what cannot be read is named in the notes. Throws Error where
/// fewer than two can.
std::vector<RankTrace> read_traces(const std::vector<std::string>& files,
                                   std::vector<std::string>& notes, const ForEach& for_each);

SkewResult find_skew(std::vector<RankTrace> traces, const std::string& folder, const Job& config,
                     const PartsCatalogue& parts, const ForEach& for_each = in_turn);

std::string skew_text(const SkewResult& result);
/// Tables: rows, steps, ranks.
Report skew_report(const SkewResult& result);

}  // namespace fabricast
