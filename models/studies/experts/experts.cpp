#include "models/studies/experts/experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/studies/experts/nccl_experts.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {
namespace {

/// Largest low-latency batch of DeepEP's own advice (docs/legacy.md).
constexpr int kLowLatencyTokens = 256;
/// NUM_MAX_RDMA_PEERS (DeepEP V1, csrc/kernels/configs.cuh).
constexpr int kNormalNodes = 20;
constexpr int kNodesMeasured = 4;
constexpr int kHopper = 90;

void check_choice(const ExpertChoice& choice) {
  if (choice.experts % choice.groups != 0)
    throw Error(option_place("--groups"), fmt::format("{} experts do not fall into {} equal groups",
                                                      choice.experts, choice.groups));
  if (choice.top_groups > choice.groups)
    throw Error(option_place("--top-groups"), fmt::format("{} of {} groups are more than there are",
                                                          choice.top_groups, choice.groups));
  const int reached = choice.experts / choice.groups * choice.top_groups;
  if (choice.top_k > reached)
    throw Error(option_place("--top-k"),
                fmt::format("{} experts a token are more than the {} that it can choose from",
                            choice.top_k, reached));
}

void check_ranks(const ExpertChoice& choice, int ranks) {
  if (ranks > kEpRanksMax)
    throw Error(option_place("--nodes"),
                fmt::format("{} GPUs in one group are more than {}", ranks, kEpRanksMax),
                "groups of expert parallelism are small: ask for one of them");
  if (ranks < 2)
    throw Error(option_place("--nodes"), "one GPU has all experts: nothing to dispatch");
  if (choice.experts < ranks)
    throw Error(
        option_place("--experts"),
        fmt::format("{} experts are less than one for each of {} GPUs", choice.experts, ranks),
        "ask for fewer --nodes, or --gpus-per-node");
}

double busiest_of(const TokenCounts& counts, bool by_expert) {
  std::int64_t most = 0, all = 0;
  for (int to = 0; to < counts.ranks(); ++to) {
    std::int64_t sum = 0;
    for (int from = 0; from < counts.ranks(); ++from)
      sum += by_expert ? counts.pairs(from, to) : counts.to_rank(from, to);
    most = std::max(most, sum);
    all += sum;
  }
  return all == 0 ? 1 : static_cast<double>(most) * counts.ranks() / static_cast<double>(all);
}

/// `domains`: NVLink domains, of which a server is one where NVLink does not join several.
void add_notes(const ExpertsRow& row, int domains, const GpuPart& gpu,
               std::vector<std::string>& notes) {
  if (row.mode == EpMode::low_latency && row.tokens > kLowLatencyTokens)
    add_once(notes,
             fmt::format("Low-latency kernels keep a buffer of the most tokens for every expert: "
                         "DeepEP advises {} tokens a GPU at most.",
                         kLowLatencyTokens));
  if (stays_in_domain(row.mode) && gpu.sm < 100)
    add_once(notes, "TensorRT-LLM's kernels were measured on GB200 alone: costs are those.");
  if (row.mode == EpMode::v2)
    add_once(
        notes,
        "DeepEP V2: costs are those of the five rows of its README, all of 8192 tokens; starts "
        "are assumed.");
  if (row.mode == EpMode::hybrid && domains > 1 && gpu.sm >= 100)
    add_once(notes,
             "Hybrid-EP was published between nodes of H100 only: what it costs between NVLink "
             "domains of Blackwell is taken from there.");
  if ((row.mode == EpMode::normal || row.mode == EpMode::low_latency) && domains > 1 &&
      gpu.sm >= 100)
    add_once(notes,
             "DeepEP was measured on several nodes of H100 only: what Blackwell's kernels cost "
             "between nodes is taken from there.");
  if (has_own_kernels(row.mode) && gpu.sm < kHopper)
    add_once(notes, "Nothing was measured on GPUs older than Hopper: costs are Hopper's.");
  if (row.mode == EpMode::normal && domains > kNormalNodes)
    add_once(notes, fmt::format("DeepEP V1 has normal kernels for {} nodes at most: on more of "
                                "them these are figures of kernels that do not exist yet.",
                                kNormalNodes));
  if (row.mode == EpMode::normal && domains > kNodesMeasured)
    add_once(notes,
             "Kernels were measured on up to four nodes: start-up costs on more of them are "
             "extrapolated, with the logarithm of their number.");
}

/// One phase, with what calling it takes.
EpResult run_phase(const ExpertsConfig& config, const Site& site, const SoftwareCosts& software,
                   const ExpertKernels& kernels, const ExpertCall& call, EpMode mode, EpPhase phase,
                   const TokenCounts& counts) {
  if (!has_own_kernels(mode))
    return run_nccl_experts(site, software, call, mode, phase, counts, config.launch);
  const EpWays ways(site.cluster, counts.gpus_per_node());
  EpResult out = run_ep_kernels(ways, kernels, call, mode, phase, counts);
  const GpuPart& gpu = site.cluster.node().gpus().front().part;
  EpLaunchCosts launch = kernels.launch;
  launch.host_call = site.cluster.node().python_time(launch.host_call);
  add_launch(out, launch_time(launch, config.launch, mode, phase, call.tokens,
                              gpu.launch.value_or(software.launch_any), out.time));
  return out;
}

}  // namespace

double printed_GBps(const EpResult& phase) {
  const double seconds = static_cast<double>((phase.time - phase.notify - phase.launch).ps) / 1e12;
  return seconds > 0 ? phase.counted_bytes / seconds / 1e9 : 0;
}

ExpertsResult run_experts(const ExpertsConfig& config, const PartsCatalogue& parts,
                          const std::function<void()>& poll) {
  check_choice(config.call.choice);
  ExpertsResult out;
  out.config = config;
  out.topology = std::filesystem::path(config.topology).stem().string();
  const ExpertKernels kernels = load_expert_kernels(config.kernels);
  const Topology topology = topology_of(config, parts);
  std::vector<int> nodes = config.nodes;
  if (nodes.empty()) nodes = {topology.nodes()};
  for (const EpMode mode : config.modes) {
    for (const int count : nodes) {
      const Site site = site_of(topology, config, nodes_of(config, count));
      const NodeGraph& node = site.cluster.node();
      const int gpus = gpus_used(site.cluster, config.gpus_per_node);
      const int ranks = gpus * site.cluster.nodes();
      check_ranks(config.call.choice, ranks);
      placed(option_place("--ep-mode"), [&] { check_reach(mode, site.cluster.nodes(), gpus); });
      for (const int tokens : config.tokens) {
        ExpertCall call = config.call;
        call.tokens = tokens;
        const TokenCounts counts = count_tokens(call, ranks, gpus);
        ExpertsRow row{count, ranks, tokens, mode, {}, {}, 1};
        for (const EpPhase phase : config.phases) {
          if (poll) poll();
          (phase == EpPhase::dispatch ? row.dispatch : row.combine) =
              run_phase(config, site, parts.software, kernels, call, mode, phase, counts);
        }
        row.busiest = busiest_of(counts, mode == EpMode::low_latency || mode == EpMode::nccl);
        add_notes(row, site.cluster.nodes(), node.gpus().front().part, out.notes);
        out.rows.push_back(std::move(row));
      }
    }
  }
  return out;
}

}  // namespace fabricast
