#include "models/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "models/nccl/nccl_search.hpp"

namespace fabricast {

namespace {

// NCCL_NVLS_NCHANNELS of Hopper (src/transport/nvls.cc): they widen the communicator.
constexpr int kNvlsChannels = 16;

std::vector<int> usable_nics(const NodeGraph& node, const IbHcaFilter& filter) {
  std::vector<int> out;
  for (std::size_t i = 0; i < node.nics().size(); ++i) {
    const NicInfo& nic = node.nics()[i];
    if (filter.selects(nic.name, nic.port)) out.push_back(static_cast<int>(i));
  }
  return out;
}

std::string nic_names(const NodeGraph& node) {
  std::string out;
  for (const NicInfo& nic : node.nics()) out += (out.empty() ? "" : ", ") + nic.name;
  return out;
}

SearchResult find_channels(const NodeDescription& node, const Communicator& made) {
  SearchInput input;
  input.version = made.version;
  input.nodes = made.nodes;
  input.gpus = gpu_devs(node);
  input.gpus.resize(static_cast<std::size_t>(made.gpus_per_node));
  input.nics = made.nics;
  SearchResult graphs = search(node, input);
  const int left = graphs.topology.graph().count(TopoKind::gpu);
  if (left == made.gpus_per_node) return graphs;
  throw Error(
      fmt::format("NCCL would take the {} GPUs of a node for several nodes, the first of {}: "
                  "their NICs are faster than the way between them",
                  made.gpus_per_node, left),
      "such a node is not simulated yet");
}

TunerInput tuner_input(const NodeGraph& node, const NodeDescription& described,
                       const Communicator& made) {
  SearchResult graphs = find_channels(described, made);
  TunerInput input;
  input.version = made.version;
  input.nodes = made.nodes;
  input.ranks = made.ranks;
  input.compute_capability_min = input.compute_capability_max = node.gpus()[0].part.sm;
  for (int g = 1; g < made.gpus_per_node; ++g) {
    const int sm = node.gpus()[static_cast<std::size_t>(g)].part.sm;
    input.compute_capability_min = std::min(input.compute_capability_min, sm);
    input.compute_capability_max = std::max(input.compute_capability_max, sm);
  }
  const CpuPart& cpu = node.cpus()[0].part;
  input.cpu = host_cpu(cpu.arch, cpu.vendor);
  // Multicast groups need three GPUs up to 2.27, then two (src/transport/nvls.cc).
  input.nvls =
      graphs.nvls.channel_count() > 0 && made.gpus_per_node >= (made.version >= kNccl2_30 ? 2 : 3);
  input.settings = made.settings;
  ChannelCountInput counts;
  counts.version = made.version;
  counts.nodes = made.nodes;
  counts.compute_capability_min = input.compute_capability_min;
  counts.searched = std::min(graphs.ring.channel_count(), graphs.tree.channel_count());
  counts.ring_bw_intra = graphs.ring.bw_intra;
  counts.nvls = input.nvls ? kNvlsChannels : 0;
  input.channels = channel_counts(counts, made.settings);
  input.ring = std::move(graphs.ring);
  input.tree = std::move(graphs.tree);
  return input;
}

}  // namespace

Communicator make_communicator(const Cluster& cluster, const CommunicatorConfig& config) {
  const NodeGraph& node = cluster.node();
  const int gpus = static_cast<int>(node.gpus().size());
  if (config.gpus_per_node > gpus) {
    throw Error(fmt::format("{} GPUs per node asked for, but {} has {}", config.gpus_per_node,
                            node.name(), gpus),
                "lower --gpus-per-node, or raise --nodes");
  }
  Communicator made;
  made.version = config.version;
  made.settings = read_settings(config.environment, config.version);
  made.nodes = cluster.nodes();
  made.gpus_per_node = config.gpus_per_node > 0 ? config.gpus_per_node : gpus;
  made.ranks = made.nodes * made.gpus_per_node;
  made.nics = usable_nics(node, made.settings.ib_hca);
  if (made.nodes > 1 && made.nics.empty()) {
    if (node.nics().empty())
      throw Error(fmt::format("{} has no NIC, so {} nodes cannot talk", node.name(), made.nodes));
    throw Error("NCCL_IB_HCA selects none of the node's HCAs: " + nic_names(node),
                "without an HCA NCCL would fall back to sockets, which are not simulated yet");
  }
  made.model = tuning_model(
      tuner_input(node, config.description ? *config.description : describe(node), made));
  return made;
}

DecidedCall decide_call(const Communicator& communicator, const Call& call) {
  assert(call.count > 0 && call.root < communicator.ranks);
  const Bytes size =
      message_size(call.collective, call.count, call.element_bytes, communicator.ranks);
  DecidedCall out;
  out.decision = decide(communicator.model, call.collective, size);
  if (!out.decision.algorithm) {
    std::string why;
    for (const Candidate& candidate : out.decision.candidates) {
      if (candidate.excluded.empty()) continue;
      why += fmt::format("\n  {} {}: {}", to_text(candidate.algorithm), to_text(candidate.protocol),
                         candidate.excluded);
    }
    throw Error(fmt::format("{}: no algorithm is left that is executed here (Ring, Tree):{}",
                            to_text(call.collective), why));
  }
  const TunerInput& input = communicator.model.input;
  CollectiveRun& run = out.run;
  run.version = communicator.version;
  run.collective = call.collective;
  run.algorithm = *out.decision.algorithm;
  run.protocol = out.decision.protocol;
  run.count = call.count;
  run.element_bytes = call.element_bytes;
  run.root = call.root;
  run.channels = out.decision.channels;
  run.communicator_channels = input.channels.communicator;
  run.threads = out.decision.threads;
  run.buffers = communicator.settings.buffers;
  run.graph = run.algorithm == Algorithm::ring ? input.ring : input.tree;
  return out;
}

}  // namespace fabricast
