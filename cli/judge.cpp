#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/outputs.hpp"
#include "cli/streams.hpp"
#include "cli/topology_option.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/imports/nccl_tests_log.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/variables.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/judge/judge_inspector.hpp"
#include "models/studies/judge/judge_log.hpp"
#include "models/studies/judge/judge_text.hpp"

namespace fabricast {

namespace {

struct JudgeOptions {
  JobOptions job;
  std::string log, inspector, metrics, topology, fabric, collective, targets, format = "text";
  bool sharp = false;
};

/// The release that ran, as far as its rules are known. `basis`: what is concluded from the log.
NcclVersion version_of(const std::string& release, const CLI::App& command,
                       const JobOptions& options, std::vector<std::string>& basis) {
  if (given(command, "--nccl") || release.empty()) return options.version();
  NcclVersion version;
  try {
    version = nccl_release_from_text(release);
  } catch (const Error&) {
    return options.version();
  }
  const NcclVersion taken = answered_version(version);
  basis.push_back(fmt::format(
      "NCCL {}: the log{}", release,
      release == to_text(taken) ? "" : fmt::format(", judged by the rules of {}", to_text(taken))));
  return taken;
}

/// What the log says was set, then what the command line says.
Environment environment_of(const NcclTestsLog& log, const NcclTestsTable& table,
                           const Environment& given, std::vector<std::string>& basis) {
  Environment logged, out;
  for (const Environment* one : {&table.environment, &log.environment})
    for (const auto& [name, value] : one->variables()) logged.set(name, value);
  for (const auto& [name, value] : logged.variables()) {
    if (name == "NCCL_DEBUG" || name == "NCCL_DEBUG_SUBSYS") continue;
    out.set(name, value);
    if (!given.get(name)) basis.push_back(fmt::format("{}={}: the log", name, value));
  }
  for (const auto& [name, value] : given.variables()) out.set(name, value);
  return out;
}

JudgeRequest request_of(const JudgeOptions& options) {
  JudgeRequest out{options.topology,          options.fabric, 0,
                   options.job.gpus_per_node, options.sharp,  {}};
  const std::vector<int> nodes = options.job.node_counts();
  if (nodes.size() > 1) throw Error("--nodes: one number, that of the log");
  if (!nodes.empty()) out.nodes = nodes.front();
  if (!options.collective.empty()) {
    const auto asked =
        of_option("--collective", [&] { return parse_collectives(options.collective); });
    if (asked.size() > 1) throw Error("--collective: one, that of the log");
    out.collective = asked.front();
  }
  return out;
}

NcclTestsLog logged_run(const std::string& file) {
  NcclTestsLog log = read_nccl_tests(file, "judge takes the output of nccl-tests");
  const auto say_remarks = [&] {
    for (const std::string& remark : log.remarks) print_err("{}: {}\n", file, remark);
  };
  if (log.independent_runs) {
    say_remarks();
    throw Error(Place{file, 0, {}}, "each process ran for itself: there is nothing to judge",
                "build nccl-tests with MPI=1");
  }
  std::erase_if(log.tables, [](const NcclTestsTable& table) {
    return judged_rows(table).empty() && (table.rows.empty() || !has_wrong_values(table));
  });
  if (!log.tables.empty()) return log;
  say_remarks();
  throw Error(Place{file, 0, {}}, "no row of nccl-tests is in it",
              "fabricast import FILE says what it is");
}

/// One table of the log, with what the whole log and the command line say.
JudgeConfig config_of(const NcclTestsLog& log, const NcclTestsTable& table,
                      const JudgeOptions& options, const JudgeRequest& request,
                      const CLI::App& command, const PartsCatalogue& parts,
                      const Environment& given_settings) {
  JudgeConfig out = judge_config(table, options.log, request, parts);
  out.version = version_of(log.nccl_version, command, options.job, out.basis);
  out.release_said = given(command, "--nccl") || !log.nccl_version.empty();
  out.environment = environment_of(log, table, given_settings, out.basis);
  out.network = log.network;
  out.notes.insert(out.notes.begin(), log.remarks.begin(), log.remarks.end());
  return out;
}

/// What NCCL's Inspector recorded of a job.
int run_inspector(const JudgeOptions& options, const CLI::App& command, const Answers& answers) {
  for (const char* option : {"--collective", "--targets", "--nodes", "--gpus-per-node"}) {
    if (given(command, option))
      throw Error(fmt::format("{} belongs to a log, not to --inspector", option),
                  "the Inspector's records say it");
  }
  Outputs outputs(command, {"--write-prometheus"});
  InspectorRequest request;
  request.source = options.inspector;
  request.release_said = given(command, "--nccl");
  request.job.topology = options.topology;
  request.job.fabric = options.fabric;
  request.job.sharp = options.sharp;
  request.job.version = options.job.version();
  request.job.environment = options.job.environment();
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BandTable bands = load_bands(options.job.parts);
  InspectedRun recorded = read_inspected_run(options.inspector);
  Progress progress(answers);
  const JudgedInspection judged = judge_inspection(std::move(recorded), request, parts, bands,
                                                   on_all_cores(answers, progress.callback()));
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
  if (!options.metrics.empty()) throw Error("--write-prometheus belongs to --inspector");
  const NcclTestsLog log = logged_run(options.log);
  std::vector<Target> targets;
  if (!options.targets.empty()) targets = load_targets(options.targets);
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BandTable bands = load_bands(options.job.parts);
  const Environment settings = options.job.environment();
  const JudgeRequest request = request_of(options);
  std::vector<JudgedTable> tables;
  for (std::size_t i = 0; i < log.tables.size(); ++i) {
    const JudgeConfig config =
        config_of(log, log.tables[i], options, request, command, parts, settings);
    Progress progress(answers);
    JudgeResult result = judge_rows(
        config, expect_rows(config, parts, bands, on_all_cores(answers, progress.callback())));
    const std::string source =
        log.tables.size() > 1 ? fmt::format("{}, table {}", options.log, i + 1) : options.log;
    std::vector<JudgedTarget> judged = judge_targets(result, targets);
    tables.push_back({source, std::move(result), std::move(judged)});
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
  const bool wrong = std::ranges::any_of(tables, [](const JudgedTable& table) {
    return table.result.verdict == JudgeVerdict::wrong_values;
  });
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
  command->add_option("--write-prometheus", options->metrics,
                      "with --inspector: what is expected, for node_exporter's textfile collector");
  add_topology_option(*command, options->topology)->required();
  command->add_option("--fabric", options->fabric,
                      "preset name or YAML file; default: non-blocking rails");
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
