#pragma once
// The study behind `fabricast experts`: how long dispatch and combine of expert parallelism take,
// by whose kernels, and what limits them.

#include <functional>
#include <string>
#include <vector>

#include "models/experts/ep_run.hpp"
#include "models/experts/expert_call.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// The question. Defaults are those of `fabricast experts`.
struct ExpertsConfig : Job {
  std::vector<int> nodes;  ///< empty = what the topology says, else 1
  ExpertCall call;         ///< its tokens are one of those asked for
  std::vector<int> tokens = {128, 4096};
  std::vector<EpMode> modes = {EpMode::normal, EpMode::low_latency};
  std::vector<EpPhase> phases = {EpPhase::dispatch, EpPhase::combine};  ///< each once
  EpLaunch launch = EpLaunch::kernels;
  std::string kernels;           ///< file of costs in place of the shipped ones; "" = none
  std::string load = "uniform";  ///< how the weights of experts were asked for
};

/// Limits of what is asked.
inline constexpr int kExpertsMax = 4096, kTokensMax = 1 << 20, kHiddenMax = 1 << 16,
                     kEpRanksMax = 1024;

struct ExpertsRow {
  int nodes = 1, ranks = 1, tokens = 0;
  EpMode mode{};
  EpResult dispatch, combine;  ///< empty of a phase that is not asked for
  /// Tokens that reach the rank that gets most, over the average.
  double busiest = 1;

  const EpResult& of(EpPhase phase) const {
    return phase == EpPhase::dispatch ? dispatch : combine;
  }
};

struct ExpertsResult {
  ExpertsConfig config;
  std::string topology;
  std::vector<ExpertsRow> rows;  ///< by mode, then nodes, then tokens
  std::vector<std::string> notes;
};

/// GB/s as the kernels' own tests print them: of the time without notify and launch.
double printed_GBps(const EpResult& phase);

/// `poll`: called before each phase; what it throws ends the study. Throws Error.
ExpertsResult run_experts(const ExpertsConfig& config, const PartsCatalogue& parts,
                          const std::function<void()>& poll = {});

}  // namespace fabricast
