#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/memory/memory_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct MemoryOptions {
  JobOptions job;
  std::string topology, fabric, layout, collective = "all_reduce", sizes = "8B..16GiB",
                                        format = "text";
  std::optional<int> rank;
  int communicators = 1;
  bool sharp = false;
};

/// --nccl is a list here.
std::vector<NcclVersion> releases_of(const std::string& text) {
  if (text == "all") return {kModelledVersions.begin(), kModelledVersions.end()};
  return each_once(text, nccl_version_from_text);
}

/// A layout has topology, nodes, release and variables of its own; options replace them.
void take_layout(const MemoryOptions& options, const CLI::App& command, MemoryConfig& out) {
  StepConfig step = load_step(options.layout);
  if (!given(command, "--topology")) out.topology = with_options(command, step.topology);
  if (!given(command, "--fabric")) out.fabric = step.fabric;
  if (!given(command, "--gpus-per-node")) out.gpus_per_node = step.gpus_per_node;
  if (!given(command, "--nccl")) out.releases = {out.version = step.version};
  Environment environment = step.environment;
  for (const auto& [name, value] : out.environment.variables()) environment.set(name, value);
  out.environment = environment;
  if (!out.nodes.empty()) {
    if (out.nodes.size() > 1)
      throw Error("--nodes: one number with --layout", "its groups are of one job");
    step.nodes = out.nodes.front();
  }
  out.layout = std::move(step);
}

MemoryConfig config(const MemoryOptions& options, const CLI::App& command) {
  MemoryConfig out;
  JobOptions job = options.job;
  out.releases = of_option("--nccl", [&] { return releases_of(job.nccl); });
  job.nccl = to_text(out.releases.front());
  out.nodes = job.node_counts();
  static_cast<Job&>(out) = job.job(options.topology, options.fabric, options.sharp);
  out.collectives.clear();
  if (options.collective != "none")
    out.collectives =
        of_option("--collective", [&] { return parse_collectives(options.collective); });
  out.sizes = sizes_from_option(options.sizes);
  out.communicators = options.communicators;
  out.rank = options.rank;
  if (!options.layout.empty()) take_layout(options, command, out);
  if (out.topology.empty())
    throw Error("--topology is missing", "a preset or a file, or --layout with a file of `step`");
  return out;
}

int run(const MemoryOptions& options, const CLI::App& command, const Answers& answers) {
  const MemoryConfig asked = config(options, command);
  const MemoryResult result = run_memory(asked, load_parts(options.job.parts));
  answers.give(
      options.format, [&] { return memory_text(result); }, [&] { return memory_report(result); });
  return kDone;
}

}  // namespace

void add_memory(CLI::App& app, Action& action) {
  auto options = std::make_shared<MemoryOptions>();
  options->job.also_acting = memory_variables();
  CLI::App* command = app.add_subcommand(
      "memory", "what NCCL's communicators take of GPU and host memory, and what takes less");
  add_topology_option(*command, options->topology);
  command->add_option("--fabric", options->fabric, "preset name or YAML file");
  add_job_options(*command, options->job);
  command->get_option("--nccl")->description(
      "releases side by side: a list, or all that are known");
  command
      ->add_option("--collective", options->collective,
                   "what was called, a list: all_reduce, all_gather, reduce_scatter, broadcast, "
                   "reduce, alltoall, sendrecv, gather, scatter; or none")
      ->capture_default_str();
  command
      ->add_option("--sizes", options->sizes,
                   "of these calls: 8B..16GiB (doubling), 8B..1GiB:x4, or 1MiB,64MiB")
      ->capture_default_str();
  command->add_option("--layout", options->layout,
                      "in place of one communicator: those of the groups of this layout file of "
                      "`fabricast step`");
  command->add_option("--communicators", options->communicators, "so many equal ones")
      ->check(whole_number(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--rank", options->rank, "default: the rank that takes most")
      ->check(whole_number(0, kMemoryRanksMax - 1));
  add_sharp_option(*command, options->sharp);
  add_answer_options(*command, options->format);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
