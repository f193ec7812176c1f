#include "cli/options/work_options.hpp"

#include <fmt/format.h>

#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

Work step_of(const WorkOptions& options, const CLI::App& command) {
  for (const char* name : {"--collective", "--sizes", "--sharp"}) {
    if (given(command, name))
      throw Error(fmt::format("{}: a training step makes its own calls", name),
                  "give either --layout or sizes and collectives");
  }
  StepConfig out = load_step(options.layout);
  out.topology =
      given(command, "--topology") ? options.topology : with_options(command, out.topology);
  if (given(command, "--fabric")) out.fabric = options.fabric;
  if (given(command, "--nccl")) out.version = options.job.version();
  if (given(command, "--gpus-per-node")) out.gpus_per_node = options.job.gpus_per_node;
  if (const std::vector<int> nodes = options.job.node_counts(); !nodes.empty()) {
    if (nodes.size() > 1) throw Error("--nodes: a step runs on one number of nodes");
    out.nodes = nodes.front();
  }
  const Environment given_here = options.job.environment();
  for (const auto& [name, value] : given_here.variables()) out.environment.set(name, value);
  return out;
}

}  // namespace

Work WorkOptions::work(const CLI::App& command) const {
  if (!layout.empty()) return step_of(*this, command);
  if (topology.empty())
    throw Error("--topology is missing", "or give a training step: --layout LAYOUT.yaml");
  BenchConfig out;
  out.nodes = job.node_counts();
  static_cast<Job&>(out) = job.job(topology, fabric, sharp);
  out.collectives = of_option("--collective", [&] { return parse_collectives(collective); });
  out.sizes = sizes_from_option(sizes);
  return out;
}

void add_work_options(CLI::App& command, WorkOptions& options) {
  add_topology_option(command, options.topology);
  command.add_option("--fabric", options.fabric, "preset name or YAML file");
  command.add_option("--layout", options.layout,
                     "LAYOUT.yaml of `step`: a training step in place of sizes and collectives");
  add_job_options(command, options.job);
  command.add_option("--collective", options.collective, "nccl-tests' names (list)")
      ->capture_default_str();
  command.add_option("--sizes", options.sizes, "8B..16GiB (doubling), 8B..1GiB:x4, or 1MiB,64MiB")
      ->capture_default_str();
  add_sharp_option(command, options.sharp);
}

}  // namespace fabricast
