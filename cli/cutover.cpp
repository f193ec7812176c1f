
#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options/budget_option.hpp"
#include "cli/options/engine_option.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/nccl_tests.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/tuner_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/algorithms/read_algorithm.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/cutover/cutover_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct CutoverOptions {
  JobOptions job;
  std::vector<std::string> algorithm_files;
  std::string topology, fabric, tuner, collective = "all_reduce", sizes = "8B..16GiB",
                                       format = "text";
  std::string engine = kNoEngine, registered = "0";
  int slices_max = 1'000'000;
  bool sharp = false, sensitivity = false;
  BudgetOption budget;
};

CutoverConfig config(const CutoverOptions& options, const CLI::App& command,
                     const std::vector<CustomAlgorithm>& algorithms) {
  CutoverConfig out;
  out.nodes = options.job.node_counts();
  static_cast<Job&>(out) = options.job.job(options.topology, options.fabric, options.sharp);
  const auto collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  if (collectives.size() != 1) throw Error(option_place("--collective"), "one at a time");
  out.collective = collectives.front();
  out.sizes = sizes_from_option(options.sizes);
  std::ranges::sort(out.sizes);
  for (const CustomAlgorithm& algorithm : algorithms) out.custom.push_back(&algorithm);
  out.engines = engines_from_option(options.engine);
  out.registered = registered_from_option(options.registered);
  out.slices_max = options.slices_max;
  out.budget = options.budget.wanted(command);
  return out;
}

int run(const CutoverOptions& options, const CLI::App& command, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.job.parts);
  std::vector<CustomAlgorithm> algorithms;
  for (const std::string& file : options.algorithm_files)
    algorithms.push_back(load_algorithm(file));
  CutoverConfig asked = config(options, command, algorithms);
  const auto tuner = load_tuner_for(asked, options.tuner, parts);
  CutoverResult result;
  std::vector<CutoverVariant> variants;
  {
    Progress progress(answers);
    const std::size_t pieces = options.sensitivity ? 2 : 1;
    Passes passes(piece_of(progress.callback(), 0, pieces), {0.1, 0.5, 0.3});
    result = run_cutover(asked, parts, on_all_cores(answers, passes));
    if (options.sensitivity) {
      Passes varied(piece_of(progress.callback(), 1, pieces), {0.02, 0.15, 0.08, 0.02, 0.15, 0.08});
      variants = cutover_sensitivity(asked, parts, on_all_cores(answers, varied));
    }
  }
  answers.give(
      options.format, [&] { return cutover_text(result, variants); },
      [&] { return cutover_report(result, variants); });
  return kDone;
}

}  // namespace

void add_cutover(CLI::App& app, Action& action) {
  auto options = std::make_shared<CutoverOptions>();
  CLI::App* command = app.add_subcommand(
      "cutover", "which algorithm and protocol is fastest at which size, and what NCCL takes");
  add_topology_option(*command, options->topology)->required();
  add_fabric_option(*command, options->fabric);
  add_job_options(*command, options->job);
  command
      ->add_option("--collective", options->collective,
                   "all_reduce, all_gather, reduce_scatter, broadcast or reduce")
      ->capture_default_str();
  add_sizes_option(*command, options->sizes);
  command
      ->add_option("--algorithm-file", options->algorithm_files,
                   "beside NCCL's own: MSCCL's XML, or YAML of chunks and steps; may be repeated")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--engine", options->engine,
                   "beside NCCL's own the kernels of vllm, sglang, trtllm, flashinfer (list; a "
                   "release too: vllm:0.14.0), all calls in CUDA graphs")
      ->capture_default_str();
  add_registered_option(*command, options->registered);
  add_sharp_option(*command, options->sharp);
  add_tuner_option(*command, options->tuner);
  command->add_flag("--sensitivity", options->sensitivity,
                    "also with slower switches, oversubscribed leaves, SHARP, fewer NICs");
  command
      ->add_option("--slices-max", options->slices_max,
                   "extrapolate over sizes or nodes what would take more slices to simulate")
      ->check(whole_number(1, 2'000'000'000))
      ->capture_default_str();
  add_budget_option(
      *command, options->budget,
      "CPU time of all, at 10 million slices a second; what takes more is extrapolated "
      "from smaller calls",
      "simulate whatever --slices-max allows, however long it takes");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
