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
  /// Names on stderr variables that only this shell has, as a prediction must not depend on the
  /// shell it is made in.
  Environment variables() const;
  /// The same; names also what does not act in version().
  Environment environment() const;
  /// On this topology and fabric. Throws Error.
  Job job(const std::string& topology, const std::string& fabric = {}, bool sharp = false) const {
    return {topology, fabric, gpus_per_node, sharp, version(), environment(), nullptr, parts};
  }
};

/// Names on stderr each NCCL_ variable of the jobs that changes nothing: by whom it is read, if not
/// by NCCL of the job's release, and what may have been meant. Each line once.
void say_what_does_not_act(std::span<const Job> jobs);

/// Sets what the file says: NAME=value lines. `option` named it. Throws Error.
void set_from_file(const std::string& path, std::string_view option, Environment& out);

/// --gpus-per-node.
void add_gpus_option(CLI::App& command, JobOptions& options);
/// --env, --env-file.
void add_variables_options(CLI::App& command, JobOptions& options);
/// These and --nccl.
void add_environment_options(CLI::App& command, JobOptions& options);
/// All of them, and --nodes, --parts.
void add_job_options(CLI::App& command, JobOptions& options);

}  // namespace fabricast
