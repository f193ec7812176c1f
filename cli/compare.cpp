#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/workers.hpp"
#include "models/hardware/node/node_changes.hpp"
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
      sizes = "1GiB", collective = "all_reduce", layout, prices, format = "text";
  JobOptions job;  ///< but its release: there may be several
};

CompareAsk ask_of(const CompareOptions& options, const PartsCatalogue& parts) {
  CompareAsk out;
  out.environment = options.job.variables();
  out.topologies = comma_words(options.topologies);
  out.fabrics = comma_words(options.fabrics);
  if (!options.nics.empty())
    out.nics = of_option("--nics", [&] { return parse_counts(options.nics, "nics", kNicsMax); });
  if (!options.sharp.empty())
    out.sharp = of_option("--sharp", [&] { return parse_on_off(options.sharp); });
  for (const std::string& word : comma_words(options.nccl))
    out.versions.push_back(of_option("--nccl", [&] { return nccl_version_from_text(word); }));
  out.nodes = of_option("--nodes", [&] { return parse_counts(options.nodes, "nodes", kNodesMax); });
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  out.sizes = sizes_from_option(options.sizes);
  if (!options.layout.empty()) out.step = load_step(options.layout);
  out.gpus_per_node = options.job.gpus_per_node;
  out.parts = options.job.parts;
  out.prices = load_prices(options.prices, parts);
  say_what_does_not_act(compared_jobs(out));
  return out;
}

int run(const CompareOptions& options, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BandTable bands = load_bands(options.job.parts);
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
  add_gpus_option(*command, options->job);
  add_parts_option(*command, options->job.parts);
  add_variables_options(*command, options->job);
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
