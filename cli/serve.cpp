#include <memory>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/serving/served.hpp"

namespace fabricast {

namespace {

struct ServeOptions {
  std::string file, parts, engine, format = "text";
  double rate = 0;
  int concurrency = 0, requests = 0, workers = 0;
  bool find_gpus = false;
};

/// What the command line says in place of the file.
ServedQuestion asked(const ServeOptions& options) {
  ServeOverrides overrides{{}, options.rate, options.concurrency};
  if (!options.engine.empty())
    overrides.engine = of_option("--engine", [&] { return parse_engine(options.engine); });
  ServedQuestion out{load_serve(options.file, overrides), options.find_gpus};
  ServeConfig& config = out.config;
  config.site.parts = options.parts;
  if (options.requests > 0) {
    if (!config.load)
      throw Error(about("--requests"), "--requests without a load", "say --rate or --concurrency");
    config.load->requests = options.requests;
  }
  if (options.workers > 0) config.workers = options.workers;
  return out;
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand(
      "serve", "inference: latency, throughput and cost of requests, alone or in a queue");
  command->add_option("file", options->file, "SERVE.yaml: model, cluster, requests")->required();
  auto* rate = command->add_option("--rate", options->rate,
                                   "requests per second that arrive at random (open loop)");
  rate->check(number_between(1e-6, 1e6));
  command
      ->add_option("--concurrency", options->concurrency,
                   "requests at a time, each followed by the next (closed loop)")
      ->check(whole_number(1, 1'000'000))
      ->excludes(rate);
  command->add_option("--requests", options->requests, "how many in all")
      ->check(whole_number(1, 1'000'000));
  auto* workers = command->add_option("--workers", options->workers, "engines side by side");
  workers->check(whole_number(1, 10'000));
  command->add_option("--engine", options->engine,
                      "vllm, sglang or trtllm, with a release like vllm:0.14.0");
  command
      ->add_flag("--find-gpus", options->find_gpus,
                 "the fewest GPUs that serve --rate within the file's sla")
      ->excludes(workers);
  add_parts_option(*command, options->parts);
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, &action] {
    action = [options](Answers& answers) {
      Served result;
      {
        Progress progress(answers);
        result = run_served(asked(*options), load_parts(options->parts), on_all_cores(answers, {}),
                            progress.callback());
      }
      answers.give(
          options->format, [&] { return served_text(result); },
          [&] { return served_report(result); });
      return kDone;
    };
  });
}

}  // namespace fabricast
