
#include <memory>

#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/values.hpp"
#include "models/io/load.hpp"
#include "models/studies/plan.hpp"

namespace fabricast {

namespace {

struct PlanOptions {
  std::string layout, parts, format = "text";
  std::vector<std::string> vary;
  PlanLimits limits;
  double price = 0;
};

int run(const PlanOptions& options) {
  const PartsCatalogue parts = load_parts(options.parts);
  std::vector<NamedConfig> configs = {{"", load_step(options.layout)}};
  if (options.price > 0) configs.front().config.price = options.price;
  for (const std::string& variation : options.vary)
    configs = of_option("--vary", [&] { return vary(configs, variation, parts); });
  std::vector<Plan> plans;
  {
    Progress progress;
    const std::function<void(double)> shown = progress.callback();
    for (const NamedConfig& one : configs) {
      const auto before = static_cast<double>(plans.size());
      const auto all = static_cast<double>(configs.size());
      std::function<void(double)> part;
      if (shown) part = [&shown, before, all](double share) { shown((before + share) / all); };
      plans.push_back(plan_step(one.config, parts, options.limits, part));
      plans.back().name = one.name;
    }
  }
  print_out("{}", options.format == "json" ? plan_json(plans) : plan_text(plans));
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
  command->add_option("--vary", options->vary,
                      "KEY=A,B: topology, fabric, nodes, nics, oversubscription, bucket or an NCCL "
                      "variable; repeatable");
  command->add_option("--keep", options->limits.keep, "layouts to rank")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_flag("--exhaustive", options->limits.exhaustive,
                    "simulate also what cannot be among the best");
  command->add_option("--price", options->price, "USD per GPU and hour")
      ->check(CLI::Range(1e-6, 1e6));
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  command->add_option("--format", options->format)
      ->check(one_of({"text", "json"}))
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fabricast
