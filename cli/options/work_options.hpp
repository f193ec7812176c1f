#pragma once
// The options that say what work is asked about, calls or a training step: the same in `whatif` and
// `advise`. And what options beside a layout file mean, the same everywhere.

#include <initializer_list>
#include <string>

#include "cli/options/job_options.hpp"
#include "models/studies/whatif/work.hpp"

namespace fabricast {

/// Throws Error: one of these options was given, which say what calls are asked about. REQUIRES:
/// --layout was given.
void refuse_beside_layout(const CLI::App& command, std::initializer_list<const char*> options);

/// The step of a layout file with what `command` was given in place of the file's topology, fabric,
/// GPUs of a node, release, own parts and nodes, as far as it has such options, and of single
/// variables. `topology` and `fabric` are what was typed. Throws Error.
StepConfig load_step_with(const std::string& layout, const CLI::App& command,
                          const JobOptions& options, const std::string& topology,
                          const std::string& fabric);

/// What was typed, before it means anything.
struct WorkOptions {
  JobOptions job;
  std::string topology, fabric, layout, collective, sizes;
  bool sharp = false;

  /// What `command` was given. A step has topology, nodes, version and variables from its layout
  /// file; options replace them. Throws Error.
  Work work(const CLI::App& command) const;
};

/// --topology, --fabric, --layout, --collective, --sizes, --sharp and the job's. What `options`
/// holds is what they are without.
void add_work_options(CLI::App& command, WorkOptions& options);

}  // namespace fabricast
