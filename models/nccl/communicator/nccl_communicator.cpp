#include "models/nccl/communicator/nccl_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/nccl/node/aws_ofi.hpp"
#include "models/nccl/node/gib.hpp"
#include "models/nccl/node/gpudirect_tcp.hpp"
#include "models/nccl/wiring/nvls_links.hpp"
#include "sim/base/error.hpp"

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

Members members_of(const NcclCommunicatorConfig& config, const NodeDescription& node, int known) {
  if (config.members.empty()) {
    const int wanted = config.gpus_per_node;
    check_gpus_asked(wanted, node.name, known);
    return Members::first(config.nodes, wanted > 0 ? wanted : known);
  }
  if (config.members.gpus().back() >= known)
    throw Error(fmt::format("there is no GPU {}: {} has {} (0..{})", config.members.gpus().back(),
                            node.name, known, known - 1));
  return config.members;
}

/// The driver lets no two of these GPUs reach each other over PCIe; over NVLink it does. NCCL asks
/// NVML of each pair (src/graph/paths.cc, ncclTopoCheckP2p).
void keep_p2p_to_nvlink(SearchSettings& settings, const NodeDescription& node) {
  bool has_nvlink = false;
  for_each_pci(node, [&](const Pci& pci) {
    has_nvlink = has_nvlink || (pci.gpu && !pci.gpu->nvlinks.empty());
  });
  if (has_nvlink) {
    settings.p2p_level = std::min(settings.p2p_level.value_or(PathType::nvl), PathType::nvl);
  } else {
    settings.p2p_disable = true;
  }
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

/// CollNet is given up again where the search found nothing, or the communicator is too small.
bool has_collnet(const SearchInput& searched, const NcclCommunicator& made, int nodes) {
  constexpr int kGpusMax = 8;  // per node, up to 2.22
  const bool fits = made.version >= kNccl2_23 || made.ranks / nodes <= kGpusMax;
  return searched.collnet && made.graphs.collnet_chain.channel_count() > 0 && fits &&
         nodes >= made.settings.collnet_nodes_min;
}

int head_count(const ChannelGraph& graph) { return static_cast<int>(distinct_heads(graph).size()); }

/// The slowest NIC that a GPU uses, GB/s.
float slowest_net(const NcclTopology& topology) {
  float bw = 0;
  for (const TopoVertexId gpu : topology.graph().all(TopoKind::gpu)) {
    for (const TopoVertexId net : topology.nearest(gpu, TopoKind::net)) {
      const float own = topology.graph().vertex(net).net.bw;
      bw = bw == 0 ? own : std::min(bw, own);
    }
  }
  return bw;
}

void set_nvls(TunerInput& input, const NcclTopology& topology) {
  // Up to 2.19 a GPU that two channels of the graph name is two heads.
  input.nvls_heads =
      input.version < kNccl2_20 ? input.nvls_graph.channel_count() : head_count(input.nvls_graph);
  input.nvls = input.nvls_heads > 0;
  if (!input.nvls) return;
  NvlsInput nvls;
  nvls.version = input.version;
  nvls.nodes = input.nodes;
  nvls.ranks_per_node = input.ranks / input.nodes;
  nvls.compute_capability_min = input.compute_capability_min;
  nvls.net_bw = slowest_net(topology);
  nvls.type_inter = input.nvls_graph.type_inter;
  input.nvls_setup = nvls_setup(nvls, input.settings);
}

/// From 2.22 on CollNet works through the heads of NVLS where there are any, and a chain must start
/// at one of them (checked since 2.30).
void set_collnet(TunerInput& input) {
  if (!input.collnet) return;
  const bool old = input.version < kNccl2_22;
  input.collnet_direct_heads = head_count(input.collnet_direct);
  const std::vector<int> heads =
      distinct_heads(!old && input.nvls ? input.nvls_graph : input.collnet_direct);
  input.collnet_heads = static_cast<int>(heads.size());
  if (input.version < kNccl2_30) return;
  for (const int head : distinct_heads(input.collnet_chain)) {
    if (std::ranges::find(heads, head) == heads.end()) input.collnet_chain_ok = false;
  }
}

ChannelCounts channels_of(const TunerInput& input) {
  ChannelCountInput counts;
  counts.version = input.version;
  counts.nodes = input.nodes;
  counts.compute_capability_min = input.compute_capability_min;
  counts.searched = input.ring.channel_count();
  counts.ring_bw_intra = input.ring.bw_intra;
  counts.nvls = input.nvls_setup.channels;
  const ChannelGraph& chain = input.collnet_chain;
  counts.collnet_widens =
      input.collnet && chain.bw_intra > chain.bw_inter && input.ranks > input.nodes;
  return channel_counts(counts, input.settings);
}

TunerInput tuner_input(const NodeDescription& node, const SearchInput& searched,
                       const NcclCommunicator& made) {
  const NcclTopology& topology = made.graphs.topology;
  TunerInput input;
  input.version = made.version;
  input.ranks = made.ranks;
  input.nodes = made.nodes * topology.domains();
  const auto [least, most] = compute_capabilities(node, searched.gpus);
  input.compute_capability_min = least;
  input.compute_capability_max = most;
  const auto& cpu = topology.graph().first_cpu().cpu;
  input.cpu = host_cpu(cpu.arch, cpu.vendor);
  input.nvswitch = topology.graph().count(TopoKind::nvs) > 0;
  input.settings = made.settings;
  input.ring = made.graphs.ring;
  input.tree = made.graphs.tree;
  input.collnet_chain = made.graphs.collnet_chain;
  input.collnet_direct = made.graphs.collnet_direct;
  input.nvls_graph = made.graphs.nvls;
  input.collnet = has_collnet(searched, made, input.nodes);
  set_nvls(input, topology);
  set_collnet(input);
  input.channels = channels_of(input);
  return input;
}

NcclCommunicator make(const NodeDescription& hardware, const NcclCommunicatorConfig& config,
                      const NcclCommunicator* other) {
  std::vector<std::string> warnings = environment_warnings(config.environment, config.version);
  Environment environment = with_aws_ofi(config.environment, hardware, config.version, warnings);
  environment = with_gpudirect_tcp(environment, hardware, config.version, warnings);
  environment = with_gib(environment, hardware, warnings);
  if (std::string note = rules_note(config.version); !note.empty())
    warnings.push_back(std::move(note));
  SearchInput input;
  input.version = config.version;
  const std::vector<int> devs = gpu_devs(hardware);
  const Members members = members_of(config, hardware, static_cast<int>(devs.size()));
  for (const int gpu : members.gpus()) input.gpus.push_back(devs[static_cast<std::size_t>(gpu)]);
  input.nodes = members.node_count();
  input.settings = read_search_settings(environment, config.version, warnings);
  if (config.lacks_p2p) keep_p2p_to_nvlink(input.settings, hardware);
  if (config.memory_joins) {
    input.settings.net_disable_intra = true;
    input.settings.shm_disable = false;
  }
  const SearchSettings ways = input.settings;
  if (config.lacks_gdr) input.settings.net_gdr_level = PathType::loc;
  NcclSettings settings = read_settings(environment, config.version);
  warnings.insert(warnings.end(), settings.warnings.begin(), settings.warnings.end());
  if (settings.collnet && !config.sharp) {
    warnings.emplace_back(
        "NCCL_COLLNET_ENABLE=1: no CollNet plugin is there (SHARP), so CollNet stays off");
  }
  const NetworkChoice network =
      choose_network(hardware, environment, config.version, settings.ib_hca, input.nodes, warnings);
  const NodeDescription& node = network.node;
  input.nics = network.nics;
  if (settings.collnet && config.sharp && !config.no_sharp.empty()) {
    warnings.push_back(fmt::format("SHARP: {}; NCCL goes on without CollNet and does not say so",
                                   config.no_sharp));
  }
  input.collnet = config.sharp && settings.collnet && config.no_sharp.empty() &&
                  has_verbs(network.settings.kind);
  if (input.collnet && !network.settings.fused.empty())
    throw Error("SHARP is not modelled where NCCL takes several NICs for one",
                "NCCL_IB_MERGE_NICS=0 keeps them apart");
  input.nvls = settings.nvls.enabled;
  const bool is_known = other != nullptr && other->nodes > 1 && input.nodes > 1;
  NcclCommunicator made{config.version,
                        std::move(settings),
                        ways,
                        members,
                        members.node_count(),
                        members.gpus_per_node(),
                        members.ranks(),
                        members.node_count() * config.trays,
                        input.nics,
                        is_known ? other->graphs : search(node, input),
                        {},
                        {},
                        std::move(warnings),
                        network.settings};
  made.lacks_gdr = config.lacks_gdr;
  TunerInput tuned_by = tuner_input(node, input, made);
  tuned_by.plugin = config.tuner;
  made.model = tuning_model(tuned_by);
  if (config.tuner != nullptr) {
    made.warnings.push_back(fmt::format("NCCL asks a tuner plugin: {}.", config.tuner->name()));
    for (std::string& note : config.tuner->notes()) made.warnings.push_back(std::move(note));
  }
  if (const int groups = made.graphs.topology.domains(); groups > 1)
    made.warnings.push_back(apart_text(node, groups) + ": each is a node to it.");
  if (const int sm = made.model.input.compute_capability_max; !has_kernels(made.version, sm))
    made.warnings.push_back(why_no_kernels(made.version, sm) +
                            ". What follows is what its rules would say.");
  const TunerInput& tuned = made.model.input;
  made.p2p = p2p_channels(
      made.graphs.topology,
      {tuned.nodes, tuned.ranks, tuned.channels.communicator, tuned.compute_capability_min},
      made.settings);
  return made;
}

}  // namespace

std::string apart_text(const NodeDescription& node, int groups) {
  return fmt::format("the GPUs of {} fall apart into {} groups that NCCL joins by the network",
                     node.name, groups);
}

NcclCommunicator make_nccl_communicator(const NodeDescription& node,
                                        const NcclCommunicatorConfig& config) {
  return make(node, config, nullptr);
}

NcclCommunicator make_nccl_communicator(const NodeDescription& node,
                                        const NcclCommunicatorConfig& config,
                                        const NcclCommunicator& other) {
  return make(node, config, &other);
}

}  // namespace fabricast
