#include "models/nccl/communicator/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/hardware/cluster/sharp.hpp"
#include "models/nccl/communicator/p2p_call.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/nccl/tuner/call_plan.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

int domains(const Communicator& communicator) { return communicator.graphs.topology.domains(); }

/// Whether another group found the same, on GPUs whose numbers are `shift` higher. Notes which NIC
/// it has where the first group has another.
bool match(const ChannelGraph& first, const ChannelGraph& other, int shift,
           std::vector<int>& nic_of) {
  if (first.pattern != other.pattern || other.channels.size() < first.channels.size()) return false;
  const auto pair_up = [&](int nic, int own) {
    if (nic < 0) return own < 0;
    int& known = nic_of[static_cast<std::size_t>(nic)];
    if (known < 0) known = own;
    return own >= 0 && known == own;
  };
  const auto is_shifted = [&](int gpu, int own) { return gpu + shift == own; };
  for (std::size_t i = 0; i < first.channels.size(); ++i) {
    const GraphChannel &a = first.channels[i], &b = other.channels[i];
    if (!std::ranges::equal(a.gpu_order, b.gpu_order, is_shifted) || !pair_up(a.net_in, b.net_in) ||
        !pair_up(a.net_out, b.net_out))
      return false;
  }
  return true;
}

std::string listed(const std::vector<Candidate>& candidates) {
  std::string out;
  for (const Candidate& c : candidates) {
    if (!c.excluded.empty())
      out += fmt::format("\n  {} {}: {}", to_text(c.algorithm), to_text(c.protocol), c.excluded);
  }
  return out;
}

/// A host that falls apart, into groups that are unlike.
bool has_unlike_groups(const Communicator& communicator) {
  return !communicator.joined.empty() && communicator.domain_nics.empty();
}

void check_is_simulated(const Communicator& communicator, Algorithm algorithm) {
  if (communicator.joined.empty()) return;
  const bool is_plain =
      algorithm == Algorithm::ring || algorithm == Algorithm::tree || algorithm == Algorithm::pat;
  if (is_plain || (algorithm == Algorithm::nvls_tree && !has_unlike_groups(communicator))) return;
  throw Error(fmt::format("NCCL takes {} here, which is not simulated where hosts fall apart into "
                          "groups that {}",
                          to_text(algorithm),
                          has_unlike_groups(communicator) ? "are unlike" : "SHARP serves"),
              fmt::format("NCCL_ALGO=^{} keeps it out", to_text(algorithm)));
}

/// What `decision` makes of the call.
CollectiveRun run_of(const Communicator& communicator, const Call& call,
                     const TunerDecision& decision) {
  check_is_simulated(communicator, *decision.algorithm);
  CollectiveRun run;
  run.version = communicator.version;
  run.collective = call.collective;
  run.algorithm = *decision.algorithm;
  run.protocol = decision.protocol;
  run.count = call.count;
  run.element_bytes = call.element_bytes;
  run.root = call.root;
  run.calls = call.calls;
  run.channels = decision.channels;
  const PartitionInput split =
      split_of(communicator.model, call.collective, call.count, call.element_bytes, decision);
  run.communicator_channels = split.communicator_channels;
  run.heads = split.heads;
  run.members = members_called(communicator);
  run.threads = decision.threads;
  run.buffers = communicator.settings.buffers;
  const TuningModel& ways =
      has_unlike_groups(communicator) ? communicator.joined.front().model : communicator.model;
  run.graph = graph_of(ways.input, run.algorithm);
  run.transport = transport_rules(communicator, run);
  return run;
}

/// Which NIC of each group does what a NIC of the first does; nothing where the groups are unlike.
std::vector<std::vector<int>> matching_nics(const Communicator& made, std::size_t nics) {
  const int groups = domains(made), gpus = made.gpus_per_node / groups;
  if (made.gpus_per_node % groups != 0) return {};
  const std::vector<int>& domain_of = made.graphs.topology.domain_of();
  for (int i = 0; i < made.gpus_per_node; ++i) {
    if (domain_of[static_cast<std::size_t>(i)] !=
        domain_of[static_cast<std::size_t>(i / gpus * gpus)])
      return {};
  }
  std::vector<std::vector<int>> out;
  for (const NcclGraphs& own : made.graphs.by_domain) {
    const int shift = static_cast<int>(out.size()) * gpus;
    out.emplace_back(nics, -1);
    for (const auto graph : {&NcclGraphs::ring, &NcclGraphs::tree, &NcclGraphs::nvls})
      if (!match(made.graphs.*graph, own.*graph, shift, out.back())) return {};
  }
  return out;
}

