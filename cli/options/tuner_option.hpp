#pragma once
// The option --tuner: a tuner plugin that replaces NCCL's choice.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "models/hardware/parts/parts.hpp"
#include "models/nccl/tuner/tuner_plugin.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

void add_tuner_option(CLI::App& command, std::string& tuner);
/// Loads what the option names, for this job, and hands it to the job. nullptr when it is not
/// given. Throws Error.
std::unique_ptr<const TunerPlugin> load_tuner_for(Job& job, const std::string& tuner,
                                                  const PartsCatalogue& parts);

}  // namespace fabricast
