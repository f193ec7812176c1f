#include "models/nccl/run/same_time.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "models/nccl/call/connection_ends.hpp"
#include "models/nccl/call/same_run.hpp"
#include "models/nccl/schedules/post_costs.hpp"

namespace fabricast {
namespace {

/// What is soon compared, and mostly different.
bool may_be_alike(const CollectiveRun& a, const CollectiveRun& b) {
  const auto tied = [](const CollectiveRun& of) {
    return std::tie(of.collective, of.algorithm, of.protocol, of.count, of.element_bytes,
                    of.channels);
  };
  return tied(a) == tied(b);
}

/// How the messages of a run are cut.
struct Cut {
  P2pSplit split;
  std::vector<P2pPart> parts;

  bool operator==(const Cut&) const = default;
};
Cut cut_of(const CollectiveRun& run, bool over_net) {
  const P2pRules& rules = run.p2p.rules;
  const Bytes message{run.count * run.element_bytes};
  Cut out{p2p_split(rules, message, over_net), {}};
  for (int part = 0; part < std::min(out.split.parts, rules.channels.per_peer); ++part)
    out.parts.push_back(p2p_part(rules, message, out.split, part, over_net));
  return out;
}

/// Those of messages between nodes.
std::vector<Protocol> protocols_of(const CollectiveRun& run) {
  if (run.has_algorithm()) return {run.protocol};
  std::vector<Protocol> out;
  for (const P2pPart& part : cut_of(run, true).parts)
    if (std::ranges::find(out, part.protocol) == out.end()) out.push_back(part.protocol);
  return out;
}

bool cost_the_same(const NetworkCosts& costs, const NetworkSettings& a, const NetworkSettings& b,
                   Protocol protocol) {
  for (const bool into_gpu : {false, true})
    if (passes_receiver(costs, a, protocol, into_gpu) !=
            passes_receiver(costs, b, protocol, into_gpu) ||
        post_cost(costs, a, protocol, into_gpu) != post_cost(costs, b, protocol, into_gpu))
      return false;
  return receipt_cost(costs, a, protocol) == receipt_cost(costs, b, protocol);
}

/// Of all that NetworkSettings has, what is no cost is equal, and costs are.
bool acts_the_same(const SoftwareCosts& software, const CollectiveRun& a, const CollectiveRun& b) {
  const NetworkSettings &x = a.transport.network, &y = b.transport.network;
  if (x.kind != y.kind || x.fused != y.fused || x.flush_always != y.flush_always ||
      x.flush_never != y.flush_never || copies_alone(x) != copies_alone(y))
    return false;
  const NetworkCosts& costs = software.network[static_cast<std::size_t>(x.kind)];
  return std::ranges::all_of(
      protocols_of(a), [&](Protocol protocol) { return cost_the_same(costs, x, y, protocol); });
}

void take_over_cut(P2pRules& to, const P2pRules& from) {
  to.channels.per_peer = from.channels.per_peer;
  to.channels.chunk = from.channels.chunk;
  to.ll_threshold = from.ll_threshold;
  to.buffers = from.buffers;
}

}  // namespace

bool takes_same_time(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& a,
                     const CollectiveRun& b) {
  if (!may_be_alike(a, b)) return false;
  if (is_same_work(a, b)) return true;
  if (a.custom != nullptr || a.traffic != nullptr) return false;
  CollectiveRun like = b;
  if (!a.has_algorithm() && cut_of(a, false) == cut_of(b, false) &&
      cut_of(a, true) == cut_of(b, true))
    take_over_cut(like.p2p.rules, a.p2p.rules);
  const Members members = members_of(a, cluster.nodes());
  if (has_same_ways(cluster, members.gpus(), a.transport, b.transport))
    settings_of_ways(like.transport) = settings_of_ways(a.transport);
  if (acts_the_same(software, a, like)) like.transport.network = a.transport.network;
  return is_same_work(a, like);
}

}  // namespace fabricast
