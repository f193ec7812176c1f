#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/options/budget_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/bench/bench_call.hpp"
#include "models/studies/training/training_reports.hpp"

namespace fabricast {

namespace {

struct PlanOptions {
  std::string layout, parts, format = "text";
  std::vector<std::string> vary, fix, within;
  PlanLimits limits;
  std::string headroom = "8%";
  double price = 0;
  BudgetOption budget{"25ms"};  // CollectiveTimes::kSlicesMost
};

int run(const PlanOptions& options, const CLI::App& command, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.parts);
  PlanLimits limits = options.limits;
  limits.headroom = of_option("--headroom", [&] { return parse_headroom(options.headroom); });
  const std::optional<Duration> budget = options.budget.wanted(command);
  limits.slices_most = budget ? events_within(*budget) : UINT64_MAX;
  for (const std::string& text : options.fix) of_option("--fix", [&] { limits.wishes.fix(text); });
  for (const std::string& text : options.within)
    of_option("--within", [&] { limits.wishes.keep_within(text); });
  std::vector<NamedConfig> configs = {{"", load_step(options.layout, LayoutFile::open)}};
  configs.front().config.parts = options.parts;
  if (options.price > 0) configs.front().config.price = options.price;
  for (const std::string& variation : options.vary)
    configs = of_option("--vary", [&] { return vary(configs, variation); });
  std::vector<Plan> plans;
  {
    Progress progress(answers);
    plans = run_plans(configs, parts, limits, progress.callback(), on_all_cores(answers, {}));
  }
  answers.give(
      options.format, [&] { return plan_text(plans); }, [&] { return plan_report(plans); });
  return kDone;
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "the best layouts of a model on a cluster, and why");
  command
      ->add_option("layout", options->layout,
                   "LAYOUT.yaml as of `step`; its parallelism, micro-batch and sharding are open")
      ->required();
  command->add_option(
      "--vary", options->vary,
      fmt::format("KEY=A,B: {} or an NCCL variable; repeatable", fmt::join(vary_keys(), ", ")));
  command->add_option("--fix", options->fix,
                      fmt::format("KEY=VALUE,...: only layouts with these, of {}; repeatable",
                                  fmt::join(fix_keys(), ", ")));
  command->add_option("--within", options->within,
                      "KEY=node or KEY=rack,...: groups of tp, cp, ep, dp, or neighbours of pp, "
                      "that stay inside; repeatable");
  command
      ->add_option("--headroom", options->headroom,
                   "share of a GPU's memory that stays free: what allocators and other processes "
                   "take")
      ->capture_default_str();
  command->add_option("--keep", options->limits.keep, "layouts to rank")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_flag("--exhaustive", options->limits.exhaustive,
                    "simulate also what cannot be among the best");
  command->add_option("--price", options->price, "USD per GPU and hour")
      ->check(number_between(1e-6, 1e6));
  add_budget_option(*command, options->budget,
                    "CPU time of a collective, at 10 million slices a second; what would take more "
                    "is extrapolated from smaller ones",
                    "simulate every collective whole, however long it takes");
  add_parts_option(*command, options->parts);
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
