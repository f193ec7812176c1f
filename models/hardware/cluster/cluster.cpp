#include "models/hardware/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/links/ecmp.hpp"

namespace fabricast {
namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Bandwidth fastest_nic(const NodeGraph& node) {
  Bandwidth fastest{};
  for (const NicInfo& nic : node.nics()) fastest = std::max(fastest, nic.speed);
  return fastest;
}

/// Links that carry up what comes from `ports` ports: down capacity / up capacity is at most
/// `oversubscription`.
int links_up(int ports, Bandwidth down, Bandwidth up, double oversubscription) {
  const double wanted = static_cast<double>(ports) * static_cast<double>(down.bytes_per_s) /
                        (static_cast<double>(up.bytes_per_s) * oversubscription);
  constexpr double rounding = 1e-9;  // 32 / 1.0 must not become 33
  return std::max(1, static_cast<int>(std::ceil(wanted - rounding)));
}

std::vector<LinkId> as_links(const std::vector<std::uint32_t>& numbers) {
  std::vector<LinkId> out;
  out.reserve(numbers.size());
  for (const std::uint32_t number : numbers) out.push_back(LinkId{number});
  return out;
}

int uplinks_of(const FabricConfig& fabric, Bandwidth nic_speed) {
  const Bandwidth down = std::min(nic_speed, fabric.leaf.port_rate);
  const Bandwidth up = std::min(fabric.leaf.port_rate, fabric.spine.port_rate);
  return links_up(fabric.leaf_down, down, up, fabric.oversubscription);
}

LinkLayer layer_of(const NodeGraph& node) {
  return node.nics().empty() ? LinkLayer::infiniband
                             : link_layer_of(node.nics().front().part.network);
}

/// Whether the NIC's sender slows down by DCQCN on Ethernet: EFA, Slingshot and TCP have their own.
bool heeds_marks(NetKind network) { return network == NetKind::ib || network == NetKind::roce; }

}  // namespace

FabricConfig default_fabric(const NodeGraph& node, const PartsCatalogue& parts) {
  const Bandwidth rate = fastest_nic(node);
  FabricConfig fabric;
  fabric.is_default = true;
  fabric.leaf = parts.fabric_switches.at("QM9700");
  for (const char* name : {"QM9700", "QM8700", "Q3400"}) {
    const FabricSwitchPart& part = parts.fabric_switches.at(name);
    if (part.port_rate == rate) {
      fabric.leaf = part;
      break;
    }
  }
  if (fabric.leaf.port_rate != rate && !node.nics().empty()) {
    fabric.leaf.name += "-like";
    fabric.leaf.port_rate = rate;
  }
  if (const auto layer = layer_of(node); layer != LinkLayer::infiniband) {
    // As fast as InfiniBand's, which the fit of these networks took them for; they do not
    // aggregate.
    fabric.leaf.name = kLinkLayerNames[layer];
    fabric.leaf.link_layer = layer;
    fabric.leaf.sharp = {};
  }
  fabric.spine = fabric.leaf;
  fabric.leaf_down = parts.default_fabric.leaf_down;
  fabric.nodes_per_rack = parts.default_fabric.nodes_per_rack;
  fabric.node_leaf_metres = parts.default_fabric.node_leaf_metres;
  fabric.leaf_spine_metres = parts.default_fabric.leaf_spine_metres;
  fabric.node_leaf_cable = parts.cables.at("copper");
  fabric.leaf_spine_cable = parts.cables.at("optical");
  return fabric;
}

/// The ports of two NICs.
struct Cluster::Joined {
  std::uint32_t from_nic, to_nic;  ///< port_number()
  FabricPort from, to;
};

double RackPlan::metres(std::int64_t rack_a, std::int64_t rack_b) const {
  const std::int64_t row = racks_per_row > 0 ? racks_per_row : INT64_MAX;
  return pitch_metres * static_cast<double>(std::abs(rack_a % row - rack_b % row)) +
         row_pitch_metres * static_cast<double>(std::abs(rack_a / row - rack_b / row));
}

