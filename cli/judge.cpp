#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "cli/judged_log.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/variables.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/judge/judge_inspector.hpp"
#include "models/studies/judge/judge_log.hpp"
#include "models/studies/judge/judge_text.hpp"

namespace fabricast {

namespace {

struct JudgeOptions : JudgedLogOptions {
  std::string log, inspector, metrics, targets, format = "text";
};

/// What NCCL's Inspector recorded of a job.
int run_inspector(const JudgeOptions& options, const CLI::App& command, const Answers& answers) {
  for (const char* option : {"--collective", "--targets", "--nodes", "--gpus-per-node"}) {
    if (given(command, option))
      throw Error(fmt::format("{} belongs to a log, not to --inspector", option),
                  "the Inspector's records say it");
  }
  Outputs outputs(command);
  InspectorRequest request;
  request.source = options.inspector;
  request.release_said = given(command, "--nccl");
  request.job.topology = options.topology;
  request.job.fabric = options.fabric;
  request.job.sharp = options.sharp;
  request.job.version = options.job.version();
  request.job.environment = options.job.environment();
  request.job.parts = options.job.parts;
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BandTable bands = load_bands(options.job.parts);
  InspectedRun recorded = read_inspected_run(options.inspector);
  Progress progress(answers);
  Passes passes(progress.callback(), {});
  const JudgedInspection judged =
      judge_inspection(std::move(recorded), request, parts, bands, on_all_cores(answers, passes));
  if (!options.metrics.empty()) {
    outputs.write(options.metrics, inspection_metrics(judged));
    outputs.commit();
  }
  answers.give(
      options.format, [&] { return inspection_text(judged); },
      [&] { return inspection_report(judged); });
  return kDone;
}

int run(const JudgeOptions& options, const CLI::App& command, const Answers& answers) {
  if (options.log.empty() == options.inspector.empty())
    throw Error("name the output of nccl-tests, or --inspector FOLDER", "one of them");
  if (!options.inspector.empty()) return run_inspector(options, command, answers);
  if (!options.metrics.empty())
    throw Error(about("--write-prometheus"), "--write-prometheus belongs to --inspector");
  const NcclTestsLog log = logged_run(options.log, "judge");
  std::vector<Target> targets;
  if (!options.targets.empty()) targets = load_targets(options.targets);
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BandTable bands = load_bands(options.job.parts);
  const std::vector<JudgeConfig> configs = judge_configs(log, options.log, options, command, parts);
  std::vector<JudgedTable> tables;
  Progress progress(answers);
  for (const JudgeConfig& config : configs) {
    Passes passes(piece_of(progress.callback(), tables.size(), configs.size()),
                  {kExpectShares.begin(), kExpectShares.end()});
    JudgeResult result =
        judge_rows(config, expect_rows(config, parts, bands, on_all_cores(answers, passes)));
    std::vector<JudgedTarget> judged = judge_targets(result, targets);
    tables.push_back(
        {table_name(log, options.log, tables.size()), std::move(result), std::move(judged)});
  }
  answers.give(
      options.format,
      [&] {
        std::string out;
        for (const JudgedTable& table : tables)
          out += (out.empty() ? "" : "\n") + judge_text(table);
        return out;
      },
      [&] { return judge_report(tables); });
  const bool wrong = std::ranges::any_of(
      tables, [](const JudgedTable& table) { return is_of_log(table.result.verdict); });
  return wrong ? kCheckFailed : kDone;
}

}  // namespace

void add_judge(CLI::App& app, Action& action) {
  auto options = std::make_shared<JudgeOptions>();
  CLI::App* command = app.add_subcommand("judge",
                                         "nccl-tests' output, or what NCCL's Inspector recorded: "
                                         "is it as it should be, and if not, why");
  command->add_option("log", options->log, "output of nccl-tests, text or JSON");
  command->add_option("--inspector", options->inspector,
                      "instead: a folder or file of NCCL's Inspector, JSON or Prometheus text");
  add_output_option(*command, "--write-prometheus", options->metrics,
                    "with --inspector: what is expected, for node_exporter's textfile collector");
  add_topology_option(*command, options->topology)->required();
  add_fabric_option(*command, options->fabric, "non-blocking rails");
  add_job_options(*command, options->job);
  command->add_option("--collective", options->collective,
                      "what was measured; default: what the log says");
  add_sharp_option(*command, options->sharp);
  command->add_option("--targets", options->targets,
                      "CSV of bus bandwidths to be reached (docs/judge.md)");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
