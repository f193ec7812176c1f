#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/options/work_options.hpp"
#include "cli/output/answers.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/hosts/host_list.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/placement/placement.hpp"

namespace fabricast {

namespace {

struct PlacementOptions {
  JobOptions job;
  std::string tree, hosts, hosts_file, free, labels, topology, fabric, layout, neighbour,
      collective = "all_reduce,alltoall", sizes = "64MiB,1GiB", format = "text";
  double oversubscription = 0;
};

/// None where the option is left out: all of the tree.
std::vector<std::string> listed(const CLI::App& command, const char* option,
                                const std::string& text) {
  if (!given(command, option)) return {};
  std::vector<std::string> out = of_option(option, [&] { return parse_host_list(text); });
  if (out.empty())
    throw Error(option_place(option), "no host is named", "leave it out for all of the tree");
  return out;
}

/// --hosts, or the lines of a file; none = all of the tree.
std::vector<std::string> hosts_of(const PlacementOptions& options, const CLI::App& command) {
  if (!given(command, "--hosts-file")) return listed(command, "--hosts", options.hosts);
  if (given(command, "--hosts"))
    throw Error(about("--hosts"), "--hosts and --hosts-file", "one of them");
  return parse_host_file(read_text_file(options.hosts_file, "a host a line"), options.hosts_file);
}

std::vector<std::string> labels_of(const std::string& text) {
  std::vector<std::string> out = comma_words(text);
  if (std::ranges::find(out, "") != out.end())
    throw Error(option_place("--labels"), "an empty key",
                "keys of labels, the nearest switch first");
  return out;
}

PlacementConfig config_of(const PlacementOptions& options, const CLI::App& command) {
  PlacementConfig out;
  if (!options.layout.empty()) {
    if (!options.topology.empty())
      throw Error(about("--layout"), "--layout and --topology", "the layout says the topology");
    out.step = load_step_with(options.layout, command, options.job, "", options.fabric);
    static_cast<Job&>(out) = *out.step;
  } else {
    if (options.topology.empty())
      throw Error(about("--topology"), "--topology is missing",
                  "--topology or --layout says what a host is");
    static_cast<Job&>(out) = options.job.job(options.topology, options.fabric);
  }
  out.tree_file = options.tree;
  out.tree = parse_host_tree(read_text_file(options.tree, "placement takes hosts and switches"),
                             options.tree, labels_of(options.labels));
  out.hosts = hosts_of(options, command);
  out.free = listed(command, "--free", options.free);
  out.oversubscription = options.oversubscription;
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  out.sizes = sizes_from_option(options.sizes);
  if (!options.neighbour.empty())
    out.neighbour =
        parse_neighbour(read_text_file(options.neighbour, "a second job"), options.neighbour);
  return out;
}

int run(const PlacementOptions& options, const CLI::App& command, const Answers& answers) {
  const PlacementConfig config = config_of(options, command);
  const PartsCatalogue parts = load_parts(options.job.parts);
  PlacementResult result;
  {
    Progress progress(answers);
    result = run_placement(config, parts, on_all_cores(answers, progress.callback()));
  }
  answers.give(
      options.format, [&] { return placement_text(result); },
      [&] { return placement_report(result); });
  return kDone;
}

}  // namespace

void add_placement(CLI::App& app, Action& action) {
  auto options = std::make_shared<PlacementOptions>();
  CLI::App* command = app.add_subcommand(
      "placement", "what a job's hosts cost against the best ones, and what a second job takes");
  command
      ->add_option("tree", options->tree,
                   "hosts and switches: Slurm's topology.conf or .yaml, SLURM_TOPOLOGY_ADDR of the "
                   "tasks, nodes of Kubernetes, topograph, ibnetdiscover")
      ->required();
  command->add_option(
      "--hosts", options->hosts,
      "of the job, in the order of ranks: node[01-16,20]; default: all of the tree");
  command->add_option("--hosts-file", options->hosts_file, "the same, a host a line");
  command->add_option("--free", options->free,
                      "what the job might have had besides; default: all of the tree");
  command->add_option("--labels", options->labels,
                      "keys of node labels that name switches, the nearest first");
  add_topology_option(*command, options->topology, "--topology", "--layout");
  command->add_option(
      "--fabric", options->fabric,
      "preset name or YAML file; default: non-blocking rails with the tree's leaves");
  command
      ->add_option("--oversubscription", options->oversubscription,
                   "of leaves, in place of the fabric's")
      ->check(number_between(1.0, 1000.0));
  add_gpus_option(*command, options->job);
  add_environment_options(*command, options->job);
  add_parts_option(*command, options->job.parts);
  command->add_option("--collective", options->collective, "names, with commas between them")
      ->capture_default_str();
  command->add_option("--sizes", options->sizes, "8B..1GiB (doubling), or 64MiB,1GiB")
      ->capture_default_str();
  command->add_option("--layout", options->layout,
                      "also the step of this layout file of `fabricast step`, on its topology");
  command->add_option("--neighbour", options->neighbour,
                      "YAML file of a second job: its hosts, and its collective or layout");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
