#include "models/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "models/hardware/sharp.hpp"
#include "models/nccl/call_plan.hpp"
#include "models/nccl/p2p_call.hpp"

namespace fabricast {
namespace {

int domains(const Communicator& communicator) { return communicator.graphs.topology.domains(); }

/// Whether a search of another group found the same on GPUs with the same numbers. Notes which NIC
/// it has where the first group has another.
bool match(const ChannelGraph& first, const ChannelGraph& other, std::vector<int>& nic_of) {
  if (first.channel_count() != other.channel_count()) return false;
  const auto pair_up = [&](int nic, int own) {
    if (nic < 0) return own < 0;
    int& known = nic_of[static_cast<std::size_t>(nic)];
    if (known < 0) known = own;
    return own >= 0 && known == own;
  };
  for (std::size_t i = 0; i < first.channels.size(); ++i) {
    const GraphChannel &a = first.channels[i], &b = other.channels[i];
    if (a.gpu_order != b.gpu_order || !pair_up(a.net_in, b.net_in) ||
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

/// What `decision` makes of the call.
CollectiveRun run_of(const Communicator& communicator, const Call& call,
                     const TunerDecision& decision) {
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
  run.members = communicator.members.split(communicator.joined.empty() ? 1 : domains(communicator));
  run.threads = decision.threads;
  run.buffers = communicator.settings.buffers;
  run.transport = transport_rules(communicator);
  run.graph = graph_of(communicator.model.input, run.algorithm);
  return run;
}

/// Which NIC of each group does what a NIC of the first does; nothing where the groups are unlike.
std::vector<std::vector<int>> matching_nics(const NodeDescription& node,
                                            const NcclCommunicatorConfig& config,
                                            const Communicator& made, std::size_t nics) {
  const int groups = domains(made), gpus = made.gpus_per_node / groups;
  if (made.gpus_per_node % groups != 0) return {};
  const std::vector<int>& domain_of = made.graphs.topology.domain_of();  // the first of each
  for (int i = 0; i < made.gpus_per_node; ++i)
    if (domain_of[static_cast<std::size_t>(i)] != i / gpus * gpus) return {};
  std::vector<std::vector<int>> out;
  for (int group = 0; group < groups; ++group) {
    const auto first = made.members.gpus().begin() + group * gpus;
    NcclCommunicatorConfig alone = config;
    alone.members = Members(Members::first(made.nodes * groups, 1).nodes(), {first, first + gpus});
    const Communicator own = make_nccl_communicator(node, alone);
    if (domains(own) != 1) return {};
    out.emplace_back(nics, -1);
    for (const auto graph : {&SearchResult::ring, &SearchResult::tree})
      if (!match(made.graphs.*graph, own.graphs.*graph, out.back())) return {};
  }
  return out;
}

/// Each group is a node of its own, as to NCCL; where they are unlike, one node that host memory
/// joins.
Communicator split(const NodeDescription& node, NcclCommunicatorConfig config,
                   const NodeGraph& hardware, const std::string& what) {
  Communicator apart = make_nccl_communicator(node, config);
  const std::vector<int> domain_of = apart.graphs.topology.domain_of();
  apart.domain_nics = matching_nics(node, config, apart, hardware.nics().size());
  config.environment.set("NCCL_NET_DISABLE_INTRA", "1");
  config.environment.set("NCCL_SHM_DISABLE", "0");
  Communicator joined = make_nccl_communicator(node, config);
  joined.domain_of.resize(hardware.gpus().size());
  for (std::size_t i = 0; i < joined.members.gpus().size(); ++i)
    joined.domain_of[static_cast<std::size_t>(joined.members.gpus()[i])] = domain_of[i];
  if (apart.domain_nics.empty()) {
    joined.warnings.push_back(
        what +
        ": so do their bytes here, but algorithms, channels and sizes are those that NCCL decides "
        "on with host memory between them.");
    return joined;
  }
  const int gpus = apart.gpus_per_node / domains(apart);
  apart.domain_of = joined.domain_of;
  for (std::size_t i = 0; i < apart.members.gpus().size(); ++i)
    apart.domain_of[static_cast<std::size_t>(apart.members.gpus()[i])] = static_cast<int>(i) / gpus;
  apart.joined.push_back(std::move(joined));
  apart.warnings.push_back(
      what +
      ": each is a node here, too, without NVLS; sends and receives are decided as if host memory "
      "joined them.");
  return apart;
}

}  // namespace

Communicator make_communicator(const Cluster& cluster, const CommunicatorConfig& config) {
  if (!config.members.empty() && config.members.nodes().back() >= cluster.nodes())
    throw Error(fmt::format("there is no node{}: there are {} (node0..node{})",
                            config.members.nodes().back(), cluster.nodes(), cluster.nodes() - 1));
  NcclCommunicatorConfig wanted{config.version, config.environment, cluster.nodes(),
                                cluster.node().trays() > 1 ? 0 : config.gpus_per_node,
                                config.sharp};
  wanted.trays = cluster.node().trays();
  wanted.members = config.members;
  const NodeDescription node = config.description ? *config.description : describe(cluster.node());
  Communicator made = make_nccl_communicator(node, wanted);
  if (made.model.input.collnet) {
    wanted.no_sharp = sharp_refusal(cluster, made.members.nodes(), made.nics);
    if (!wanted.no_sharp.empty()) made = make_nccl_communicator(node, wanted);
  }
  const int groups = made.graphs.topology.domains();
  if (groups == 1) return made;
  const std::string what = fmt::format(
      "the GPUs of {} fall apart into {} groups that NCCL joins by the network", node.name, groups);
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
  wanted.sharp = false;
  wanted.environment.set("NCCL_NVLS_ENABLE", "0");  // it does not join what falls apart
  return split(node, wanted, cluster.node(), what);
}

TransportRules transport_rules(const Communicator& communicator) {
  TransportRules rules = transport_rules(communicator.search_settings, communicator.version);
  rules.p2p_level = communicator.graphs.topology.p2p_level();
  rules.network = communicator.network;
  rules.domain_of = communicator.domain_of;
  rules.domain_nics = communicator.domain_nics;
  return rules;
}

DecidedCall decide_call(const Communicator& communicator, const Call& call) {
  assert(call.count > 0 && call.root < communicator.ranks);
  assert(is_tuned(call.collective) || call.calls == 1);
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
