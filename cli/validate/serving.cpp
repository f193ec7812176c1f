#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/serving/validate_serving.hpp"

namespace fabricast {

namespace {

struct ServingOptions {
  MeasuredOptions measured;
  std::string parts, format = "text";
};

int run(const ServingOptions& options, const Answers& answers) {
  ValidateServingConfig config;
  config.measured = read_serving_rows(options.measured.text(), options.measured.file);
  config.leave_out = options.measured.leave_out;
  config.fit = options.measured.fit;
  const ServingValidation result =
      validate_serving(config, load_parts(options.parts), on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return validate_serving_text(result); },
      [&] { return validate_serving_report(result); });
  return kDone;
}

}  // namespace

void add_validate_serving(CLI::App& validate, Action& action) {
  auto options = std::make_shared<ServingOptions>();
  CLI::App* serving = validate.add_subcommand(
      "serving", "published latencies and throughputs of inference engines");
  add_measured_options(*serving, options->measured, "CSV of measured runs",
                       "predict each model by a fit that has not seen it, too");
  serving->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  add_answer_options(*serving, options->format);
  add_jobs_option(*serving);
  serving->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
