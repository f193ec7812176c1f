#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/commands.hpp"
#include "models/io/unit_text.hpp"
#include "models/io/words.hpp"
#include "models/studies/bench_text.hpp"

namespace fabricast {

namespace {

constexpr int kNodesMax = 1 << 20;
constexpr const char* kDefaultSizes = "8B..8GiB";

/// What was typed, before it means anything.
struct BenchOptions {
  std::string topology, fabric, nodes, nccl = "2.21.5", sizes, format = "text", env_file;
  std::string collective = "all_reduce";
  std::vector<std::string> env;
  int gpus_per_node = 0;
  bool explain = false, no_fold = false;
  // nccl-tests
  std::string minbytes, maxbytes, stepbytes, datatype = "float", op = "sum";
  int stepfactor = 0, threads = 1, gpus = 1, root = 0;
};

/// nccl-tests' other options: known command lines work as they are.
struct IgnoredOption {
  const char* names;
  const char* why;
};
constexpr IgnoredOption kIgnored[] = {
    {"-n,--iters", "one simulated iteration equals every other"},
    {"-w,--warmup_iters", "there is nothing to warm up"},
    {"-N,--run_cycles", "one cycle equals every other"},
    {"-m,--agg_iters", "calls are not aggregated"},
    {"-p,--parallel_init", "initialisation is not simulated"},
    {"-c,--check", "data are not computed"},
    {"-z,--blocking", "the host does not wait between calls"},
    {"-y,--stream_null", "streams are not told apart"},
    {"-T,--timeout", "nothing can hang"},
    {"-G,--cudagraph", "graph launches are not simulated"},
    {"-C,--report_cputime", "GPU time is reported"},
    {"-a,--average", "the slowest rank counts"},
    {"-R,--local_register", "user buffers are not registered"},
    {"-x,--cta_policy", "CTA policies are not simulated"},
    {"-M,--memory_report", "memory is not reported"},
    {"-J,--output_file", "use --format json"},
    {"-S,--report_timestamps", "there is no wall clock"},
    {"-I,--per_iter", "one simulated iteration equals every other"}};

std::vector<Bytes> nccl_tests_sizes(const BenchOptions& options) {
  const Bytes low = parse_nccl_tests_size(options.minbytes.empty() ? "32M" : options.minbytes);
  const Bytes high = options.maxbytes.empty() ? std::max(low, parse_nccl_tests_size("32M"))
                                              : parse_nccl_tests_size(options.maxbytes);
  if (high < low) {
    throw Error(fmt::format("-e {} is below -b {}", options.maxbytes, options.minbytes),
                "-b is the smallest size, -e the largest");
  }
  const bool by_factor = options.stepfactor > 0;
  if (by_factor && options.stepfactor < 2) throw Error("-f must be at least 2");
  const Bytes step = options.stepbytes.empty() ? Bytes{1 << 20} : parse_nccl_tests_size(options.stepbytes);
  constexpr std::size_t sizes_max = 10'000;
  std::vector<Bytes> out;
  for (Bytes size = low; size <= high; size = by_factor ? size * options.stepfactor : size + step) {
    if (out.size() == sizes_max) throw Error(fmt::format("more than {} sizes", sizes_max), "raise -i or use -f");
    out.push_back(size);
  }
  return out;
}

std::vector<Bytes> sizes(const BenchOptions& options) {
  const bool as_nccl_tests = !options.minbytes.empty() || !options.maxbytes.empty() ||
                             options.stepfactor != 0 || !options.stepbytes.empty();
  if (as_nccl_tests && !options.sizes.empty())
    throw Error("--sizes and -b/-e/-f/-i both say what sizes to run", "give one of the two");
  if (as_nccl_tests) return nccl_tests_sizes(options);
  return parse_sizes(options.sizes.empty() ? kDefaultSizes : options.sizes);
}

std::vector<Collective> collectives(const std::string& text) {
  std::vector<Collective> out;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    const auto collective = collective_from_text(trimmed(name));
    if (!collective) {
      std::vector<std::string> known;
      for (const Collective c : kAllCollectives) known.emplace_back(to_text(c));
      throw Error(fmt::format("unknown collective \"{}\"", name), hint_nearest(name, known));
    }
    out.push_back(*collective);
  }
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(Place{path, 0, {}}, "cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

BenchConfig config(const BenchOptions& options) {
  BenchConfig out;
  out.topology = options.topology;
  out.fabric = options.fabric;
  if (!options.nodes.empty()) out.nodes = parse_counts(options.nodes, "nodes", kNodesMax);
  out.gpus_per_node = options.gpus_per_node;
  out.gpus_per_process = options.threads * options.gpus;
  out.version = nccl_version_from_text(options.nccl);
  if (!options.env_file.empty())
    out.environment.read_text(read_file(options.env_file), options.env_file);
  for (const std::string& assignment : options.env) out.environment.set(assignment);
  out.collectives = collectives(options.collective);
  out.sizes = sizes(options);
  out.datatype = options.datatype;
  datatype_bytes(out.datatype);
  out.root = options.root;
  out.explain = options.explain;
  return out;
}

void say_what_does_not_act(const BenchConfig& asked, const BenchOptions& options,
                           const CLI::App& command) {
  for (const std::string& name : asked.environment.not_acted_on())
    fmt::print(stderr, "{}: not acted on yet\n", name);
  for (const IgnoredOption& ignored : kIgnored) {
    const std::string names = ignored.names;
    if (command.get_option(names.substr(names.find(',') + 1))->count() > 0)
      fmt::print(stderr, "{}: accepted, no effect: {}\n", names, ignored.why);
  }
  if (options.op != "sum") fmt::print(stderr, "-o {}: accepted, all operators take equal time\n", options.op);
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "nccl-tests for hardware you don't have");
  command->add_option("--topology", options->topology, "preset name or YAML file")->required();
  command->add_option("--nodes", options->nodes, "1,2,4 or 1..64 (doubling); default: the topology's, else 1");
  command->add_option("--gpus-per-node", options->gpus_per_node, "use only so many GPUs of each node")
      ->check(CLI::Range(1, 1024));
  command->add_option("--fabric", options->fabric, "preset name or YAML file; default: non-blocking rails");
  command->add_option("--nccl", options->nccl, "2.21.5, 2.27.7 or 2.30.7")->capture_default_str();
  command->add_option("--collective", options->collective,
                      "all_reduce, all_gather, reduce_scatter, broadcast, reduce (list)")
      ->capture_default_str();
  command->add_option("--sizes", options->sizes, "8B..16GiB (doubling), 8B..1GiB:x4, or 1MiB,64MiB");
  command->add_option("--env", options->env, "NAME=value, as the job would see it; may be repeated");
  command->add_option("--env-file", options->env_file, "file of NAME=value lines");
  command->add_option("--format", options->format)->check(CLI::IsMember({"text", "csv", "json"}))->capture_default_str();
  command->add_flag("--explain", options->explain, "say where the time went and name the busiest links");
  command->add_flag("--no-fold", options->no_fold, "simulate every rank (always so at present)");

  const char* tests = "nccl-tests";
  command->add_option("-b,--minbytes", options->minbytes, "smallest size; K, M, G are powers of 1024")->group(tests);
  command->add_option("-e,--maxbytes", options->maxbytes, "largest size")->group(tests);
  command->add_option("-f,--stepfactor", options->stepfactor, "factor between sizes")->group(tests);
  command->add_option("-i,--stepbytes", options->stepbytes, "step between sizes, default 1M")->group(tests);
  command->add_option("-t,--nthreads", options->threads, "threads per process")->check(CLI::Range(1, 1024))->group(tests);
  command->add_option("-g,--ngpus", options->gpus, "GPUs per thread: -t times -g GPUs share a process, whose launches serialise")
      ->check(CLI::Range(1, 1024))->group(tests);
  command->add_option("-d,--datatype", options->datatype, "element type")->capture_default_str()->group(tests);
  command->add_option("-o,--op", options->op, "reduction")->capture_default_str()->group(tests);
  command->add_option("-r,--root", options->root, "root rank of broadcast and reduce")->check(CLI::NonNegativeNumber)->group(tests);
  for (const IgnoredOption& ignored : kIgnored) {
    command
        ->add_option(
            ignored.names, [](const CLI::results_t&) { return true; },
            std::string("accepted, no effect: ") + ignored.why)
        ->type_name("VALUE")
        ->group(tests);
  }

  command->callback([options, command, &action] {
    action = [options, command] {
      const BenchConfig asked = config(*options);
      say_what_does_not_act(asked, *options, *command);
      BenchResult result;
      {
        Progress progress;
        result = run_bench(asked, load_parts(), progress.callback());
      }
      if (options->format == "csv") {
        for (const std::string& note : result.notes) fmt::print(stderr, "note: {}\n", note);
        fmt::print("{}", bench_csv(result));
      } else if (options->format == "json") {
        fmt::print("{}", bench_json(result));
      } else {
        fmt::print("{}", bench_text(result));
      }
      return kDone;
    };
  });
}

}  // namespace fabricast
