#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/options/slices_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/bands/read_measured.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/accuracy/left_out.hpp"
#include "models/studies/gate/gate_rates.hpp"

namespace fabricast {

namespace {

struct ValidateGateOptions {
  std::string points, runs, sick_points, sick_runs, parts, format = "text";
  int slices_max = kPredictedSlicesMax;
};

int run(const ValidateGateOptions& options, const Answers& answers) {
  if (options.sick_points.empty() != options.sick_runs.empty())
    throw Error(about("--sick-runs"), "--sick-runs and --sick-points belong together",
                "give both or none");
  const PartsCatalogue parts = load_parts(options.parts);
  ValidateConfig config;
  config.measured = load_measurements(options.runs, options.points, "");
  const std::size_t first_sick = config.measured.runs.size();
  if (!options.sick_runs.empty())
    config.measured = together(std::move(config.measured),
                               load_measurements(options.sick_runs, options.sick_points, ""));
  config.slices_max = options.slices_max;
  const Calibrated calibrated = load_calibrated(options.parts);
  config.left_out = left_out_catalogues(calibrated, config.measured);
  Progress progress(answers);
  Passes passes(progress.callback(), {0.1, 0.85});
  const ValidateResult result =
      run_validate(std::move(config), parts, on_all_cores(answers, passes));
  const GateRates rates = rate_gates(result, first_sick, calibrated, parts);
  answers.give(
      options.format, [&] { return gate_rates_text(rates); },
      [&] { return gate_rates_report(rates); });
  return kDone;
}

}  // namespace

void add_validate_gate(CLI::App& validate, Action& action) {
  auto options = std::make_shared<ValidateGateOptions>();
  CLI::App* command = validate.add_subcommand(
      "gate", "how often floors are wrong: healthy runs that fail, sick ones that pass");
  command->add_option("--points", options->points, "CSV of measured rows")->required();
  command->add_option("--runs", options->runs, "CSV of healthy runs")->required();
  command->add_option("--sick-points", options->sick_points,
                      "the same of runs that were posted as a problem");
  command->add_option("--sick-runs", options->sick_runs, "CSV of those runs");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  add_slices_option(*command, options->slices_max);
  add_parts_option(*command, options->parts);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
