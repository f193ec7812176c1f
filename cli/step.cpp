#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/values.hpp"
#include "models/io/load.hpp"
#include "models/studies/step.hpp"

namespace fabricast {

namespace {

struct StepOptions {
  std::string layout, parts, format = "text";
  bool list_models = false;
};

int run(const StepOptions& options) {
  if (options.list_models) {
    for (const std::string& name : model_names())
      fmt::print("{:18} {}\n", name, load_transformer(name).title);
    return kDone;
  }
  if (options.layout.empty())
    throw Error("LAYOUT is missing", "name a layout file, like scenarios/steps/llama-3-70b.yaml");
  const StepResult result = run_step(load_step(options.layout), load_parts(options.parts));
  fmt::print("{}", options.format == "json" ? step_json(result) : step_text(result));
  return kDone;
}

}  // namespace

void add_step(CLI::App& app, Action& action) {
  auto options = std::make_shared<StepOptions>();
  CLI::App* command = app.add_subcommand("step", "one training step: time, where it goes, memory");
  command->add_option("layout", options->layout, "LAYOUT.yaml: model, cluster, parallelism");
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  command->add_option("--format", options->format)
      ->check(one_of({"text", "json"}))
      ->capture_default_str();
  command->add_flag("--list-models", options->list_models, "names of the models that come along");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fabricast
