#include "models/nccl/run/same_time.hpp"

#include <algorithm>
#include <cstdint>
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

/// Messages between nodes, of one protocol.
struct Messages {
  Protocol protocol{};
  Bytes most{INT64_MAX};     ///< none is larger on the wire
  std::vector<Bytes> sizes;  ///< all that there are, on the wire; none: they are not told

  /// Whether some may be above the one limit and not above the other.
  bool lie_between(Bytes x, Bytes y, const auto& counts) const {
    const Bytes less = std::min(x, y), more = std::max(x, y);
    if (less == more || most <= less) return false;
    return sizes.empty() || std::ranges::any_of(sizes, [&](Bytes wire) {
             return less < wire && wire <= more && counts(wire);
           });
  }
};

/// What a worker hands on at a time: a chunk, or a part of it.
Messages messages_of_algorithm(const CollectiveRun& run, const Members& members) {
  Messages out{run.protocol, {INT64_MAX}, {}};
  const bool is_tree = run.algorithm == Algorithm::tree;
  if (!is_tree && run.algorithm != Algorithm::ring) return out;
  const Partition partition = partition_of(run, members);
  const auto on_wire = [&](std::int64_t elements) {
    return wire_format(run.protocol).on_wire({elements * partition.element_bytes});
  };
  out.most = {};
  for (const ChannelPart& part : partition.parts) {
    out.most =
        std::max({out.most, on_wire(part.chunk_elements), on_wire(part.last_loop_chunk_elements)});
    if (!is_tree) continue;
    if (part.count_elements >= part.chunk_elements)
      out.sizes.push_back(on_wire(part.chunk_elements));
    out.sizes.push_back(on_wire(part.count_elements % part.chunk_elements));
  }
  return out;
}

Messages messages_of_part(const P2pPart& part) {
  const std::int64_t chunk = std::max<std::int64_t>(std::min(part.chunk, part.size).count, 1);
  const WireFormat wire = wire_format(part.protocol);
  return {part.protocol,
          wire.on_wire({chunk}),
          {wire.on_wire({chunk}), wire.on_wire({part.size.count % chunk})}};
}

std::vector<Messages> messages_of(const CollectiveRun& run, const Members& members) {
  if (run.has_algorithm()) return {messages_of_algorithm(run, members)};
  std::vector<Messages> out;
  for (const P2pPart& part : cut_of(run, true).parts) out.push_back(messages_of_part(part));
  return out;
}

/// Of these messages: they may differ in limits that none of them lies between.
bool cost_the_same(const PostCost& a, const PostCost& b, const Messages& messages) {
  PostCost like = b;
  like.large = a.large;
  like.copied = a.copied;
  like.tiny = a.tiny;
  const auto limit = [](const PostCost& of) {
    return of.large.count > 0 ? of.large : Bytes{INT64_MAX};
  };
  const auto is_any = [](Bytes) { return true; };
  const auto is_small = [&](Bytes wire) { return !a.is_large(wire); };
  return like == a && !messages.lie_between(limit(a), limit(b), is_any) &&
         !messages.lie_between(a.copied, b.copied, is_small) &&
         !messages.lie_between(a.tiny, b.tiny, is_small);
}

bool cost_the_same(const NetworkCosts& costs, const NetworkSettings& a, const NetworkSettings& b,
                   const Messages& messages) {
  const Protocol protocol = messages.protocol;
  for (const bool into_gpu : {false, true})
    if (passes_receiver(costs, a, protocol, into_gpu) !=
            passes_receiver(costs, b, protocol, into_gpu) ||
        !cost_the_same(post_cost(costs, a, protocol, into_gpu),
                       post_cost(costs, b, protocol, into_gpu), messages))
      return false;
  return cost_the_same(receipt_cost(costs, a, protocol), receipt_cost(costs, b, protocol),
                       messages);
}

/// Of all that NetworkSettings has, what is no cost is equal, and costs are.
bool acts_the_same(const SoftwareCosts& software, const NodeGraph& node, const Members& members,
                   const CollectiveRun& a, const CollectiveRun& b) {
  const NetworkSettings &x = a.transport.network, &y = b.transport.network;
  if (x.kind != y.kind || x.fused != y.fused || x.flush_always != y.flush_always ||
      x.flush_never != y.flush_never || copies_alone(x) != copies_alone(y))
    return false;
  const NetworkCosts costs = network_costs(software, node, x.kind);
  return std::ranges::all_of(messages_of(a, members), [&](const Messages& messages) {
    return cost_the_same(costs, x, y, messages);
  });
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
  if (acts_the_same(software, cluster.node(), members, a, like))
    like.transport.network = a.transport.network;
  return is_same_work(a, like);
}

}  // namespace fabricast
