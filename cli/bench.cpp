#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli/commands.hpp"
#include "cli/nccl_tests.hpp"
#include "cli/values.hpp"
#include "models/io/text_file.hpp"
#include "models/io/unit_text.hpp"
#include "models/studies/bench_text.hpp"

namespace fabricast {

namespace {

constexpr int kGpusPerNodeMax = 1024;

/// What was typed, before it means anything.
struct BenchOptions {
  std::string topology, parts, fabric, nodes, env_file;
  std::string nccl = "2.21.5", collective = "all_reduce", sizes = "8B..8GiB", format = "text";
  std::vector<std::string> env;
  int gpus_per_node = 0;
  bool explain = false, no_fold = false;
  NcclTestsOptions nccl_tests;
};

std::vector<Bytes> sizes(const BenchOptions& options, const CLI::App& command) {
  if (!options.nccl_tests.asks_for_sizes(command))
    return of_option("--sizes", [&] { return parse_sizes(options.sizes); });
  if (given(command, "--sizes"))
    throw Error("--sizes and -b/-e/-f/-i both say what sizes to run", "give one of the two");
  return options.nccl_tests.sizes();
}

BenchConfig config(const BenchOptions& options, const CLI::App& command) {
  BenchConfig out;
  out.topology = options.topology;
  out.fabric = options.fabric;
  if (given(command, "--nodes"))
    out.nodes =
        of_option("--nodes", [&] { return parse_counts(options.nodes, "nodes", kNodesMax); });
  out.gpus_per_node = options.gpus_per_node;
  out.gpus_per_process = options.nccl_tests.threads * options.nccl_tests.gpus;
  out.version = of_option("--nccl", [&] { return nccl_version_from_text(options.nccl); });
  if (!options.env_file.empty()) {
    out.environment.read_text(
        read_text_file(options.env_file, "--env-file takes a file of NAME=value lines"),
        options.env_file);
  }
  for (const std::string& assignment : options.env)
    of_option("--env", [&] { out.environment.set(assignment); });
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  out.sizes = sizes(options, command);
  out.datatype = options.nccl_tests.datatype;
  out.op = options.nccl_tests.op;
  of_option("-d", [&] { datatype_bytes(out.datatype); });
  out.root = options.nccl_tests.root;
  out.explain = options.explain;
  return out;
}

void print_result(const BenchResult& result, const std::string& format) {
  if (format == "csv") {
    for (const std::string& note : result.notes) fmt::print(stderr, "note: {}\n", note);
    fmt::print("{}", bench_csv(result));
  } else {
    fmt::print("{}", format == "json" ? bench_json(result) : bench_text(result));
  }
}

/// A prediction must not depend on the shell it is made in.
void say_shell_is_not_read(const Environment& asked) {
  for (const std::string_view name : acting_variables()) {
    if (std::getenv(std::string(name).c_str()) == nullptr || asked.get(name)) continue;
    fmt::print(stderr, "{0} is set in this shell but not read: give --env {0}=...\n", name);
  }
}

int run(const BenchOptions& options, const CLI::App& command) {
  const BenchConfig asked = config(options, command);
  for (const std::string& name : asked.environment.not_acted_on())
    fmt::print(stderr, "{}: not acted on yet\n", name);
  say_what_is_ignored(command, options.nccl_tests);
  say_shell_is_not_read(asked.environment);
  BenchResult result;
  {
    Progress progress;
    result = run_bench(asked, load_parts(options.parts), progress.callback());
  }
  print_result(result, options.format);
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "nccl-tests for hardware you don't have");
  command->add_option("--topology", options->topology, "preset name, YAML file or NCCL's XML")
      ->required();
  command->add_option("--nodes", options->nodes,
                      "1,2,4 or 1..64 (doubling); default: the topology's, else 1");
  command
      ->add_option("--gpus-per-node", options->gpus_per_node, "use only so many GPUs of each node")
      ->check(whole_number(1, kGpusPerNodeMax));
  command->add_option("--fabric", options->fabric,
                      "preset name or YAML file; default: non-blocking rails");
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  command->add_option("--nccl", options->nccl, "2.21.5, 2.27.7 or 2.30.7")->capture_default_str();
  command
      ->add_option("--collective", options->collective,
                   "all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv, "
                   "gather, scatter (list)")
      ->capture_default_str();
  command->add_option("--sizes", options->sizes, "8B..16GiB (doubling), 8B..1GiB:x4, or 1MiB,64MiB")
      ->capture_default_str();
  command->add_option("--env", options->env, "NAME=value, as the job would see it; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--env-file", options->env_file, "file of NAME=value lines");
  command->add_option("--format", options->format)
      ->check(one_of({"text", "csv", "json"}))
      ->capture_default_str();
  command->add_flag("--explain", options->explain,
                    "say where the time went and name the busiest links");
  command->add_flag("--no-fold", options->no_fold, "simulate every rank (always so at present)");
  add_nccl_tests_options(*command, options->nccl_tests);
  command->callback([options, command, &action] {
    action = [options, command] { return run(*options, *command); };
  });
}

}  // namespace fabricast
