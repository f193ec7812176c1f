#include <algorithm>
#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/judged_log.hpp"
#include "cli/streams.hpp"
#include "cli/topology_option.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/judge/judge_text.hpp"

namespace fabricast {

namespace {

struct JudgeOptions : JudgedLogOptions {
  std::string log, targets, format = "text";
};

int run(const JudgeOptions& options, const CLI::App& command, const Answers& answers) {
  const NcclTestsLog log = logged_run(options.log, "judge");
  std::vector<Target> targets;
  if (!options.targets.empty()) targets = load_targets(options.targets);
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BandTable bands = load_bands(options.job.parts);
  const std::vector<JudgeConfig> configs = judge_configs(log, options.log, options, command, parts);
  std::vector<JudgedTable> tables;
  for (const JudgeConfig& config : configs) {
    Progress progress(answers);
    JudgeResult result = judge_rows(
        config, expect_rows(config, parts, bands, on_all_cores(answers, progress.callback())));
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
  const bool wrong = std::ranges::any_of(tables, [](const JudgedTable& table) {
    return table.result.verdict == JudgeVerdict::wrong_values;
  });
  return wrong ? kCheckFailed : kDone;
}

}  // namespace

void add_judge(CLI::App& app, Action& action) {
  auto options = std::make_shared<JudgeOptions>();
  CLI::App* command = app.add_subcommand(
      "judge", "somebody's nccl-tests output: is it as it should be, and if not, why");
  command->add_option("log", options->log, "output of nccl-tests, text or JSON")->required();
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
