#include "models/nccl/schedules/collnet_wiring.hpp"

#include <algorithm>

namespace fabricast {
namespace {

/// What a worker can be joined to (Machine::connect).
constexpr std::size_t kFan = 32;

/// NCCL's eight slots of a connection are the sender's until the operation is done: given to the
/// proxy, posted and waiting for the other nodes, under way.
constexpr std::uint32_t kGiven = 2, kWaiting = 2, kUnderWay = 4;
static_assert(kGiven + kWaiting + kUnderWay == kConnectionSlots);

/// Junctions of so many inputs above so many ends, all levels.
std::uint64_t junctions_above(std::size_t ends) {
  std::uint64_t all = 0;
  do {
    ends = (ends + kFan - 1) / kFan;
    all += ends;
  } while (ends > 1);
  return all;
}

}  // namespace

const CollnetWiring::Tree& CollnetWiring::tree_of(int nic) {
  const auto [known, is_new] = trees_.try_emplace(nic);
  if (is_new) {
    const Cluster& cluster = assembly_.cluster();
    known->second.sharp = sharp_tree(cluster, assembly_.members().nodes(), nic);
    known->second.stream =
        assembly_.machine().add_link({sharp_rate(cluster, known->second.sharp), {}});
  }
  return known->second;
}

/// The parts of the ways to and from another node that lie inside this one.
CollnetWiring::NodeWay CollnetWiring::way_of(const Endpoint& at) const {
  const Cluster& cluster = assembly_.cluster();
  const VertexId nic = cluster.node().nics()[static_cast<std::size_t>(at.nic)].vertex;
  const Endpoint other{(at.node + 1) % cluster.nodes(), at.gpu, at.nic};
  TransportRules rules = assembly_.run().transport;
  rules.pxn = false;  // every head has its own proxy
  const auto plan = [&](const Endpoint& from, const Endpoint& to) {
    return assembly_.plan(from, to, rules);
  };
  NodeWay way{plan(at, other), {}, {}, cluster.leaf_of(at.node, nic)};
  const std::vector<LinkId>& out = way.transport.network;
  const std::vector<LinkId> in = plan(other, at).network;
  way.out = {out.begin(), std::ranges::find(out, cluster.nic_to_leaf(at.node, nic))};
  way.in = {std::ranges::find(in, cluster.leaf_to_nic(at.node, nic)) + 1, in.end()};
  return way;
}

/// One step, all links side by side.
void CollnetWiring::append_step(Path& path, const std::vector<LinkId>& links) {
  std::uint32_t mark = 0;
  for (const LinkId link : links) {
    if (!assembly_.is_own(link)) continue;
    path.push_back(assembly_.link(link) | mark);
    mark = kBeside;
  }
}

/// GPU -> proxy.
CollnetWiring::Strand CollnetWiring::give(const CollnetEnd& end, const NodeWay& way,
                                          std::uint64_t slices) {
  constexpr auto net = static_cast<std::size_t>(HopKind::net);
  ConnectionSpec spec;
  Path path = end.before;
  for (const LinkId link : way.transport.into_slots) path.push_back(assembly_.link(link));
  spec.from = end.from;
  spec.to = assembly_.add_proxy(end.at.node, end.at.gpu, slices);
  spec.slots = kGiven;
  spec.path = path;
  spec.overhead = assembly_.fixed_cost(end.from, assembly_.costs().overhead[net]);
  const Duration data = assembly_.latency(way.transport.into_slots);
  spec.sync = std::max(Duration{}, way.transport.sender_flag - data);
  spec.credit = way.transport.sender_flag;
  assembly_.machine().connect(spec);
  return {spec.to, {}};
}

/// The tree -> GPU.
void CollnetWiring::take(std::uint32_t from, const Path& path, const CollnetEnd& end,
                         const NodeWay& way) {
  ConnectionSpec spec;
  spec.from = from;
  spec.to = end.to;
  spec.slots = kConnectionSlots;
  spec.path = path;
  spec.sync = assembly_.software().collnet_sync;
  spec.credit = way.transport.receiver_flag;
  assembly_.machine().connect(spec);
}

void CollnetWiring::hand_on(std::uint32_t from, std::uint32_t to, std::uint32_t slots,
                            const Path& path, Duration sync) {
  ConnectionSpec spec;
  spec.from = from;
  spec.to = to;
  spec.slots = slots;
  spec.path = path;
  spec.sync = sync;
  assembly_.machine().connect(spec);
}

std::uint32_t CollnetWiring::add_junction(Role role, std::size_t inputs, std::size_t outputs) {
  assembly_.add_shared(0, programs_.get(HeadShare::one_chunk, 1, 1).slices(role.lane));
  return programs_.add_junction(HeadShare::one_chunk, static_cast<std::uint32_t>(inputs),
                                static_cast<std::uint32_t>(outputs), role);
}

/// A junction that waits for all of them, behind as many others as if there were `all` strands.
std::uint32_t CollnetWiring::joined(Role role, std::vector<Strand> strands, std::size_t all) {
  while (true) {
    std::vector<Strand> next;
    for (std::size_t i = 0; i < strands.size(); i += kFan) {
      const std::size_t inputs = std::min(kFan, strands.size() - i);
      const std::uint32_t junction = add_junction(role, inputs, 1);
      for (std::size_t k = i; k < i + inputs; ++k)
        hand_on(strands[k].worker, junction, kWaiting, strands[k].path, {});
      next.push_back({junction, {}});
    }
    all = (all + kFan - 1) / kFan;
    if (all == 1) return next.front().worker;
    strands = std::move(next);
  }
}

/// Junctions behind `from` that feed the first ends of `all`, one after another. Only the way to
/// the first one takes time.
std::vector<std::uint32_t> CollnetWiring::fanned(Role role, std::uint32_t from, std::size_t ends,
                                                 std::size_t all, const Path& path, Duration sync) {
  if (all <= kFan) {
    const std::uint32_t last = add_junction(role, 1, ends);
    hand_on(from, last, kUnderWay, path, sync);
    return std::vector<std::uint32_t>(ends, last);
  }
  std::vector<std::uint32_t> out;
  for (const std::uint32_t above :
       fanned(role, from, (ends + kFan - 1) / kFan, (all + kFan - 1) / kFan, path, sync)) {
    const std::uint32_t last = add_junction(role, 1, std::min(kFan, ends - out.size()));
    hand_on(above, last, 1, {}, {});
    out.insert(out.end(), std::min(kFan, ends - out.size()), last);
  }
  return out;
}

/// All nodes' chunks side by side to the root; the tree adds them up on the way.
CollnetWiring::Path CollnetWiring::up(const Tree& tree, const std::vector<NodeWay>& ways) {
  Path path;
  for (std::size_t step = 0; step < ways.front().out.size(); ++step) {
    std::vector<LinkId> links;
    for (const NodeWay& way : ways) links.push_back(way.out[step]);
    append_step(path, links);
  }
  append_step(path, tree.sharp.nic_up);
  for (const auto& step : tree.sharp.trunks_up) append_step(path, step);
  return path;
}

/// One chunk from the root to all nodes.
CollnetWiring::Path CollnetWiring::down(const Tree& tree, const std::vector<NodeWay>& ways) {
  Path path;
  for (const auto& step : tree.sharp.trunks_down) append_step(path, step);
  append_step(path, tree.sharp.nic_down);
  for (std::size_t step = 0; step < ways.front().in.size(); ++step) {
    std::vector<LinkId> links;
    for (const NodeWay& way : ways) links.push_back(way.in[step]);
    append_step(path, links);
  }
  return path;
}

/// What only one node has, to the root.
CollnetWiring::Path CollnetWiring::up_alone(const Tree& tree, const NodeWay& way,
                                            std::size_t node) const {
  Path path = link_ids(way.out);
  path.push_back(index_of(tree.sharp.nic_up[node]));
  if (tree.sharp.levels() > 1)
    for (const LinkId link : tree.sharp.leaf_up[tree.sharp.place_of(way.leaf)])
      path.push_back(index_of(link));
  return path;
}

CollnetWiring::Path CollnetWiring::down_alone(const Tree& tree, const NodeWay& way,
                                              std::size_t node) const {
  Path path;
  if (tree.sharp.levels() > 1)
    for (const LinkId link : tree.sharp.leaf_down[tree.sharp.place_of(way.leaf)])
      path.push_back(index_of(link));
  path.push_back(index_of(tree.sharp.nic_down[node]));
  for (const LinkId link : way.in) path.push_back(index_of(link));
  return path;
}

void CollnetWiring::connect(Role role, const std::vector<CollnetEnd>& ends) {
  const Collective collective = assembly_.run().collective;
  const bool gathers = collective == Collective::all_gather;
  const bool scatters = collective == Collective::reduce_scatter;
  const Tree& tree = tree_of(ends.front().at.nic);
  const std::uint64_t slices = programs_.get(HeadShare::one_chunk, 1, 1).slices(role.lane);
  std::vector<NodeWay> ways;
  std::vector<Strand> strands;
  for (std::size_t node = 0; node < ends.size(); ++node) {
    ways.push_back(way_of(ends[node].at));
    strands.push_back(give(ends[node], ways[node], slices));
    if (gathers) strands[node].path = up_alone(tree, ways[node], node);
  }
  Path path;
  if (!gathers) path = up(tree, ways);
  if (!scatters) {
    const Path back = down(tree, ways);
    path.insert(path.end(), back.begin(), back.end());
  }
  path.push_back(tree.stream | kBeside);
  const Duration sync = sharp_latency(assembly_.cluster(), tree.sharp);
  const auto all = static_cast<std::size_t>(assembly_.nodes());
  const std::uint32_t last = joined(role, strands, all);
  const std::vector<std::uint32_t> feeds = fanned(role, last, ends.size(), all, path, sync);
  assembly_.add_shared(2 * junctions_above(all) * slices, 0);
  for (std::size_t node = 0; node < ends.size(); ++node) {
    if (!scatters) {
      take(feeds[node], {}, ends[node], ways[node]);
      continue;
    }
    const Role share{role.lane, static_cast<std::uint32_t>(node)};
    const std::uint32_t own = programs_.add_junction(HeadShare::of_node, 1, 1, share);
    hand_on(feeds[node], own, 1, {}, {});
    take(own, down_alone(tree, ways[node], node), ends[node], ways[node]);
  }
}

}  // namespace fabricast
