#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/bands/read_measured.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/accuracy/calibrate_text.hpp"
#include "models/studies/accuracy/own_runs.hpp"
#include "models/studies/accuracy/read_recipe.hpp"
#include "models/studies/accuracy/validate_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

struct CalibrateOptions {
  std::string recipe, out, predictions, leave_out, my_runs, my_points;
  bool cross_validate = false, try_my_runs = false;
  int my_rows = 20;
  int slices_max = 4'000, slices_max_final = 100'000;
};

constexpr std::string_view kEditorsWords = "# yaml-language-server:";

/// The line by which editors find the schema of the file that is written anew; "" where it has
/// none. Of a device (/dev/zero) a line would never end.
std::string editors_line(const std::string& file) {
  std::ifstream in(file);
  std::string line(kEditorsWords.size(), '\0');
  if (!in.read(line.data(), static_cast<std::streamsize>(line.size())) || line != kEditorsWords)
    return "";
  std::string rest;
  std::getline(in, rest);
  return line + rest + '\n';
}

std::string remark(const CalibrateOptions& options, const CalibrateResult& result) {
  return fmt::format(
      "{}# Made by `fabricast calibrate {}{}`{}, not by hand: fitted to\n"
      "# {} points of {} runs from {} sources. `catalogue` is the value in topologies/parts.yaml,\n"
      "# low and high are a 90 % interval, `runs` how many depend on it.{}\n",
      editors_line(options.out), line_text(options.recipe),
      options.cross_validate ? " --cross-validate" : "",
      options.my_runs.empty() ? "" : " from the shipped values and the rows of --my-runs alone",
      result.points, result.runs, result.sources,
      options.cross_validate
          ? " Bands are factors on a\n# predicted time, of runs whose source the "
            "fit had not seen."
          : "");
}

CalibrateConfig config_of(const CalibrateOptions& options) {
  CalibrateConfig out;
  out.recipe = load_recipe(options.recipe);
  const bool own = !options.my_runs.empty();
  out.measured = load_measurements(own ? options.my_runs : out.recipe.runs,
                                   own ? options.my_points : out.recipe.points, {});
  if (!own && !out.recipe.unseen_runs.empty()) {
    Measurements unseen = load_measurements(out.recipe.unseen_runs, out.recipe.unseen_points, {});
    for (MeasuredRun& run : unseen.runs) run.fitted = false;
    out.measured = together(std::move(out.measured), std::move(unseen));
  }
  out.slices_max = options.slices_max;
  out.slices_max_final = options.slices_max_final;
  out.leave_out = options.leave_out;
  out.cross_validate = options.cross_validate;
  if (own) out.start = shipped_calibrated();
  return out;
}

void say(const std::string& line) { print_err("{}\n", line); }

int run(const CalibrateOptions& options, const CLI::App& command, const Answers& answers) {
  if (options.cross_validate && !options.leave_out.empty())
    throw Error(about("--cross-validate"),
                "--cross-validate leaves each source out in turn: --leave-out does not go with it");
  if (!options.predictions.empty() && !options.cross_validate && options.leave_out.empty())
    throw Error(about("--predictions"), "--predictions needs --cross-validate or --leave-out");
  Outputs outputs(command);
  if (options.my_runs.empty() != options.my_points.empty())
    throw Error(about("--my-runs"),
                "--my-runs and --my-points go together: the runs, and their rows");
  if (!options.my_runs.empty() && (options.cross_validate || !options.leave_out.empty()))
    throw Error(about("--my-runs"),
                "--my-runs goes on from the shipped fit: no source of it is left out");
  CalibrateConfig config = config_of(options);
  if (options.try_my_runs) {
    print_out("fabricast calibrate: {} own rows at most, errors of the rest of each source\n{}",
              options.my_rows,
              own_runs_text(run_own_runs(config, shipped_calibrated(), options.my_rows,
                                         on_all_cores(answers, {}), say)));
    return kDone;
  }
  const CalibrateResult result = run_calibrate(std::move(config), on_all_cores(answers, {}), say);
  if (!options.out.empty())
    outputs.write(options.out, calibrated_yaml(calibrated_of(result), remark(options, result)));
  if (!options.predictions.empty())
    outputs.write(options.predictions, report_csv(validate_report(*result.unseen)));
  outputs.commit();
  print_out("{}", calibrate_text(result));
  answers.give([&] { return calibrate_report(result); });
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      app.add_subcommand("calibrate", "fit physical parameters to measured runs of nccl-tests");
  command->add_option("recipe", options->recipe, "YAML file: parameters, bounds, data")->required();
  add_html_option(*command);
  add_jobs_option(*command);
  CLI::Option* const out =
      add_output_option(*command, "--out", options->out,
                        "write the calibrated values, for --parts of other commands");
  CLI::Option* const left = command->add_option(
      "--leave-out", options->leave_out, "a source_key: fit without its runs, then predict them");
  CLI::Option* const all =
      command->add_flag("--cross-validate", options->cross_validate,
                        "refit without each source in turn and predict its runs: gives bands");
  CLI::Option* const predictions =
      add_output_option(*command, "--predictions", options->predictions,
                        "write what was predicted for runs that were left out, as validate's CSV");
  CLI::Option* const own = command->add_option("--my-runs", options->my_runs,
                                               "runs of your cluster, as CSV: the shipped values "
                                               "go on from where they are with these alone");
  command->add_option("--my-points", options->my_points, "and their rows");
  CLI::Option* const trial = command->add_flag(
      "--try-my-runs", options->try_my_runs,
      "what own rows are worth: each source of the recipe's runs in turn as yours");
  trial->excludes(own)->excludes(out)->excludes(predictions)->excludes(left)->excludes(all);
  command->add_option("--my-rows", options->my_rows, "of --try-my-runs: so many rows at most")
      ->check(whole_number(1, 1'000))
      ->capture_default_str();
  command
      ->add_option("--slices-max", options->slices_max,
                   "calls that take more slices to simulate are not fitted to")
      ->check(whole_number(1, 2'000'000'000))
      ->capture_default_str();
  command
      ->add_option("--slices-max-final", options->slices_max_final,
                   "runs that were left out: extrapolate above so many")
      ->check(whole_number(1, 2'000'000'000))
      ->capture_default_str();
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
