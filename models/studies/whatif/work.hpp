#pragma once
// What a job asks of NCCL, a list of calls or a training step, apart from what it asks it on: so
// that `whatif` and `advise` change the one and leave the other.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/studies/bench/known_calls.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast {

/// Sizes and collectives, or a training step.
using Work = std::variant<BenchConfig, StepConfig>;

inline bool is_step(const Work& work) { return std::holds_alternative<StepConfig>(work); }
Job job_of(const Work& work);
/// Numbers of nodes that it names; none = the topology's own.
std::vector<int> nodes_of(const Work& work);
Work with_job(Work work, const Job& setup);

/// One call, or the step.
struct WorkRow {
  std::string what;                      ///< "1 GiB all_reduce on 16 ranks, 2 nodes"
  std::optional<Collective> collective;  ///< nothing: a step
  int nodes = 1, ranks = 1;
  Bytes size;  ///< as asked for; 0 of a step
  double time_us = 0;
  double busbw_GBps = 0;    ///< 0 of a step
  double tokens_per_s = 0;  ///< of a step, all GPUs
  std::string choice;       ///< "Tree LL128, 16 channels"; of a step what is exposed: "DP 2.854 s"
};

/// The work under one setup.
struct WorkRun {
  std::vector<WorkRow> rows;
  std::vector<std::string> notes;
  // Either of them.
  std::optional<BenchResult> bench;
  std::optional<StepResult> step;
};

/// `explain`: mechanism() will be asked. Throws Error.
WorkRun run_work(const Work& work, const PartsCatalogue& parts, bool explain);
/// The same of works that differ by environment alone, as far as `known` keeps it: a call that they
/// have in common is simulated once.
WorkRun run_work(const Work& work, const PartsCatalogue& parts, bool explain, KnownCalls& known);

/// Why row `row` takes another time in `after`; "" when nothing changes. REQUIRES: both explained,
/// the same work.
std::string mechanism(const WorkRun& before, const WorkRun& after, std::size_t row);

/// Of the time of a row, by what was measured of the like; nothing of a step.
std::optional<FoundBand> band_of(const WorkRun& run, std::size_t row, const BandTable& bands);

/// Throws Error where they have other rows: sizes that one of them rounds down to nothing, or other
/// numbers of ranks.
void check_same_rows(const WorkRun& before, const WorkRun& after);

}  // namespace fabricast
