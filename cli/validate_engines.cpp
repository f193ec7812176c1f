#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/validate_engines.hpp"

namespace fabricast {

namespace {

struct EnginesOptions {
  std::string file, parts, format = "text";
  bool leave_out = false, fit = false;
};

int run(const EnginesOptions& options, const Answers& answers) {
  ValidateEnginesConfig config;
  config.measured =
      read_engine_rows(read_text_file(options.file, "--file takes a CSV file"), options.file);
  config.costs = load_engines();
  config.leave_out = options.leave_out;
  config.fit = options.fit;
  const PartsCatalogue parts = load_parts(options.parts);
  const ValidateEnginesResult result =
      run_validate_engines(std::move(config), parts, on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return validate_engines_text(result); },
      [&] { return validate_engines_report(result); });
  return kDone;
}

}  // namespace

void add_validate_engines(CLI::App& validate, Action& action) {
  auto options = std::make_shared<EnginesOptions>();
  CLI::App* engines =
      validate.add_subcommand("engines", "published times of inference engines' all-reduces");
  engines->add_option("--file", options->file, "CSV of measured all-reduces")->required();
  engines->add_flag("--cross-validate", options->leave_out,
                    "predict each system by a fit that has not seen it, too");
  engines->add_flag("--fit", options->fit, "say what a fit to all rows gives");
  engines->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  add_answer_options(*engines, options->format);
  add_jobs_option(*engines);
  engines->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
