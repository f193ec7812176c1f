#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/options/slices_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/bands/read_measured.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/accuracy/left_out.hpp"
#include "models/studies/accuracy/validate_text.hpp"

namespace fabricast {

namespace {

struct ValidateOptions {
  std::string points, runs, pairs, parts, node_of;
  std::string predictor = "simulation", format = "text";
  int slices_max = 500'000;  // a minute of CPU time for 12,000 points
};

/// The node that a run is simulated on, as a topology file.
int show_node(const ValidateOptions& options, const Measurements& measured,
              const PartsCatalogue& parts) {
  for (const MeasuredRun& run : measured.runs) {
    if (run.id != options.node_of) continue;
    const MappedRun mapped = map_run(run, parts);
    print_out("{}", topo_yaml(NodeGraph::build(compose_node(mapped.shape, parts), parts), parts));
    return kDone;
  }
  throw Error(option_place("--node-of"),
              fmt::format("no run \"{}\" in {}", options.node_of, options.runs));
}

int run(const ValidateOptions& options, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.parts);
  ValidateConfig config;
  config.kernels = load_engines();
  config.measured =
      load_measurements(options.runs, options.points, options.pairs, BadRows::leave_out);
  if (!options.node_of.empty()) return show_node(options, config.measured, parts);
  config.predictor = kPredictorWords.parse("predictor", options.predictor);
  config.slices_max = options.slices_max;
  config.weighs_messages = true;
  const Calibrated calibrated = load_calibrated(options.parts);
  config.bands = calibrated.bands;
  if (config.predictor == Predictor::simulation) {
    config.left_out = left_out_catalogues(calibrated, config.measured);
    config.left_out_bands = calibrated.left_out.bands;
  }
  ValidateResult result;
  {
    Progress progress(answers);
    Passes passes(progress.callback(), {0.1, 0.85});
    result = run_validate(std::move(config), parts, on_all_cores(answers, passes));
  }
  print_err("{}", left_out_text(result));
  answers.give(
      options.format, [&] { return validate_text(result); },
      [&] { return validate_report(result); });
  return kDone;
}

}  // namespace

void add_validate_nccl_tests(CLI::App& validate, Action& action) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* command =
      validate.add_subcommand("nccl-tests", "published runs of nccl-tests, or your own");
  command->add_option("--points", options->points, "CSV of measured rows")->required();
  command->add_option("--runs", options->runs, "CSV of runs: hardware and settings")->required();
  command->add_option("--pairs", options->pairs,
                      "CSV of runs that differ in one thing, with measured ratios");
  command->add_option("--predictor", options->predictor, "what predicts")
      ->check(one_of(kPredictorWords.list(), "predictor"))
      ->capture_default_str();
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  add_slices_option(*command, options->slices_max);
  command->add_option("--node-of", options->node_of,
                      "print the node that this run is simulated on, as a topology file");
  add_parts_option(*command, options->parts);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