/// What is simulated of a host that falls apart: nodes of their own, where the groups are alike;
/// where they are unlike, the ways of one node that host memory joins.
void split(const NodeDescription& node, NcclCommunicatorConfig config, const NodeGraph& hardware,
           Communicator& apart) {
  config.memory_joins = true;
  config.sharp = false;
  apart.joined.push_back(make_nccl_communicator(node, config));
  apart.domain_nics = matching_nics(apart, hardware.nics().size());
  const std::vector<int>& domain_of = apart.graphs.topology.domain_of();
  const int gpus = apart.gpus_per_node / domains(apart);
  apart.domain_of.resize(hardware.gpus().size());
  for (std::size_t i = 0; i < apart.members.gpus().size(); ++i)
    apart.domain_of[static_cast<std::size_t>(apart.members.gpus()[i])] =
        apart.domain_nics.empty() ? domain_of[i] : static_cast<int>(i) / gpus;
  apart.joined.front().domain_of = apart.domain_of;
  if (!apart.domain_nics.empty()) apart.joined.front().p2p = apart.p2p;
  apart.warnings.emplace_back(
      apart.domain_nics.empty()
          ? "those groups are unlike: their bytes go through the NICs nearest to the GPUs, along "
            "the rings and trees of a node that host memory joins."
          : "sends and receives between those groups are decided as if host memory joined them.");
}

/// What NCCL is told of each node, and what it is asked for.
struct Asked {
  NodeDescription node;
  NcclCommunicatorConfig config;
};

Asked asked_of(const Cluster& cluster, const CommunicatorConfig& config) {
  if (!config.members.empty() && config.members.nodes().back() >= cluster.nodes())
    throw Error(fmt::format("there is no node{}: there are {} (node0..node{})",
                            config.members.nodes().back(), cluster.nodes(), cluster.nodes() - 1));
  Asked out{config.description ? *config.description : describe(cluster.node()),
            {config.version, config.environment, cluster.nodes(),
             gpus_asked_of_node(cluster.node().trays(), config.gpus_per_node), config.sharp}};
  out.config.trays = cluster.node().trays();
  out.config.members = config.members;
  out.config.tuner = config.tuner;
  const auto lacks_gdr = [&](int node) { return !cluster.offers_gdr(node); };
  out.config.lacks_gdr = config.members.empty()
                             ? !cluster.offers_gdr_everywhere()
                             : std::ranges::any_of(config.members.nodes(), lacks_gdr);
  out.config.lacks_p2p = !cluster.node().peer_to_peer();
  return out;
}

Communicator decided(const Cluster& cluster, const Asked& asked) {
  Communicator made = make_nccl_communicator(asked.node, asked.config);
  if (!made.model.input.collnet) return made;
  NcclCommunicatorConfig without = asked.config;
  without.no_sharp = sharp_refusal(cluster, made.members.nodes(), made.nics);
  return without.no_sharp.empty() ? made : make_nccl_communicator(asked.node, without);
}

void check_kernels(NcclVersion version, const GpuPart& gpu) {
  if (has_kernels(version, gpu.sm)) return;
  throw Error(
      why_no_kernels(version, gpu.sm, gpu.name),
      fmt::format("take NCCL {} or later; decide and lint answer what the rules of {} would "
                  "say",
                  to_text(*kernels_since(gpu.sm)), to_text(version)));
}

/// A port runs at the rate of its slower end.
void note_slow_ports(const Cluster& cluster, std::vector<std::string>& warnings) {
  if (cluster.nodes() == 1 || cluster.node().nics().empty()) return;
  const FabricSwitchPart& leaf = cluster.fabric().leaf;
  Bandwidth fastest;
  for (const NicInfo& nic : cluster.node().nics()) fastest = std::max(fastest, nic.speed);
  if (fastest <= leaf.port_rate) return;
  const std::string theirs = to_bits_text(fastest), its = to_bits_text(leaf.port_rate);
  warnings.push_back(fmt::format(
      "NICs of {} run at {}, as the ports of the fabric's leaves ({}) do; NCCL decides as if they "
      "ran at {}: write speed: {} at the NICs of a node file if their ports negotiate it, or name "
      "a --fabric of faster switches.",
      theirs, its, leaf.name, theirs, its));
}

