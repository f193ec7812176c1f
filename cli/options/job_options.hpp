#pragma once
// The options that say what job is asked about: the same in every command.

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// What was typed, before it means anything.
struct JobOptions {
  std::optional<std::string> nodes;
  std::string parts, env_file, nccl = to_text(kDefaultNccl);
  std::vector<std::string> env;
  int gpus_per_node = 0;
  /// Variables that act here, though on nothing that other commands say.
  std::span<const std::string_view> also_acting{};

  NcclVersion version() const;
  /// Empty when not given.
  std::vector<int> node_counts() const;
  /// Names on stderr what does not act: what idle_variables() says, and variables that only this
  /// shell has, as a prediction must not depend on the shell it is made in.
  Environment environment() const;
  /// On this topology and fabric. Throws Error.
  Job job(const std::string& topology, const std::string& fabric = {}, bool sharp = false) const {
    return {topology, fabric, gpus_per_node, sharp, version(), environment(), nullptr, parts};
  }
};

/// One line for each NCCL_ name that changes nothing here: by whom it is read, if not by NCCL of
/// this release, and what may have been meant.
std::vector<std::string> idle_variables(const Environment& environment, NcclVersion version);

/// --nccl, --env, --env-file.
void add_environment_options(CLI::App& command, JobOptions& options);
/// These and --nodes, --gpus-per-node, --parts.
void add_job_options(CLI::App& command, JobOptions& options);

}  // namespace fabricast
