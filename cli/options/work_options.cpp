#include "cli/options/work_options.hpp"

#include <fmt/format.h>

#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

bool has_given(const CLI::App& command, const char* name) {
  const CLI::Option* const option = command.get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

void set_nodes(StepConfig& step, const JobOptions& options) {
  const std::vector<int> nodes = options.node_counts();
  if (nodes.size() > 1) throw Error(option_place("--nodes"), "a step runs on one number of nodes");
  if (!nodes.empty()) step.nodes = nodes.front();
}

/// What does not act is said of the step's release.
void set_variables(StepConfig& step, JobOptions options) {
  options.nccl = to_text(step.version);
  const Environment given_here = options.environment();
  for (const auto& [name, value] : given_here.variables()) step.environment.set(name, value);
}

Work step_of(const WorkOptions& options, const CLI::App& command) {
  refuse_beside_layout(command, {"--collective", "--sizes", "--sharp"});
  return load_step_with(options.layout, command, options.job, options.topology, options.fabric);
}

}  // namespace

void refuse_beside_layout(const CLI::App& command, std::initializer_list<const char*> options) {
  for (const char* name : options) {
    if (given(command, name))
      throw Error(fmt::format("{} beside --layout: a training step makes its own calls", name),
                  "leave out one of the two");
  }
}

StepConfig load_step_with(const std::string& layout, const CLI::App& command,
                          const JobOptions& options, const std::string& topology,
                          const std::string& fabric) {
  StepConfig out = load_step(layout);
  out.topology = has_given(command, "--topology") ? topology : with_options(command, out.topology);
  if (has_given(command, "--fabric")) out.fabric = fabric;
  if (has_given(command, "--nccl")) out.version = options.version();
  if (has_given(command, "--gpus-per-node")) out.gpus_per_node = options.gpus_per_node;
  if (has_given(command, "--parts")) out.parts = options.parts;
  set_nodes(out, options);
  set_variables(out, options);
  return out;
}

Work WorkOptions::work(const CLI::App& command) const {
  if (!layout.empty()) return step_of(*this, command);
  if (topology.empty())
    throw Error(about("--topology"), "--topology is missing",
                "or give a training step: --layout LAYOUT.yaml");
  BenchConfig out;
  out.nodes = job.node_counts();
  static_cast<Job&>(out) = job.job(topology, fabric, sharp);
  out.collectives = of_option("--collective", [&] { return parse_collectives(collective); });
  out.sizes = sizes_from_option(sizes);
  return out;
}

void add_work_options(CLI::App& command, WorkOptions& options) {
  add_topology_option(command, options.topology, "--topology", "--layout");
  add_fabric_option(command, options.fabric);
  command.add_option("--layout", options.layout,
                     "LAYOUT.yaml of `step`: a training step in place of sizes and collectives");
  add_job_options(command, options.job);
  command.add_option("--collective", options.collective, "nccl-tests' names (list)")
      ->capture_default_str();
  add_sizes_option(command, options.sizes);
  add_sharp_option(command, options.sharp);
}

}  // namespace fabricast
