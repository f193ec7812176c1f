#include "models/nccl/symmetry/run_hops.hpp"

#include "models/nccl/programs/pat_program.hpp"
#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {

/// On the NICs of the graph's channel.
void RunHops::add(std::vector<Hop>& out, int channel, int rank, int to) const {
  if (to < 0) return;
  const int gpus = members_.gpus_per_node();
  const auto nic = [&](int of) {
    return is_nvls(run_.algorithm) ? nic_of_head(run_.graph, of % gpus, channel)
                                   : nic_of(run_.graph, channel, of % gpus);
  };
  out.push_back({to, end(rank, nic(rank)), end(to, nic(to))});
}

void RunHops::add_ring(std::vector<Hop>& out, int channel, int rank) const {
  const RingOrder ring(run_.graph, members_.node_count(), channel, run_.version);
  const int to = ring.rank((ring.index(rank) + 1) % ring.ranks());
  NodeCrossing crossing;
  if (!is_near(rank, to)) crossing = ring.crossing(rank / members_.gpus_per_node());
  out.push_back({to, end(rank, crossing.from_nic), end(to, crossing.to_nic)});
}

/// The same rank of the next node.
int RunHops::next_node(int rank) const {
  return (rank + members_.gpus_per_node()) % members_.ranks();
}

void RunHops::add_messages(std::vector<Hop>& out, int channel, int rank) const {
  const int gpus = members_.gpus_per_node(), first = next_node(rank) / gpus * gpus;
  for (int on = 0; on < gpus; ++on) {
    const int local = (rank + on) % gpus, to = first + local;
    const P2pExit exit = run_.p2p.nics.exit(rank % gpus, local, channel);
    out.push_back({to, end(rank, exit.nic), end(to, run_.p2p.nics.entry(local, channel)),
                   members_.gpu(exit.proxy_gpu)});
  }
}

/// Of CollNet and SHARP: the channel's first GPU by the channel's NIC.
void RunHops::add_head(std::vector<Hop>& out, int channel, int rank) const {
  const auto searched = static_cast<std::size_t>(channel % run_.graph.channel_count());
  const GraphChannel& chain = run_.graph.channels[searched];
  if (rank % members_.gpus_per_node() != chain.gpu_order.front()) return;
  const int to = next_node(rank);
  out.push_back({to, end(rank, chain.net_in), end(to, chain.net_in)});
}

std::vector<RunHops::Hop> RunHops::from(int channel, int rank) const {
  std::vector<Hop> out;
  const int nodes = members_.node_count(), ranks = members_.ranks();
  if (!is_tuned(run_.collective)) {
    if (nodes > 1) add_messages(out, channel, rank);
    return out;
  }
  switch (run_.algorithm) {
    case Algorithm::ring:
      add_ring(out, channel, rank);
      break;
    case Algorithm::pat:
      for (int dim = 0; dim < pat_dimensions(ranks); ++dim)
        for (const int by : {1 << dim, ranks - (1 << dim)})
          add(out, channel, rank, (rank + by) % ranks);
      break;
    case Algorithm::tree: {
      const TreeLinks links = tree_links(run_.graph, nodes, channel, rank);
      add(out, channel, rank, links.up);
      for (const int child : links.down) add(out, channel, rank, child);
      break;
    }
    case Algorithm::nvls_tree: {
      const NvlsLinks links =
          nvls_links(run_.graph, nodes, members_.gpus_per_node(), channel, rank);
      add(out, channel, rank, links.up);
      for (std::size_t i = 1; i < links.down.size(); ++i) add(out, channel, rank, links.down[i]);
      break;
    }
    case Algorithm::nvls:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      if (nodes > 1) add_head(out, channel, rank);
      break;
  }
  return out;
}

std::vector<RunHops::Hop> RunHops::leaving(int channel, int rank) const {
  std::vector<Hop> out = from(channel, rank);
  std::erase_if(out, [&](const Hop& hop) { return is_near(rank, hop.to); });
  return out;
}

Transport RunHops::way(const Hop& hop) const {
  if (!is_tuned(run_.collective))
    return planner_.plan(Protocol::simple, hop.near, hop.far, hop.proxy);
  return plan_transport(cluster_, members_.gpus(), run_.protocol, hop.near, hop.far, run_.transport,
                        hop.proxy);
}

std::vector<Transport> ways_of(const Cluster& cluster, const Members& members,
                               const CollectiveRun& run) {
  const RunHops hops(cluster, run, members);
  std::vector<Transport> out;
  for (int channel = 0; channel < run.channels; ++channel)
    for (int rank = 0; rank < members.ranks(); ++rank)
      for (const RunHops::Hop& hop : hops.from(channel, rank)) out.push_back(hops.way(hop));
  return out;
}

}  // namespace fabricast
