#include "models/nccl/nccl_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/error.hpp"

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;

/// Calls `visit` with every PCI function of a node.
template <class Visit>
void for_each_pci(const std::vector<Pci>& children, Visit&& visit) {
  for (const Pci& pci : children) {
    visit(pci);
    for_each_pci(pci.children, visit);
  }
}
template <class Visit>
void for_each_pci(const NodeDescription& node, Visit&& visit) {
  for (const NodeDescription::Cpu& cpu : node.cpus) for_each_pci(cpu.children, visit);
}

/// The indices of the nets that NCCL_IB_HCA leaves.
std::vector<int> usable_nets(const NodeDescription& node, const IbHcaFilter& filter, int nodes) {
  std::vector<int> out;
  std::string names;
  const std::vector<NodeDescription::Net> nets = nets_of(node);
  for (const NodeDescription::Net& net : nets) {
    if (filter.selects(net.name, net.port)) out.push_back(net.dev);
    names += (names.empty() ? "" : ", ") + net.name;
  }
  if (nodes > 1 && out.empty()) {
    if (nets.empty())
      throw Error(fmt::format("{} has no NIC, so {} nodes cannot talk", node.name, nodes));
    throw Error("NCCL_IB_HCA selects none of the node's HCAs: " + names,
                "without an HCA NCCL would fall back to sockets, which are not simulated yet");
  }
  return out;
}

std::vector<int> used_gpus(const NodeDescription& node, int wanted) {
  std::vector<int> gpus = gpu_devs(node);
  const auto known = static_cast<int>(gpus.size());
  if (wanted > known) {
    throw Error(fmt::format("{} GPUs per node asked for, but {} has {}", wanted, node.name, known),
                "lower --gpus-per-node, or raise --nodes");
  }
  if (wanted > 0) gpus.resize(static_cast<std::size_t>(wanted));
  return gpus;
}

struct ComputeCapabilities {
  int least = 0, most = 0;
};
ComputeCapabilities compute_capabilities(const NodeDescription& node,
                                         const std::vector<int>& gpus) {
  ComputeCapabilities out;
  for_each_pci(node, [&](const Pci& pci) {
    if (!pci.gpu || std::ranges::find(gpus, pci.gpu->dev) == gpus.end()) return;
    out.least = out.least == 0 ? pci.gpu->sm : std::min(out.least, pci.gpu->sm);
    out.most = std::max(out.most, pci.gpu->sm);
  });
  return out;
}

TunerInput tuner_input(const NodeDescription& node, const std::vector<int>& gpus,
                       const NcclCommunicator& made) {
  TunerInput input;
  input.version = made.version;
  input.ranks = made.ranks;
  input.nodes = made.nodes * made.graphs.topology.domains();
  const auto [least, most] = compute_capabilities(node, gpus);
  input.compute_capability_min = least;
  input.compute_capability_max = most;
  input.cpu = host_cpu(node.cpus.front().arch, node.cpus.front().vendor);
  input.settings = made.settings;
  input.ring = made.graphs.ring;
  input.tree = made.graphs.tree;
  // NCCL_NVLS_NCHANNELS of Hopper (src/transport/nvls.cc): they widen the communicator.
  constexpr int kNvlsChannels = 16;
  input.nvls = made.graphs.nvls.channel_count() > 0;
  ChannelCountInput counts;
  counts.version = made.version;
  counts.nodes = input.nodes;
  counts.compute_capability_min = least;
  counts.searched = input.ring.channel_count();
  counts.ring_bw_intra = input.ring.bw_intra;
  counts.nvls = input.nvls ? kNvlsChannels : 0;
  input.channels = channel_counts(counts, made.settings);
  return input;
}

}  // namespace

NcclCommunicator make_nccl_communicator(const NodeDescription& node,
                                        const NcclCommunicatorConfig& config) {
  std::vector<std::string> warnings;
  SearchInput input;
  input.version = config.version;
  input.nodes = config.nodes;
  input.gpus = used_gpus(node, config.gpus_per_node);
  input.settings = read_search_settings(config.environment, config.version, warnings);
  NcclSettings settings = read_settings(config.environment, config.version);
  warnings.insert(warnings.begin(), settings.warnings.begin(), settings.warnings.end());
  input.nics = usable_nets(node, settings.ib_hca, config.nodes);
  input.collnet = config.sharp && settings.collnet;
  input.nvls = settings.nvls;
  const auto gpus = static_cast<int>(input.gpus.size());
  NcclCommunicator made{config.version,
                        std::move(settings),
                        input.settings,
                        config.nodes,
                        gpus,
                        config.nodes * gpus,
                        input.nics,
                        search(node, input),
                        {},
                        std::move(warnings)};
  made.model = tuning_model(tuner_input(node, input.gpus, made));
  return made;
}

}  // namespace fabricast
