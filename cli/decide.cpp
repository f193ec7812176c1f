
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options/engine_option.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/nccl_tests.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/tuner_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/decide/decide_explain.hpp"
#include "models/studies/decide/decide_tables.hpp"
#include "models/studies/decide/decide_text.hpp"
#include "models/studies/decide/releases.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct DecideOptions {
  JobOptions job;
  std::string topology, tuner, collective = "all_reduce", sizes = "8B..8GiB", format = "text";
  std::string engine = kNoEngine, registered = "0";
  std::optional<std::string> explain, table;
  bool sharp = false, releases = false;
};

DecideConfig config(const DecideOptions& options) {
  DecideConfig out;
  out.nodes = options.job.node_counts();
  static_cast<Job&>(out) = options.job.job(options.topology, {}, options.sharp);
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  out.sizes = sizes_from_option(options.sizes);
  out.registered = *kRegistrationWords.find(options.registered);
  for (const CallingEngine& engine : engines_from_option(options.engine))
    out.engines.push_back(engine.release);
  return out;
}

/// With --explain one size is all there is.
DecideConfig at_size(DecideConfig config, const std::string& size) {
  config.sizes = {of_option("--explain", [&] { return parse_bytes(size); })};
  config.explain = true;
  return config;
}

void give_result(const DecideResult& result, const DecideOptions& options, const Answers& answers) {
  if (options.table) {
    for (const std::string& note : result.notes) print_err("note: {}\n", note);
    print_out("{}", decide_table(result, kDecideTableWords.parse("table", *options.table)));
    return;
  }
  answers.give(
      options.format, [&] { return options.explain ? explain_text(result) : decide_text(result); },
      [&] { return decide_report(result); });
}

int list_releases(const DecideOptions& options, const Answers& answers) {
  const std::vector<ReleaseRow> rows = release_rows();
  answers.give(
      options.format, [&] { return releases_text(rows); }, [&] { return releases_report(rows); });
  return kDone;
}

int run(const DecideOptions& options, const Answers& answers) {
  if (options.releases) return list_releases(options, answers);
  if (options.table) {
    if (options.format == "json")
      throw Error(about("--table"), "--table is CSV", "leave --format out");
  }
  DecideConfig asked = config(options);
  if (options.explain) asked = at_size(std::move(asked), *options.explain);
  const PartsCatalogue parts = load_parts(options.job.parts);
  const auto tuner = load_tuner_for(asked, options.tuner, parts);
  const DecideResult result = run_decide(asked, parts);
  give_result(result, options, answers);
  return kDone;
}

}  // namespace

void add_decide(CLI::App& app, Action& action) {
  auto options = std::make_shared<DecideOptions>();
  CLI::App* command = app.add_subcommand("decide", "what NCCL would choose at each size, and why");
  CLI::Option* topology = add_topology_option(*command, options->topology)->required();
  command
      ->add_flag_callback(
          "--releases",
          [options, topology] {
            options->releases = true;
            topology->required(false);
          },
          "list the releases that --nccl takes, and by whose rules each answers")
      ->trigger_on_parse();
  add_job_options(*command, options->job);
  command
      ->add_option("--collective", options->collective,
                   "all_reduce, all_gather, reduce_scatter, broadcast, reduce (list)")
      ->capture_default_str();
  CLI::Option* sizes = add_sizes_option(*command, options->sizes);
  add_registered_option(*command, options->registered);
  command
      ->add_option("--engine", options->engine,
                   "which all-reduce kernels vllm, sglang, trtllm, flashinfer take, too (list; a "
                   "release too: vllm:0.14.0)")
      ->capture_default_str();
  add_sharp_option(*command, options->sharp);
  add_tuner_option(*command, options->tuner);
  CLI::Option* format = add_answer_options(*command, options->format);
  CLI::Option* explain =
      command
          ->add_option("--explain", options->explain,
                       "a size: what every candidate would cost there, and what excluded the rest")
          ->excludes(sizes)
          ->excludes(format);
  command->add_option("--table", options->table, "what was settled before any choice, as CSV")
      ->check(one_of(kDecideTableWords.list(), "table"))
      ->excludes(explain);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
