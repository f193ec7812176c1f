#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/validate_registered.hpp"

namespace fabricast {

namespace {

struct RegisteredOptions {
  MeasuredOptions measured;
  std::string parts, format = "text";
};

int run(const RegisteredOptions& options, const Answers& answers) {
  ValidateRegisteredConfig config;
  config.measured = read_registered_rows(options.measured.text(), options.measured.file);
  config.costs = load_engines();
  config.leave_out = options.measured.leave_out;
  config.fit = options.measured.fit;
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
  auto options = std::make_shared<RegisteredOptions>();
  CLI::App* registered =
      validate.add_subcommand("registered", "measured times of NCCL's symmetric kernels");
  add_measured_options(*registered, options->measured, "CSV of measured kernels",
                       "predict each topology by a fit that has not seen it, too");
  registered->add_option("--parts", options->parts,
                         "YAML file of own parts, on top of the catalogue");
  add_answer_options(*registered, options->format);
  add_jobs_option(*registered);
  registered->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
