#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/judged_log.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/gate/gate_files.hpp"
#include "models/studies/gate/gate_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

struct GateOptions : JudgedLogOptions {
  std::string sizes = "1KiB,1GiB,8GiB", probability = "95%", format = "text";
  std::vector<std::string> logs;
  std::string script, aicr, alerts, junit;
};

/// What says floors, which --check has none of its own of.
constexpr const char* kWritesFloors[] = {"--write-script", "--write-aicr", "--write-alerts"};

double healthy_share(const GateOptions& options) {
  return of_option("--probability", [&] {
    const double share = parse_percent(options.probability);
    FoundBand any;
    any.slow.fill(1);
    slow_limit(any, share);  // throws where nothing was measured of such a share
    return share;
  });
}

/// What each pass takes of all.
std::vector<double> shares_of_floors(const GateConfig& config) {
  const std::size_t blocks =
      std::max<std::size_t>(config.nodes.size(), 1) * config.collectives.size();
  std::vector<double> out;
  for (std::size_t i = 0; i < blocks; ++i)
    for (const double share : kExpectShares) out.push_back(share / static_cast<double>(blocks));
  return out;
}

int floors(const GateOptions& options, Outputs& outputs, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.job.parts);
  GateConfig config;
  static_cast<Job&>(config) = options.job.job(options.topology, options.fabric, options.sharp);
  config.nodes = options.job.node_counts();
  if (!options.collective.empty())
    config.collectives =
        of_option("--collective", [&] { return parse_collectives(options.collective); });
  config.sizes = sizes_from_option(options.sizes);
  config.healthy_share = healthy_share(options);
  Progress progress(answers);
  Passes passes(progress.callback(), shares_of_floors(config));
  const GateResult result =
      run_gate(config, parts, load_bands(options.job.parts), on_all_cores(answers, passes));
  if (!options.script.empty()) outputs.write(options.script, gate_script(result));
  if (!options.aicr.empty())
    outputs.write(options.aicr, of_option("--write-aicr", [&] { return gate_aicr(result); }));
  if (!options.alerts.empty())
    outputs.write(options.alerts, of_option("--write-alerts", [&] { return gate_alerts(result); }));
  outputs.commit();
  answers.give(
      options.format, [&] { return gate_text(result); }, [&] { return gate_report(result); });
  return kDone;
}

/// The verdict first; what may be wrong is simulated only where there is something to explain.
JudgeResult held_against_floors(JudgeConfig config, double share, const PartsCatalogue& parts,
                                const BandTable& bands, const ForEach& for_each) {
  config.healthy_share = share;
  config.suspected = Suspected::nothing;
  JudgeResult out = judge_rows(config, expect_rows(config, parts, bands, for_each));
  if (passes(out.of_times) || out.rows.empty()) return out;
  config.suspected = Suspected::causes;
  return judge_rows(config, expect_rows(config, parts, bands, for_each));
}

int check(const GateOptions& options, const CLI::App& command, Outputs& outputs,
          const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BandTable bands = load_bands(options.job.parts);
  const double share = healthy_share(options);
  std::vector<JudgedTable> tables;
  Progress progress(answers);
  for (std::size_t place = 0; place < options.logs.size(); ++place) {
    const std::string& file = options.logs[place];
    const NcclTestsLog log = logged_run(file, "gate --check");
    const std::vector<JudgeConfig> configs = judge_configs(log, file, options, command, parts);
    const auto of_log = piece_of(progress.callback(), place, options.logs.size());
    for (std::size_t i = 0; i < configs.size(); ++i) {
      Passes passes(piece_of(of_log, i, configs.size()), {0.05, 0.01, 0.01, 0.05, 0.02, 0.8});
      tables.push_back(
          {table_name(log, file, i),
           held_against_floors(configs[i], share, parts, bands, on_all_cores(answers, passes)),
           {}});
    }
  }
  if (!options.junit.empty()) outputs.write(options.junit, gate_junit(tables));
  outputs.commit();
  answers.give(
      options.format, [&] { return gate_check_text(tables); },
      [&] { return gate_check_report(tables); });
  return all_pass(tables) ? kDone : kCheckFailed;
}

int run(const GateOptions& options, const CLI::App& command, const Answers& answers) {
  const bool checks = !options.logs.empty();
  if (checks && given(command, "--sizes"))
    throw Error(about("--sizes"), "--sizes and --check: the log has its sizes",
                "leave --sizes out");
  if (!checks && given(command, "--write-junit"))
    throw Error(about("--write-junit"), "--write-junit is of logs that were held against floors",
                "name them: --check all_reduce.log");
  for (const char* name : kWritesFloors) {
    if (checks && given(command, name))
      throw Error(fmt::format("{} writes floors, and --check has none of its own", name),
                  "leave --check out");
  }
  Outputs outputs(command);
  return checks ? check(options, command, outputs, answers) : floors(options, outputs, answers);
}

}  // namespace

void add_gate(CLI::App& app, Action& action) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = app.add_subcommand(
      "gate",
      "floors for an acceptance test: what a healthy cluster reaches, and which faults show");
  add_topology_option(*command, options->topology, "topology")->required();
  add_fabric_option(*command, options->fabric, "non-blocking rails");
  add_job_options(*command, options->job);
  command->add_option("--collective", options->collective,
                      "one or several, as all_reduce,alltoall; default: all_reduce, or what the "
                      "log says");
  command->add_option("--sizes", options->sizes, "1KiB,1GiB or 1GiB..8GiB (doubling)")
      ->capture_default_str();
  command
      ->add_option("--probability", options->probability, "that a healthy run passes, 80% to 99%")
      ->capture_default_str();
  add_sharp_option(*command, options->sharp);
  command
      ->add_option("--check", options->logs,
                   "output of nccl-tests to hold against floors; may be repeated")
      ->expected(1)
      ->take_all();
  add_output_option(*command, "--write-script", options->script,
                    "shell script that runs nccl-tests and ends with an exit code");
  add_output_option(*command, "--write-aicr", options->aicr, "AICR's constraint as YAML");
  add_output_option(*command, "--write-alerts", options->alerts,
                    "Prometheus' rules over what NCCL Inspector exports");
  add_output_option(*command, "--write-junit", options->junit, "with --check: JUnit's XML");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