Cluster::Cluster(NodeGraph node, int nodes, FabricConfig fabric)
    : node_(std::move(node)), nodes_(nodes), fabric_(std::move(fabric)) {
  if (nodes_ < 1) throw Error(fmt::format("a cluster of {} nodes: at least 1 is needed", nodes_));
  if (nodes_ > 1 && node_.nics().empty()) {
    throw Error(fmt::format("{} has no NIC: {} of them cannot be connected", node_.name(), nodes_));
  }
  if (!node_.nics().empty()) fabric_.dcqcn &= heeds_marks(node_.nics().front().part.network);
  links_per_node_ = static_cast<std::uint32_t>(node_.links().size());
  const std::int64_t ports = std::int64_t{hosts()} * nics_per_host();
  if (ports > 0) lay_out(spread_leaves());

  const std::int64_t node_links = std::int64_t{nodes_} * links_per_node_;
  const std::int64_t trunks = layout_ ? static_cast<std::int64_t>(layout_->trunks()) : 0;
  const bool adaptive = layout_ && fabric_.routing == Routing::adaptive;
  const std::int64_t total =
      node_links + 2 * ports + trunks + (adaptive ? std::int64_t{layout_->pools()} : 0);
  if (total > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(
        fmt::format("{} nodes of {} are too many: they have {} links, at most {} can be "
                    "numbered",
                    nodes_, node_.name(), total, std::numeric_limits<std::uint32_t>::max()));
  }
  nic_to_leaf_ = static_cast<std::uint32_t>(node_links);
  leaf_to_nic_ = nic_to_leaf_ + static_cast<std::uint32_t>(ports);
  trunks_ = leaf_to_nic_ + static_cast<std::uint32_t>(ports);
  pools_ = trunks_ + static_cast<std::uint32_t>(trunks);
  links_ = static_cast<std::uint32_t>(total);
}

/// Sets planes_ and leaves_per_plane_; returns how many leaves there are in total.
int Cluster::spread_leaves() {
  const int nics = static_cast<int>(nics_per_host());
  int nodes_per_leaf = fabric_.leaf_down;
  planes_ = nics;
  if (fabric_.kind != FabricConfig::Kind::rail_optimised) {
    planes_ = 1;
    nodes_per_leaf = fabric_.leaf_down / nics;
    if (nodes_per_leaf == 0) {
      throw Error(fabric_.place, fmt::format("a leaf has {} ports down, a node has {} NICs",
                                             fabric_.leaf_down, nics));
    }
  }
  nodes_per_leaf_ = nodes_per_leaf;
  leaves_per_plane_ = static_cast<int>(divided_up(hosts(), nodes_per_leaf));
  const std::int64_t total = std::int64_t{planes_} * leaves_per_plane_;
  if (total > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("{} nodes are too many: they need {} leaves", hosts(), total));
  }
  return static_cast<int>(total);
}

void Cluster::lay_out(int leaves_all) {
  if (fabric_.kind == FabricConfig::Kind::dragonfly) return lay_out_dragonfly();
  if (leaves_all > 1) uplinks_ = uplinks_of(fabric_, fastest_nic(node_));
  FatTreeSize size;
  size.rails = fabric_.kind == FabricConfig::Kind::rail_optimised;
  size.planes = static_cast<std::uint32_t>(planes_);
  size.leaves_per_plane = static_cast<std::uint32_t>(leaves_per_plane_);
  size.spines_per_pod = static_cast<std::uint32_t>(uplinks_);
  size.pod_leaves = static_cast<std::uint32_t>(fabric_.pod_leaves);
  size.core_links = core_links();
  layout_ = make_fat_tree(size);
  if (!fabric_.is_default) check_radix();
}

/// Uplinks of a spine; 0 without a third tier, or with a single pod.
std::uint32_t Cluster::core_links() const {
  if (fabric_.pod_leaves == 0 || leaves_per_plane_ <= fabric_.pod_leaves) return 0;
  const Bandwidth down = std::min(fabric_.leaf.port_rate, fabric_.spine.port_rate);
  const Bandwidth up = std::min(fabric_.spine.port_rate, fabric_.core.port_rate);
  return static_cast<std::uint32_t>(
      links_up(planes_ * fabric_.pod_leaves, down, up, fabric_.core_oversubscription));
}

