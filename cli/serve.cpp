#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/training/training_reports.hpp"

namespace fabricast {

void add_serve(CLI::App& app, Action& action) {
  struct Options {
    std::string file, parts, format = "text";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("serve", "inference: time to the first token, per token, and why");
  command->add_option("file", options->file, "SERVE.yaml: model, cluster, requests")->required();
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, &action] {
    action = [options](Answers& answers) {
      const ServeResult result = run_serve(load_serve(options->file), load_parts(options->parts),
                                           on_all_cores(answers, {}));
      answers.give(
          options->format, [&] { return serve_text(result); },
          [&] { return serve_report(result); });
      return kDone;
    };
  });
}

}  // namespace fabricast
