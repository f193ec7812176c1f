#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "models/studies/scenario.hpp"

namespace fabricast {

void add_run(CLI::App& app, Action& action) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("run", "answer the question written down in a scenario file");
  command->add_option("scenario", *file, "YAML file")->required();
  command->callback([file, &action] {
    action = [file] {
      const Scenario scenario = load_scenario(*file);
      for (const ScenarioCase& one : scenario.cases) {
        for (const std::string& name : one.config.environment.not_acted_on())
          fmt::print(stderr, "{}: not acted on yet\n", name);
      }
      ScenarioResult result;
      {
        Progress progress;
        result = run_scenario(scenario, load_parts(), progress.callback());
      }
      fmt::print("{}", scenario_text(result));
      return result.holds() ? kDone : kCheckFailed;
    };
  });
}

}  // namespace fabricast
