#pragma once
// The options that say what work is asked about, calls or a training step: the same in `whatif` and
// `advise`.

#include <string>

#include "cli/options/job_options.hpp"
#include "models/studies/whatif/work.hpp"

namespace fabricast {

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