/// Hosts whose GPUs fall apart are as many nodes as there are groups.
Communicator joined_or_split(const Cluster& cluster, const CommunicatorConfig& config) {
  for (const GpuInfo& gpu : cluster.node().gpus()) check_kernels(config.version, gpu.part);
  const Asked asked = asked_of(cluster, config);
  Communicator made = decided(cluster, asked);
  if (domains(made) == 1) return made;
  const std::string what = apart_text(asked.node, domains(made));
  if (cluster.node().trays() > 1) {
    throw Error(what + "; that is not simulated between hosts of an NVLink domain",
                "NCCL_MNNVL_ENABLE=0 makes every host a node of its own");
  }
  const bool may_not = made.search_settings.net_disable_intra;
  if (cluster.node().nics().empty() || may_not) {
    throw Error(fmt::format("{}, but {}", what,
                            may_not ? "NCCL_NET_DISABLE_INTRA=1 forbids that" : "it has no NIC"),
                "NCCL_SHM_DISABLE and NCCL_P2P_DISABLE or NCCL_P2P_LEVEL together do that");
  }
  split(asked.node, asked.config, cluster.node(), made);
  return made;
}

/// Threads of its blocks that reduce up are others than those that broadcast down.
bool is_up_and_down(Algorithm algorithm) {
  return algorithm == Algorithm::tree || algorithm == Algorithm::nvls_tree ||
         algorithm == Algorithm::collnet_chain;
}

}  // namespace

Members members_called(const Communicator& communicator) {
  const bool is_split = !communicator.joined.empty() && !has_unlike_groups(communicator);
  return communicator.members.split(is_split ? domains(communicator) : 1);
}

Communicator make_communicator(const Cluster& cluster, const CommunicatorConfig& config) {
  Communicator made = joined_or_split(cluster, config);
  note_slow_ports(cluster, made.warnings);
  return made;
}

Communicator decided_communicator(const Cluster& cluster, const CommunicatorConfig& config) {
  return decided(cluster, asked_of(cluster, config));
}

TransportRules transport_rules(const Communicator& communicator) {
  TransportRules rules = transport_rules(communicator.search_settings, communicator.version);
  rules.p2p_level = communicator.graphs.topology.p2p_level();
  rules.network = communicator.network;
  rules.domain_of = communicator.domain_of;
  rules.domain_nics = communicator.domain_nics;
  return rules;
}

TransportRules transport_rules(const Communicator& communicator, const CollectiveRun& run) {
  TransportRules rules = transport_rules(communicator);
  rules.traffic = traffic_of(run.collective, communicator.ranks);
  if (!is_tuned(run.collective) || run.custom != nullptr) return rules;
  if (rules.traffic.kind == GpuTraffic::Kind::one_way) return rules;
  if (run.algorithm == Algorithm::ring) rules.traffic = ring_traffic(run.graph, run.members);
  if (is_up_and_down(run.algorithm)) rules.traffic.kind = GpuTraffic::Kind::trees;
  return rules;
}

DecidedCall decide_call(const Communicator& communicator, const Call& call) {
  assert(call.count > 0 && call.root < communicator.ranks);
  if (!is_tuned(call.collective)) return decide_p2p_call(communicator, call);
  const Bytes size =
      message_size(call.collective, call.count, call.element_bytes, communicator.ranks);
  DecidedCall out;
  out.decision = decide(communicator.model, call.collective, size, call.element_bytes, call.calls);
  if (!out.decision.algorithm) {
    throw Error(fmt::format("{}: NCCL refuses the call, nothing is left to choose from:{}",
                            to_text(call.collective), listed(out.decision.candidates)));
  }
  out.run = run_of(communicator, call, out.decision);
  return out;
}

DecidedCall decided_as(const Communicator& communicator, const Call& call,
                       const Candidate& candidate) {
  assert(candidate.excluded.empty());
  DecidedCall out;
  take(communicator.model, candidate,
       message_size(call.collective, call.count, call.element_bytes, communicator.ranks),
       out.decision);
  out.run = run_of(communicator, call, out.decision);
  return out;
}

}  // namespace fabricast