void Cluster::lay_out_dragonfly() {
  const std::int64_t switches = fabric_.group_switches;
  const std::int64_t groups = divided_up(leaves_per_plane_, switches);
  const std::int64_t ports = switches * fabric_.global_ports;
  if (groups - 1 > ports) {
    throw Error(fabric_.place,
                fmt::format("{} nodes need {} groups, a group has {} cables to other groups",
                            hosts(), groups, ports),
                "more global_ports or larger groups");
  }
  DragonflySize size;
  size.groups = static_cast<std::uint32_t>(groups);
  size.group_switches = static_cast<std::uint32_t>(switches);
  size.global_ports = static_cast<std::uint32_t>(fabric_.global_ports);
  size.cables_per_pair = groups > 1 ? static_cast<std::uint32_t>(ports / (groups - 1)) : 0;
  layout_ = make_dragonfly(size);
  leaves_per_plane_ = static_cast<int>(groups * switches);
  const std::int64_t used = fabric_.leaf_down + switches - 1 + fabric_.global_ports;
  if (used > fabric_.leaf.radix) {
    throw Error(fabric_.place,
                fmt::format("a switch needs {} ports ({} for NICs, {} in its group, {} to others), "
                            "{} has {}",
                            used, fabric_.leaf_down, switches - 1, fabric_.global_ports,
                            fabric_.leaf.name, fabric_.leaf.radix),
                "fewer leaf_down, group_switches or global_ports");
  }
}

void Cluster::check_radix() const {
  const int ports = fabric_.leaf_down + uplinks_;
  if (ports > fabric_.leaf.radix) {
    throw Error(fabric_.place,
                fmt::format("a leaf needs {} ports ({} down, {} up), {} has {}", ports,
                            fabric_.leaf_down, uplinks_, fabric_.leaf.name, fabric_.leaf.radix),
                "fewer leaf_down or more oversubscription");
  }
  if (uplinks_ == 0) return;
  const std::uint32_t up = core_links();
  if (up == 0) {
    if (leaves() <= static_cast<std::uint32_t>(fabric_.spine.radix)) return;
    throw Error(fabric_.place,
                fmt::format("{} nodes need {} leaves, the spine {} has {} ports", hosts(), leaves(),
                            fabric_.spine.name, fabric_.spine.radix),
                fabric_.pod_leaves > 0
                    ? "smaller pods"
                    : "two tiers hold no more: fewer nodes, switches with more ports, or three "
                      "tiers, like fabric-ndr-rail-3tier");
  }
  const auto down = static_cast<std::uint32_t>(planes_ * fabric_.pod_leaves);
  if (down + up > static_cast<std::uint32_t>(fabric_.spine.radix)) {
    throw Error(fabric_.place,
                fmt::format("a spine needs {} ports ({} down, {} up), {} has {}", down + up, down,
                            up, fabric_.spine.name, fabric_.spine.radix),
                "fewer pod_leaves or more core_oversubscription");
  }
  const std::int64_t pods = divided_up(leaves_per_plane_, fabric_.pod_leaves);
  if (pods > fabric_.core.radix) {
    throw Error(fabric_.place,
                fmt::format("{} nodes need {} pods, the core switch {} has {} ports", hosts(), pods,
                            fabric_.core.name, fabric_.core.radix),
                "larger pods, or a switch with more ports");
  }
}

FabricPort Cluster::port_of(std::uint32_t port_number) const {
  const std::uint32_t host = port_number / nics_per_host(), rail = port_number % nics_per_host();
  const auto down = static_cast<std::uint32_t>(fabric_.leaf_down);
  if (fabric_.kind == FabricConfig::Kind::rail_optimised) {
    return {rail * static_cast<std::uint32_t>(leaves_per_plane_) + host / down, host % down};
  }
  const std::uint32_t hosts_per_leaf = down / nics_per_host();
  return {host / hosts_per_leaf, host % hosts_per_leaf * nics_per_host() + rail};
}

Cluster::Joined Cluster::joined(int from_node, VertexId from_nic, int to_node,
                                VertexId to_nic) const {
  assert(from_node >= 0 && from_node < nodes_ && to_node >= 0 && to_node < nodes_);
  assert(from_node != to_node || from_nic != to_nic);
  const std::uint32_t from = port_number(from_node, from_nic), to = port_number(to_node, to_nic);
  return {from, to, port_of(from), port_of(to)};
}

std::uint32_t Cluster::port_number(int node, VertexId nic) const {
  const auto host = static_cast<std::uint32_t>(node * node_.trays() + node_.vertex(nic).tray);
  const auto index = static_cast<std::size_t>(node_.vertex(nic).index);
  return host * nics_per_host() + static_cast<std::uint32_t>(node_.nics()[index].rail);
}

std::uint32_t Cluster::leaf_of(int node, VertexId nic) const {
  return port_of(port_number(node, nic)).leaf;
}

LinkId Cluster::nic_to_leaf(int node, VertexId nic) const {
  return LinkId{nic_to_leaf_ + port_number(node, nic)};
}

