#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/options/work_options.hpp"
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

/// The job, or that of a layout, with its number of nodes.
void set_job(const MemoryOptions& options, const CLI::App& command, MemoryConfig& out) {
  JobOptions job = options.job;
  job.nccl = to_text(out.releases.front());
  out.nodes = job.node_counts();
  if (options.layout.empty()) {
    static_cast<Job&>(out) = job.job(options.topology, options.fabric, options.sharp);
    return;
  }
  refuse_beside_layout(command, {"--collective"});
  out.layout = load_step_with(options.layout, command, job, options.topology, options.fabric);
  if (options.sharp) out.layout->sharp = true;
  static_cast<Job&>(out) = *out.layout;
  if (!given(command, "--nccl")) out.releases = {out.version};
}

MemoryConfig config(const MemoryOptions& options, const CLI::App& command) {
  MemoryConfig out;
  out.releases = of_option("--nccl", [&] { return releases_of(options.job.nccl); });
  set_job(options, command, out);
  out.collectives.clear();
  if (!out.layout && options.collective != "none")
    out.collectives =
        of_option("--collective", [&] { return parse_collectives(options.collective); });
  if (!out.layout || given(command, "--sizes")) out.sizes = sizes_from_option(options.sizes);
  out.communicators = options.communicators;
  out.rank = options.rank;
  if (out.topology.empty())
    throw Error(about("--topology"), "--topology is missing",
                "a preset or a file, or --layout with a file of `step`");
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
  add_topology_option(*command, options->topology, "--topology", "--layout");
  add_fabric_option(*command, options->fabric);
  add_job_options(*command, options->job);
  command->get_option("--nccl")->description(
      "releases side by side: a list, or all that are known");
  command
      ->add_option("--collective", options->collective,
                   "what was called, a list: all_reduce, all_gather, reduce_scatter, broadcast, "
                   "reduce, alltoall, sendrecv, gather, scatter; or none")
      ->capture_default_str();
  command
      ->add_option(
          "--sizes", options->sizes,
          "of these calls: 8B..16GiB (doubling), 8B..1GiB:x4, or 1MiB,64MiB; with --layout "
          "a step's own unless it is given")
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
