
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/options/work_options.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/skew/skew.hpp"
#include "models/studies/training/training_reports.hpp"

namespace fabricast {

namespace {

struct StepOptions {
  std::string layout, trace, calls, topology, fabric, format = "text";
  JobOptions job;
  double price = 0;
  std::vector<std::string> vary;
  bool list_models = false;
};

void write_trace(const std::string& path, const StepResult& result, Outputs& outputs) {
  outputs.write(path, step_trace(result));
  outputs.commit();
  print_err("{}: {} spans, for ui.perfetto.dev or chrome://tracing\n", path, result.spans.size());
}

/// The same layout on each variation.
int run_variations(const StepOptions& options, std::vector<NamedConfig> configs,
                   const PartsCatalogue& parts, const Answers& answers) {
  if (!options.trace.empty()) throw Error(about("--vary"), "--vary takes no --trace");
  for (const std::string& variation : options.vary)
    configs = of_option("--vary", [&] { return vary(configs, variation); });
  const std::vector<NamedStep> steps = run_variations(configs, parts, on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return variations_text(steps); }, [&] { return step_report(steps); });
  return kDone;
}

/// The traces of several ranks.
int run_skew(const StepOptions& options, const Job& config, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.job.parts);
  const ForEach for_each = on_all_cores(answers, {});
  std::vector<std::string> notes;
  std::vector<RankTrace> traces = read_traces(trace_files(options.calls), notes, for_each);
  SkewResult result = find_skew(std::move(traces), options.calls, config, parts, for_each);
  result.notes.insert(result.notes.begin(), notes.begin(), notes.end());
  answers.give(
      options.format, [&] { return skew_text(result); }, [&] { return skew_report(result); });
  return kDone;
}

/// The calls of a trace of PyTorch.
int run_calls(const StepOptions& options, const Answers& answers) {
  if (!options.layout.empty() || !options.vary.empty() || !options.trace.empty())
    throw Error(about("--calls"), "--calls takes --topology, and no layout, --vary or --trace");
  if (options.topology.empty())
    throw Error(about("--topology"), "--topology is missing",
                "--calls predicts the trace's calls on it");
  const Job config = options.job.job(options.topology, options.fabric);
  if (std::filesystem::is_directory(options.calls)) return run_skew(options, config, answers);
  const TracedResult result = predict_calls(import_file(options.calls, "--calls takes a trace"),
                                            options.calls, config, load_parts(options.job.parts));
  answers.give(
      options.format, [&] { return traced_text(result); }, [&] { return traced_report(result); });
  return kDone;
}

int run(const StepOptions& options, const CLI::App& command, const Answers& answers) {
  Outputs outputs(command);
  if (options.list_models) {
    for (const std::string& name : model_names())
      print_out("{:18} {}\n", name, load_transformer(name).title);
    return kDone;
  }
  if (!options.calls.empty()) return run_calls(options, answers);
  if (options.layout.empty())
    throw Error("LAYOUT is missing", "name a layout file, like scenarios/steps/llama-3-70b.yaml");
  StepConfig config =
      load_step_with(options.layout, command, options.job, options.topology, options.fabric);
  if (options.price > 0) config.price = options.price;
  const PartsCatalogue parts = load_parts(options.job.parts);
  if (!options.vary.empty()) return run_variations(options, {{"", config}}, parts, answers);
  config.trace = true;
  const StepResult result = run_step(config, parts, on_all_cores(answers, {}));
  if (!options.trace.empty()) write_trace(options.trace, result, outputs);
  answers.give(
      options.format, [&] { return step_text(result); }, [&] { return step_report(result); });
  return kDone;
}

}  // namespace

void add_step(CLI::App& app, Action& action) {
  auto options = std::make_shared<StepOptions>();
  CLI::App* command = app.add_subcommand("step", "one training step: time, where it goes, memory");
  command->add_option("layout", options->layout, "LAYOUT.yaml: model, cluster, parallelism");
  command->add_option(
      "--calls", options->calls,
      "in place of a layout: the collective calls of this trace of PyTorch (Kineto, "
      "execution trace, Chakra's JSON), or of a folder with a Kineto trace of each rank, with:");
  add_topology_option(*command, options->topology, "--topology", "layout");
  command->add_option("--fabric", options->fabric, "fabric of several nodes");
  add_gpus_option(*command, options->job);
  add_environment_options(*command, options->job);
  add_parts_option(*command, options->job.parts);
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command
      ->add_option("--price", options->price,
                   "USD per GPU and hour (default: workloads/prices.yaml)")
      ->check(number_between(1e-6, 1e6));
  command->add_option("--vary", options->vary,
                      "KEY=A,B as of `plan`: a line for this layout on each; repeatable");
  add_output_option(*command, "--trace", options->trace,
                    "write the step's timeline for ui.perfetto.dev");
  command->add_flag("--list-models", options->list_models, "names of the models that come along");
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
