#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/validate_registered.hpp"

namespace fabricast {

namespace {

struct RegisteredOptions {
  std::string file, parts, format = "text";
  bool leave_out = false, fit = false;
};

int run(const RegisteredOptions& options, const Answers& answers) {
  ValidateRegisteredConfig config;
  config.measured =
      read_registered_rows(read_text_file(options.file, "--file takes a CSV file"), options.file);
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
  auto options = std::make_shared<RegisteredOptions>();
  CLI::App* registered =
      validate.add_subcommand("registered", "measured times of NCCL's symmetric kernels");
  registered->add_option("--file", options->file, "CSV of measured kernels")->required();
  registered->add_flag("--cross-validate", options->leave_out,
                       "predict each topology by a fit that has not seen it, too");
  registered->add_flag("--fit", options->fit, "say what a fit to all rows gives");
  registered->add_option("--parts", options->parts,
                         "YAML file of own parts, on top of the catalogue");
  add_answer_options(*registered, options->format);
  add_jobs_option(*registered);
  registered->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
