#include <memory>

#include "cli/commands.hpp"
#include "cli/options/expert_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/experts/experts_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct ExpertsOptions {
  JobOptions job;
  ExpertOptions asked;
  std::string topology, fabric, format = "text";
  int seed = 1;
  bool explain = false;
};

int run(const ExpertsOptions& options, const Answers& answers) {
  const ExpertsResult result =
      run_experts(options.asked.config(options.job, options.topology, options.fabric, options.seed),
                  load_parts(options.job.parts), answers.poll);
  answers.give(
      options.format, [&] { return experts_text(result, options.explain); },
      [&] { return experts_report(result); });
  return kDone;
}

}  // namespace

void add_experts(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExpertsOptions>();
  CLI::App* command = app.add_subcommand(
      "experts", "dispatch and combine of expert parallelism (MoE), by whose kernels");
  add_topology_option(*command, options->topology)->required();
  add_fabric_option(*command, options->fabric);
  add_job_options(*command, options->job);
  add_expert_options(*command, options->asked);
  command->add_option("--seed", options->seed, "of the draw of experts")
      ->check(whole_number(0, 1 << 30))
      ->capture_default_str();
  command->add_flag("--explain", options->explain, "what each phase needs of SMs and links");
  add_answer_options(*command, options->format);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
