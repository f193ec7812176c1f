
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/options/asked_bench.hpp"
#include "cli/options/budget_option.hpp"
#include "cli/options/engine_option.hpp"
#include "cli/options/expert_options.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/nccl_tests.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/tuner_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/program.hpp"
#include "cli/workers.hpp"
#include "models/io/algorithms/read_algorithm.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/bench/bench_bounds_text.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "models/studies/bench/timeline_json.hpp"
#include "models/studies/experts/experts_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct BenchOptions {
  JobOptions job;
  std::string topology, fabric, tuner;
  std::string collective = "all_reduce", sizes = "8B..8GiB", format = "text";
  std::string algorithm_file, engine = kNoEngine, split, trace, trace_ranks;
  std::string network = "chunk", routing;
  BudgetOption budget;
  std::vector<std::string> faults, background;
  int seed = 1;
  bool one_shot = false, explain = false, explain_fold = false, no_fold = false, sharp = false;
  NcclTestsOptions nccl_tests;
  ExpertOptions experts;  ///< of ep_dispatch and ep_combine
};

std::vector<Bytes> sizes(const BenchOptions& options, const CLI::App& command) {
  if (!options.nccl_tests.asks_for_sizes(command)) return sizes_from_option(options.sizes);
  if (given(command, "--sizes"))
    throw Error(about("--sizes"), "--sizes and -b/-e/-f/-i both say what sizes to run",
                "give one of the two");
  return options.nccl_tests.sizes();
}

/// The ranks to trace, if any.
std::optional<TimelineFilter> traced(const BenchOptions& options) {
  if (options.trace.empty()) {
    if (!options.trace_ranks.empty())
      throw Error(about("--trace-ranks"), "--trace-ranks without --trace",
                  "name the file: --trace out.json");
    return std::nullopt;
  }
  if (options.trace_ranks.empty()) return TimelineFilter{};
  return of_option("--trace-ranks", [&] { return parse_trace_ranks(options.trace_ranks); });
}

void write_trace(const BenchResult& result, const std::string& path, Outputs& outputs) {
  const BenchBlock& block = result.blocks.front();
  const BenchRow& row = block.rows.front();
  outputs.write(path, [&](std::ostream& out) { write_timeline(out, result.config, block, row); });
  outputs.commit();
  print_err("{}: {} spans, for ui.perfetto.dev or chrome://tracing\n", path,
            row.timeline->spans.size());
}

BenchConfig config(const BenchOptions& options, const CLI::App& command,
                   const std::optional<CustomAlgorithm>& algorithm) {
  BenchConfig out;
  out.nodes = options.job.node_counts();
  static_cast<Job&>(out) = options.job.job(options.topology, options.fabric, options.sharp);
  out.gpus_per_process = options.nccl_tests.threads * options.nccl_tests.gpus;
  out.gpus_per_thread = options.nccl_tests.gpus;
  out.cuda_graph = options.nccl_tests.graphs > 0;
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  if (algorithm) {
    out.custom = &*algorithm;
    if (!given(command, "--collective")) out.collectives = {out.custom->collective};
  }
  out.sizes = sizes(options, command);
  out.datatype = options.nccl_tests.datatype;
  const std::vector<CallingEngine> engines = engines_from_option(options.engine);
  if (engines.size() > 1)
    throw Error(option_place("--engine"), "one at a time",
                "cutover compares several: --engine vllm,sglang");
  if (!engines.empty()) {
    out.engine = engines.front();
    if (!given(command, "--datatype")) out.datatype = "bfloat16";  // what engines add up
  }
  out.registered = registered_from_option(options.nccl_tests.registered);
  out.op = options.nccl_tests.op;
  out.root = options.nccl_tests.root;
  out.calls = options.nccl_tests.calls;
  out.explain = options.explain;
  out.one_shot = options.one_shot;
  out.fold = !options.no_fold;
  out.explain_fold = options.explain_fold;
  out.budget = options.budget.wanted(command);
  if (options.explain) out.budget.reset();  // what is bounded has no critical path
  if (!options.split.empty())
    out.split = of_option("--split", [&] { return parse_split(options.split); });
  out.trace = traced(options);
  out.network.rung = *kRungWords.find(options.network);
  if (!options.routing.empty()) out.network.routing = kRoutingWords.find(options.routing);
  out.network.seed = static_cast<std::uint64_t>(options.seed);
  for (const std::string& background : options.background)
    out.network.background.push_back(
        of_option("--background", [&] { return parse_background(background); }));
  for (const std::string& fault : options.faults)
    out.faults.push_back(of_option("--fault", [&] { return parse_fault(fault); }));
  return out;
}

