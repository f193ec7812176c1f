#pragma once
// The options that say what dispatch and combine of expert parallelism are asked about: those of
// `experts`, and of `bench --collective ep_dispatch,ep_combine`.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/job_options.hpp"
#include "models/studies/experts/experts.hpp"

namespace fabricast {

/// What was typed, before it means anything.
struct ExpertOptions {
  std::string tokens = "128,4096", modes = "normal,low-latency", dtype = "fp8", load = "uniform",
              kernels;
  int hidden = 7168, top_k = 8, experts = 256, groups = 1, top_groups = 0, sms = 24;
  std::vector<const CLI::Option*> added;  ///< by add_expert_options()

  /// Of this job. Throws Error.
  ExpertsConfig config(const JobOptions& job, const std::string& topology,
                       const std::string& fabric, int seed) const;
  /// The first of them, in the order of --help, that was given.
  std::optional<std::string> given() const;
};

/// All but --seed. `group`: the heading of --help that they stand under; "" = the first one.
void add_expert_options(CLI::App& command, ExpertOptions& options, const std::string& group = {});

/// What --collective asks for, if it is not NCCL's: "ep_dispatch,ep_combine". Throws Error.
std::optional<std::vector<EpPhase>> expert_phases(const std::string& collectives);

}  // namespace fabricast
