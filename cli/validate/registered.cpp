#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/validate_registered.hpp"

namespace fabricast {

namespace {

int answer_registered(const MeasuredOptions& options, const Answers& answers) {
  ValidateRegisteredConfig config;
  config.measured = read_registered_rows(options.text(), options.file());
  config.costs = load_engines();
  config.leave_out = options.leave_out;
  config.fit = options.fit;
  const PartsCatalogue parts = load_parts(options.parts);
  const ValidateRegisteredResult result =
      run_validate_registered(std::move(config), parts, on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return validate_registered_text(result); },
      [&] { return validate_registered_report(result); });
  return kDone;
}

}  // namespace

void add_validate_registered(CLI::App& validate, Action& action) {
  add_measured_command(validate, action,
                       {.name = "registered",
                        .about = "measured times of NCCL's symmetric kernels",
                        .rows = "CSV of measured kernels",
                        .unseen = "predict each topology by a fit that has not seen it, too",
                        .run = answer_registered});
}

}  // namespace fabricast