LinkId Cluster::leaf_to_nic(int node, VertexId nic) const {
  return LinkId{leaf_to_nic_ + port_number(node, nic)};
}

bool Cluster::has_two_tiers() const {
  return fabric_.kind != FabricConfig::Kind::dragonfly && core_links() == 0;
}

std::vector<LinkId> Cluster::trunks_of_way(std::uint32_t from_leaf, std::uint32_t to_leaf,
                                           std::uint32_t way) const {
  std::vector<std::uint32_t> trunks;
  layout_->add_trunks(from_leaf, to_leaf, way, trunks);
  for (std::uint32_t& trunk : trunks) trunk += trunks_;
  return as_links(trunks);
}

void Cluster::add_route(const Joined& ends, std::uint32_t way,
                        std::vector<std::uint32_t>& links) const {
  links.push_back(nic_to_leaf_ + ends.from_nic);
  if (ends.from.leaf != ends.to.leaf) {
    const std::size_t first = links.size();
    layout_->add_trunks(ends.from.leaf, ends.to.leaf, way, links);
    for (std::size_t i = first; i < links.size(); ++i) links[i] += trunks_;
  }
  links.push_back(leaf_to_nic_ + ends.to_nic);
}

std::vector<LinkId> Cluster::route(const Joined& ends, std::uint32_t way) const {
  std::vector<std::uint32_t> links;
  add_route(ends, way, links);
  return as_links(links);
}

void Cluster::add_fabric_route(int from_node, VertexId from_nic, int to_node, VertexId to_nic,
                               std::vector<std::uint32_t>& links) const {
  const Joined ends = joined(from_node, from_nic, to_node, to_nic);
  const bool near = ends.from.leaf == ends.to.leaf;
  const std::size_t port = links.size();  // the first link; the last one is a port's, too
  add_route(ends, near ? 0 : layout_->static_way(ends.from.leaf, ends.to), links);
  if (!pools_cables()) return;
  for (std::size_t i = port + 1; i + 1 < links.size(); ++i)
    links[i] = pools_ + layout_->pool_of(links[i] - trunks_);
}

std::vector<LinkId> Cluster::fabric_route(int from_node, VertexId from_nic, int to_node,
                                          VertexId to_nic) const {
  std::vector<std::uint32_t> links;
  add_fabric_route(from_node, from_nic, to_node, to_nic, links);
  return as_links(links);
}

std::uint32_t Cluster::fabric_ways(int from_node, VertexId from_nic, int to_node,
                                   VertexId to_nic) const {
  const Joined ends = joined(from_node, from_nic, to_node, to_nic);
  std::uint32_t ways = 1;
  if (ends.from.leaf == ends.to.leaf) return ways;
  for (const std::uint32_t choices : layout_->choices(ends.from.leaf, ends.to.leaf))
    ways *= choices;
  return ways;
}

std::vector<LinkId> Cluster::fabric_way(int from_node, VertexId from_nic, int to_node,
                                        VertexId to_nic, std::uint32_t way) const {
  assert(way < fabric_ways(from_node, from_nic, to_node, to_nic));
  return route(joined(from_node, from_nic, to_node, to_nic), way);
}

void Cluster::add_hashed_route(int from_node, VertexId from_nic, int to_node, VertexId to_nic,
                               std::uint64_t queue_pair, const EcmpSeeds& seeds,
                               std::vector<std::uint32_t>& links) const {
  const Joined ends = joined(from_node, from_nic, to_node, to_nic);
  if (ends.from.leaf == ends.to.leaf) return add_route(ends, 0, links);
  const FlowKey key{ends.from_nic, ends.to_nic, queue_pair};
  std::uint32_t way = 0, stride = 1;
  std::uint64_t seed = seeds.first;
  for (const std::uint32_t choices : layout_->choices(ends.from.leaf, ends.to.leaf)) {
    way += stride * ecmp_choice(key, seed, choices);
    stride *= choices;
    seed = seeds.second;
  }
  add_route(ends, way, links);
}

std::vector<LinkId> Cluster::hashed_route(int from_node, VertexId from_nic, int to_node,
                                          VertexId to_nic, std::uint64_t queue_pair,
                                          const EcmpSeeds& seeds) const {
  std::vector<std::uint32_t> links;
  add_hashed_route(from_node, from_nic, to_node, to_nic, queue_pair, seeds, links);
  return as_links(links);
}

}  // namespace fabricast
