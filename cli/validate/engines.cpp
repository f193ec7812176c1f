#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/validate_engines.hpp"

namespace fabricast {

namespace {

struct EnginesOptions {
  MeasuredOptions measured;
  std::string parts, format = "text";
};

int run(const EnginesOptions& options, const Answers& answers) {
  ValidateEnginesConfig config;
  config.measured = read_engine_rows(options.measured.text(), options.measured.file);
  config.costs = load_engines();
  config.leave_out = options.measured.leave_out;
  config.fit = options.measured.fit;
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
  add_measured_options(*engines, options->measured, "CSV of measured all-reduces",
                       "predict each system by a fit that has not seen it, too");
  engines->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  add_answer_options(*engines, options->format);
  add_jobs_option(*engines);
  engines->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
