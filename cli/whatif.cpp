#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/text_file.hpp"
#include "models/io/unit_text.hpp"
#include "models/studies/whatif_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct WhatifOptions {
  JobOptions job;
  std::string topology, fabric, collective = "all_reduce", sizes = "1MiB,1GiB", format = "text";
  std::vector<std::string> to, unset;
  std::string to_env_file;
  std::optional<std::string> to_nccl, to_topology, to_fabric;
  bool sharp = false;
};

BenchConfig before(const WhatifOptions& options) {
  BenchConfig out;
  out.topology = options.topology;
  out.fabric = options.fabric;
  out.nodes = options.job.node_counts();
  out.gpus_per_node = options.job.gpus_per_node;
  out.sharp = options.sharp;
  out.version = options.job.version();
  out.environment = options.job.environment();
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  out.sizes = of_option("--sizes", [&] { return parse_sizes(options.sizes); });
  return out;
}

BenchConfig after(const WhatifOptions& options, BenchConfig config) {
  if (options.to_topology) config.topology = *options.to_topology;
  if (options.to_fabric) config.fabric = *options.to_fabric;
  if (options.to_nccl)
    config.version =
        of_option("--to-nccl", [&] { return nccl_version_from_text(*options.to_nccl); });
  if (!options.to_env_file.empty()) {
    config.environment = {};
    config.environment.read_text(
        read_text_file(options.to_env_file, "--to-env-file takes a file of NAME=value lines"),
        options.to_env_file);
  }
  for (const std::string& name : options.unset) config.environment.unset(name);
  for (const std::string& assignment : options.to)
    of_option("--to", [&] { config.environment.set(assignment); });
  for (const std::string& line : idle_variables(config.environment, config.version))
    fmt::print(stderr, "{}\n", line);
  return config;
}

int run(const WhatifOptions& options) {
  const PartsCatalogue parts = load_parts(options.job.parts);
  const BenchConfig from = before(options);
  const BenchConfig to = after(options, from);
  WhatifResult result;
  {
    Progress progress;
    const auto callback = progress.callback();
    result = run_whatif(from, to, parts, [&](std::size_t count, const auto& one) {
      for_each_on_all_cores(count, one, callback);
    });
  }
  if (options.format == "csv") {
    for (const std::string& note : result.notes) fmt::print(stderr, "note: {}\n", note);
    fmt::print("{}", whatif_csv(result));
  } else {
    fmt::print("{}", options.format == "json" ? whatif_json(result) : whatif_text(result));
  }
  return kDone;
}

}  // namespace

void add_whatif(CLI::App& app, Action& action) {
  auto options = std::make_shared<WhatifOptions>();
  CLI::App* command = app.add_subcommand(
      "whatif", "the same work before and after several changes: what each is worth, and why");
  command->add_option("--topology", options->topology, "preset name or YAML file")->required();
  command->add_option("--fabric", options->fabric, "preset name or YAML file");
  add_job_options(*command, options->job);
  command->add_option("--to", options->to, "NAME=value after the change; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--to-unset", options->unset, "a variable that goes; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--to-env-file", options->to_env_file,
                      "the whole environment after the change, in place of --env and --env-file");
  command->add_option("--to-nccl", options->to_nccl, "version after the change");
  command->add_option("--to-topology", options->to_topology, "preset name or YAML file");
  command->add_option("--to-fabric", options->to_fabric, "preset name or YAML file");
  command->add_option("--collective", options->collective, "nccl-tests' names (list)")
      ->capture_default_str();
  command->add_option("--sizes", options->sizes, "8B..16GiB (doubling), 8B..1GiB:x4, or 1MiB,64MiB")
      ->capture_default_str();
  command->add_flag("--sharp", options->sharp,
                    "the fabric offers SHARP: a CollNet plugin serves all NICs");
  command->add_option("--format", options->format)
      ->check(one_of({"text", "csv", "json"}))
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fabricast