void give_result(const BenchResult& result, const std::string& format, const BandTable& bands,
                 const Answers& answers) {
  if (format == "csv") {
    for (const BenchBlock& block : result.blocks) {
      const std::string network = network_text(block.network, block.cluster);
      if (!network.empty()) print_err("note: network: {}\n", network);
      for (const BenchRow& row : block.rows)
        if (row.bounds) print_err("note: {}\n", bounds_line(row));
    }
  }
  answers.give(
      format, [&] { return bench_text(result, bands); },
      [&] { return bench_report(result, bands); });
}

std::optional<std::vector<EpPhase>> phases_of(const BenchOptions& options) {
  return of_option("--collective", [&] { return expert_phases(options.collective); });
}

std::unique_ptr<AskedBench> asked_by(const BenchOptions& options, const CLI::App& command) {
  if (const std::optional<std::string> other = options.experts.given())
    throw Error(*other + " is of dispatch and combine alone",
                "add --collective ep_dispatch,ep_combine");
  auto out = std::make_unique<AskedBench>();
  if (!options.algorithm_file.empty()) out->algorithm = load_algorithm(options.algorithm_file);
  out->config = config(options, command, out->algorithm);
  out->parts = load_parts(options.job.parts);
  out->tuner = load_tuner_for(out->config, options.tuner, out->parts);
  out->bands = load_bands(options.job.parts);
  return out;
}

/// What says something of kernels that move tokens as well, besides the options of these.
constexpr std::string_view kOfExpertsToo[] = {
    "--topology", "--nics",      "--gpu",     "--fabric",   "--nodes",      "--gpus-per-node",
    "--parts",    "--nccl",      "--env",     "--env-file", "--collective", "--seed",
    "--one-shot", "--cudagraph", "--explain", "--format",   "--html",       "--jobs"};

void refuse_what_is_of_sizes(const BenchOptions& options, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || is_ignored(*option) ||
        std::ranges::find(kOfExpertsToo, option->get_name()) != std::end(kOfExpertsToo) ||
        std::ranges::find(options.experts.added, option) != options.experts.added.end())
      continue;
    throw Error(option->get_name(false, true) + " says nothing of ep_dispatch and ep_combine",
                "leave it out; --tokens, --hidden and --dtype say how much they move");
  }
}

/// Dispatch and combine, called as `bench` calls.
ExpertsConfig experts_config(const BenchOptions& options, const CLI::App& command,
                             std::vector<EpPhase> phases) {
  refuse_what_is_of_sizes(options, command);
  const bool graph = options.nccl_tests.graphs > 0;
  if (graph && options.one_shot)
    throw Error(about("--one-shot"),
                "--one-shot is a lone call from idle, -G calls in a CUDA graph",
                "give one of the two");
  ExpertsConfig out =
      options.experts.config(options.job, options.topology, options.fabric, options.seed);
  out.phases = std::move(phases);
  out.launch = graph ? EpLaunch::graph : options.one_shot ? EpLaunch::one_shot : EpLaunch::stream;
  return out;
}

int run_experts(const BenchOptions& options, const CLI::App& command, std::vector<EpPhase> phases,
                const Answers& answers) {
  const ExpertsConfig asked = experts_config(options, command, std::move(phases));
  say_what_is_ignored(command, options.nccl_tests);
  const ExpertsResult result = run_experts(asked, load_parts(options.job.parts));
  answers.give(
      options.format, [&] { return experts_text(result, options.explain); },
      [&] { return experts_report(result); });
  return kDone;
}

int run(const BenchOptions& options, const CLI::App& command, const Answers& answers) {
  if (auto phases = phases_of(options)) return run_experts(options, command, *phases, answers);
  const std::unique_ptr<AskedBench> asked = asked_by(options, command);
  const BandTable& bands = asked->bands;
  Outputs outputs(command);
  say_what_is_ignored(command, options.nccl_tests);
  BenchResult result;
  {
    Progress progress(answers);
    BenchWatch watch{progress.callback()};
    if (answers.so_far)
      watch.so_far = [&](const std::function<BenchResult()>& some) {
        answers.so_far([&] { return bench_report(some(), bands); });
      };
    result = run_bench(asked->config, asked->parts, watch, on_all_cores(answers, {}));
  }
  if (asked->config.trace) write_trace(result, options.trace, outputs);
  give_result(result, options.format, bands, answers);
  return result.completes() ? kDone : kCheckFailed;
}

