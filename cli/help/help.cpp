#include "cli/help/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "cli/output/outputs.hpp"

namespace fabricast {

namespace {

constexpr std::string_view kUngrouped = "Options";  ///< the group CLI11 puts options in

constexpr const char* kOutputGroup = "Output";

struct OptionGroup {
  std::string_view title;
  std::string_view names;  ///< with blanks around each
};
// What stands in no group is the command's own and comes first.
constexpr std::array kGroups = {
    OptionGroup{"Machine",
                " topology nics gpu fabric nodes gpus-per-node parts sharp network routing "
                "background fault seed "},
    OptionGroup{"Work", " collective sizes split one-shot layout algorithm-file "},
    OptionGroup{"NCCL", " nccl env env-file tuner releases from to "},
    OptionGroup{kOutputGroup,
                " format explain explain-fold details trace-ranks table "},  // and what is written
    OptionGroup{"Effort", " budget exact no-fold slices-max slices-max-final exhaustive jobs "},
    OptionGroup{"Slurm and other schedulers",
                " slurm partition time array-size print-commands share "},
    OptionGroup{"Own runs", " my-runs my-points my-rows try-my-runs "},
};

struct Examples {
  std::string_view command, first, second;
};
constexpr std::array kExamples = {
    Examples{"", "bench --topology dgx-h100 --nodes 1,8 --sizes 1MiB,1GiB", "help topologies"},
    Examples{"bench",
             "bench --topology hgx-h200 --nics 4 --nodes 1,16 --fabric fabric-ndr-fat-tree-2to1 "
             "--sizes 1MiB,1GiB --explain",
             "bench --topology dgx-h100 --collective ep_dispatch,ep_combine --tokens 128 -G 1"},
    Examples{"decide", "decide --topology dgx-h100 --nodes 2..64",
             "decide --topology node.yaml --nodes 4 --explain 64MiB --env NCCL_ALGO=Ring"},
    Examples{"cutover", "cutover --topology dgx-h100 --nodes 16",
             "cutover --topology hgx-b200 --nodes 4 --collective all_gather --sensitivity"},
    Examples{"upgrade", "upgrade --from 2.21.5 --to 2.28.9 --topology dgx-h100 --nodes 1..64",
             "upgrade --from 2.27.7 --targets machines.yaml --fail-over 5% --junit upgrade.xml"},
    Examples{"whatif", "whatif --topology dgx-h100 --nodes 16 --to NCCL_NVLS_ENABLE=0",
             "whatif --layout scenarios/steps/llama-3-70b.yaml --to NCCL_IB_HCA=mlx5_0"},
    Examples{"advise", "advise --topology dgx-h100 --nodes 16 --goal bandwidth",
             "advise --topology topo.txt --gpu H200_SXM --nodes 2 --goal latency --write env/"},
    Examples{"run", "run scenarios/h100-2node.yaml", "run scenarios/one-bad-part.yaml"},
    Examples{"topo", "topo dgx-h100", "topo dgx-h100-su --pair gpu0 node1/gpu3"},
    Examples{"lint", "lint job.sbatch --topology dgx-h100 --nodes 16",
             "lint --env NCCL_IB_HCA=mlx5_0 --topology dgx-h100"},
    Examples{"step", "step scenarios/steps/llama-3-70b.yaml",
             "step scenarios/steps/llama-3-70b.yaml --vary nodes=16,32,64"},
    Examples{
        "plan", "plan scenarios/steps/llama-3-70b.yaml",
        "plan scenarios/steps/llama-3-70b.yaml --vary topology=dgx-h100,hgx-b200 --format json"},
    Examples{"serve", "serve scenarios/serve/llama-2-70b-a100.yaml",
             "serve scenarios/serve-llama-3-70b.yaml --rate 8 --find-gpus"},
    Examples{"validate", "validate nccl-tests --runs runs.csv --points points.csv",
             "validate steps --cases steps.csv"},
    Examples{"validate nccl-tests",
             "validate nccl-tests --runs runs.csv --points points.csv --predictor nccl-model",
             "validate nccl-tests --runs runs.csv --points points.csv --node-of h100-2n"},
    Examples{"validate gate", "validate gate --runs runs.csv --points points.csv",
             "validate gate --runs runs.csv --points points.csv --sick-runs sick.csv "
             "--sick-points sick-points.csv"},
    Examples{"validate engines", "validate engines --file engines.csv",
             "validate engines --file engines.csv --format csv"},
    Examples{"validate registered", "validate registered --file registered.csv",
             "validate registered --file registered.csv --cross-validate --format csv"},
    Examples{"validate kernels", "validate kernels --file kernels.csv",
             "validate kernels --file kernels.csv --format csv"},
    Examples{"validate experts", "validate experts --file deepep.csv",
             "validate experts --file deepep.csv --format csv"},
    Examples{"validate serving", "validate serving --file serving.csv",
             "validate serving --file serving.csv --cross-validate --format json"},
    Examples{"validate steps", "validate steps --cases steps.csv",
             "validate steps --cases steps.csv --format csv"},
    Examples{"calibrate", "calibrate recipe.yaml --out own.yaml",
             "bench --topology dgx-h100 --parts own.yaml"},
    Examples{"judge", "judge all_reduce.log --topology topo.txt --gpu H100_SXM5 --nodes 2",
             "judge --inspector inspector.log --topology dgx-h100 --write-prometheus "
             "expected.prom"},
    Examples{"gate", "gate dgx-h100 --nodes 2",
             "gate dgx-h100 --nodes 4 --write-script gate.sh --write-alerts alerts.yaml"},
    Examples{"check", "check scenarios/rules-releases.yaml --nccl 2.30.7",
             "check rules.yaml --json now.json --baseline last-week.json"},
    Examples{"import", "import topo.txt ibstat.txt nccl.log",
             "import topo.txt --gpu H100_SXM5 --write node.yaml"},
    Examples{"memory", "memory --topology dgx-h100 --nodes 2",
             "memory --topology dgx-h100 --nodes 2 --collective all_reduce,alltoall --nccl "
             "2.18.6,2.21.5,2.27.7,2.30.7"},
    Examples{"experts", "experts --topology dgx-h100 --nodes 1,2,4 --tokens 128,4096",
             "experts --topology hgx-h200 --nodes 8 --groups 8 --top-groups 4 --ep-mode normal "
             "--tokens 4096 --explain"},
    Examples{"hang", "hang nccl_trace_rank_0 nccl_trace_rank_1",
             "hang scenarios/hang/communicator-order.yaml"},
    Examples{"placement",
             "placement topology.conf --hosts node[01-03,06-08,11-12] --topology dgx-h100 "
             "--fabric fabric-ndr-fat-tree-2to1 --sizes 256MiB",
             "placement topology.conf --hosts node[01-03,06-08] --topology dgx-h100 "
             "--oversubscription 2 --sizes 64MiB --neighbour neighbour.yaml"},
    Examples{"list", "list topologies", "list variables --format csv"},
    Examples{"schema", "schema", "schema step"},
    Examples{"sweep", "sweep scenarios/sweeps/oversubscription.yaml --store results.sqlite",
             "sweep status results.sqlite"},
    Examples{"sweep status", "sweep status results.sqlite",
             "sweep status results.sqlite --format csv"},
    Examples{"sweep merge", "sweep merge results.sqlite share-1.sqlite",
             "sweep merge all.sqlite share-1.sqlite share-2.sqlite"},
    Examples{"sweep cancel", "sweep cancel results.sqlite", "sweep cancel /shared/results.sqlite"},
    Examples{
        "query", "query results.sqlite --best step_s --group-by nodes",
        "query results.sqlite --where \"nodes >= 8\" --pareto step_s,usd_per_step --format csv"},
    Examples{"solve",
             "solve scenarios/steps/llama-3-70b-512.yaml --vary fabric.oversubscription=1..8 "
             "--until \"step_s <= 1.03 * base.step_s\"",
             "solve scenarios/h100-2node.yaml --fewest nics --such-that \"busbw_GBps >= 300\""},
    Examples{"compare", "compare --topology dgx-h100,hgx-b200 --nics 4,8 --nodes 64 --sizes 1GiB",
             "compare --topology dgx-h100 --fabric fabric-ndr-rail,fabric-ndr-fat-tree-2to1 "
             "--nodes 64 --layout scenarios/steps/llama-3-70b-512.yaml --html purchase.html"},
    Examples{"report", "report cutover.json whatif.json --html purchase.html",
             "report monday.html friday.html --html both.html"},
    Examples{"ui", "ui", "ui --port 8080"},
    Examples{"completion", "completion bash", "completion fish"},
    Examples{"help", "help bench", "help sizes"},
};

/// Options in the default group go to that of their meaning.
void group_options(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_group() != kUngrouped) continue;
    if (names_output(*option)) {
      option->group(kOutputGroup);
      continue;
    }
    const std::string name = " " + option->get_lnames().front() + " ";
    const auto group = std::ranges::find_if(
        kGroups, [&](const OptionGroup& one) { return one.names.find(name) != one.names.npos; });
    if (group != kGroups.end()) option->group(std::string(group->title));
  }
}

void lay_out(CLI::App& command, const std::string& name) {
  group_options(command);
  const auto examples = std::ranges::find(kExamples, name, &Examples::command);
  if (examples != kExamples.end())
    command.footer(fmt::format("\nExamples:\n  fabricast {}\n  fabricast {}", examples->first,
                               examples->second));
  for (CLI::App* below : command.get_subcommands({}))
    lay_out(*below, name.empty() ? below->get_name() : name + " " + below->get_name());
}

}  // namespace

void lay_out_help(CLI::App& app) { lay_out(app, ""); }

}  // namespace fabricast
