
#include <memory>
#include <set>
#include <string>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/streams.hpp"
#include "models/studies/scenario/scenario.hpp"

namespace fabricast {

namespace {

/// Each line once, however many cases set the variable.
void say_what_does_not_act(const Scenario& scenario) {
  std::set<std::string> said;
  for (const ScenarioCase& one : scenario.cases) {
    for (const std::string& line : idle_variables(one.config.environment, one.config.version)) {
      if (said.insert(line).second) print_err("{}\n", line);
    }
  }
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto file = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("run", "answer the question written down in a scenario file");
  command->add_option("scenario", *file, "YAML file")->required();
  command->callback([file, &action] {
    action = [file] {
      const Scenario scenario = load_scenario(*file);
      say_what_does_not_act(scenario);
      ScenarioResult result;
      {
        Progress progress;
        result = run_scenario(scenario, load_parts(scenario.parts), progress.callback());
      }
      print_out("{}", scenario_text(result));
      return result.holds() ? kDone : kCheckFailed;
    };
  });
}

}  // namespace fabricast