CLI::App* add_command(CLI::App& app, const std::shared_ptr<BenchOptions>& options) {
  CLI::App* command = app.add_subcommand("bench", "nccl-tests for hardware you don't have");
  add_topology_option(*command, options->topology)->required();
  add_fabric_option(*command, options->fabric, "non-blocking rails");
  add_job_options(*command, options->job);
  command
      ->add_option("--collective", options->collective,
                   "all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv, "
                   "gather, scatter (list); or ep_dispatch, ep_combine of expert parallelism")
      ->capture_default_str();
  command->add_option("--algorithm-file", options->algorithm_file,
                      "run this instead of NCCL's own: MSCCL's XML, or YAML of chunks and steps");
  command
      ->add_option(
          "--engine", options->engine,
          "whose all-reduce runs: nccl, or the kernels of vllm, sglang, trtllm, flashinfer "
          "where they take them; a release too: vllm:0.14.0")
      ->capture_default_str();
  add_sizes_option(*command, options->sizes);
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->add_option("--network", options->network, "rung: chunk (fast), flow or packet (slow)")
      ->check(one_of(kRungWords.list()))
      ->capture_default_str();
  command
      ->add_option("--routing", options->routing,
                   "static, ecmp, adaptive or spray; default: the fabric's")
      ->check(one_of(kRoutingWords.list()));
  command
      ->add_option("--seed", options->seed,
                   "of ECMP hashes, of packet spraying, of the draw of experts")
      ->check(whole_number(0, 1 << 30))
      ->capture_default_str();
  command
      ->add_option(
          "--background", options->background,
          "traffic of other jobs: \"uplinks 40%\", \"leaf0.0 -> spine3 40% sl 1\"; may be repeated")
      ->expected(1)
      ->take_all();
  add_sharp_option(*command, options->sharp);
  add_tuner_option(*command, options->tuner);
  command->add_option("--split", options->split,
                      "several groups at the same time, by the colour of a rank, like nccl-tests' "
                      "NCCL_TESTS_SPLIT: \"%8\", \"/8\", \"&0x7\", \"MOD 8\"");
  command->add_flag("--one-shot", options->one_shot,
                    "the time of a lone call from idle, not that of one in a row");
  command->add_flag("--explain", options->explain,
                    "say where the time went and name the busiest links");
  command
      ->add_option("--fault", options->faults,
                   "what is broken or slow: \"nic node3:mlx5_0 rate 50%\", \"gpu node0:gpu3 speed "
                   "80%\", \"link NAME down 2s\", \"link NAME flap 10s 90%\"; may be repeated")
      ->expected(1)
      ->take_all();
  add_output_option(*command, "--trace", options->trace,
                    "write a timeline of the one run to this file, for ui.perfetto.dev");
  command->add_option("--trace-ranks", options->trace_ranks, "only these ranks: 0-7, or 3");
  command->add_flag("--explain-fold", options->explain_fold,
                    "say what of the run was simulated, and what stands against less");
  command->add_flag("--no-fold", options->no_fold, "simulate every rank and every event");
  add_budget_option(
      *command, options->budget,
      "CPU time for a row, at 10 million events a second; a ring or an all-to-all "
      "that takes more gets bounds of its time instead, or is extrapolated from fewer "
      "nodes as other calls and rungs are",
      "simulate every row, however long it takes");
  add_nccl_tests_options(*command, options->nccl_tests);
  add_expert_options(*command, options->experts, "ep_dispatch, ep_combine");
  return command;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = add_command(app, options);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

std::unique_ptr<AskedBench> ask_bench(const std::vector<std::string>& words) {
  CLI::App app("", "fabricast");
  app.require_subcommand(1);
  auto options = std::make_shared<BenchOptions>();
  const CLI::App* command = add_command(app, options);
  std::vector<std::string> all = {"bench"};
  all.insert(all.end(), words.begin(), words.end());
  parse_words(app, all);
  if (phases_of(*options))
    throw Error(option_place("--collective"),
                "dispatch and combine have no sizes to ask about again and again",
                "fabricast bench or fabricast experts have their times");
  return asked_by(*options, *command);
}

}  // namespace fabricast
