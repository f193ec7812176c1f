#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/compare/read_compare.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

struct CompareOptions {
  std::string topologies, nics, fabrics, sharp, nccl, nodes,
      sizes = "1GiB", collective = "all_reduce", layout, prices, parts, env_file, format = "text";
  std::vector<std::string> env;
  int gpus_per_node = 0;
};

CompareAsk ask_of(const CompareOptions& options, const PartsCatalogue& parts) {
  CompareAsk out;
  JobOptions job;
  job.env = options.env;
  job.env_file = options.env_file;
  out.environment = job.environment();
  out.topologies = comma_words(options.topologies);
  out.fabrics = comma_words(options.fabrics);
  if (!options.nics.empty())
    out.nics = of_option("--nics", [&] { return parse_counts(options.nics, "nics", 1024); });
  if (!options.sharp.empty())
    out.sharp = of_option("--sharp", [&] { return parse_on_off(options.sharp); });
  for (const std::string& word : comma_words(options.nccl))
    out.versions.push_back(of_option("--nccl", [&] { return nccl_version_from_text(word); }));
  out.nodes = of_option("--nodes", [&] { return parse_counts(options.nodes, "nodes", kNodesMax); });
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  out.sizes = sizes_from_option(options.sizes);
  if (!options.layout.empty()) out.step = load_step(options.layout);
  out.gpus_per_node = options.gpus_per_node;
  out.parts = options.parts;
  out.prices = load_prices(options.prices, parts);
  return out;
}

int run(const CompareOptions& options, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.parts);
  const BandTable bands = load_bands(options.parts);
  const CompareAsk ask = ask_of(options, parts);
  Progress progress(answers);
  const auto result = std::make_shared<const CompareResult>(
      run_compare(ask, parts, on_all_cores(answers, progress.callback())));
  answers.give(
      options.format, [result, &bands] { return compare_text(*result, bands); },
      [result, &bands] { return compare_report(*result, bands); });
  return kDone;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "machines that could be bought beside each other, and what their fabrics cost");
  command
      ->add_option("--topology", options->topologies,
                   "presets or files (list); all these lists cross")
      ->required();
  command->add_option("--nics", options->nics, "of each node (list)");
  command->add_option("--fabric", options->fabrics,
                      "presets or files (list); x:oversubscription=2 is x with thinner trunks");
  command->add_option("--sharp", options->sharp, "on, off, or on,off for both");
  command->add_option("--nccl", options->nccl, "releases (list)");
  command->add_option("--nodes", options->nodes, "numbers of nodes: 16,64 or 1..64")->required();
  command->add_option("--collective", options->collective, "nccl-tests' names (list)")
      ->capture_default_str();
  add_sizes_option(*command, options->sizes);
  command->add_option("--layout", options->layout,
                      "LAYOUT.yaml of `step`: a training step on each machine as well");
  command->add_option("--prices", options->prices,
                      "YAML file of kind prices: own prices in place of the shipped ones");
  command->add_option("--gpus-per-node", options->gpus_per_node, "only so many of each node")
      ->check(whole_number(1, 1024));
  command->add_option("--parts", options->parts, "YAML file of own parts, or calibrated values");
  command->add_option("--env", options->env, "NAME=value; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--env-file", options->env_file, "file of NAME=value lines");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
