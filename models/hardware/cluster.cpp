#include "models/hardware/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "models/io/unit_text.hpp"
#include "sim/error.hpp"

namespace fabricast {
namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Duration cable_delay(const Cable& cable, double metres) {
  const auto wire = std::llround(static_cast<double>(cable.delay_per_metre.ps) * metres);
  return Duration{wire} + cable.optics * 2;
}

Bandwidth fastest_nic(const NodeGraph& node) {
  Bandwidth fastest{};
  for (const NicInfo& nic : node.nics()) fastest = std::max(fastest, nic.speed);
  return fastest;
}

/// What a port carries beside packet headers.
Bandwidth payload_rate(const FabricSwitchPart& part) {
  const std::int64_t payload = part.packet_payload.count;
  const double share =
      static_cast<double>(payload) / static_cast<double>(payload + part.packet_headers.count);
  return {std::llround(static_cast<double>(part.port_rate.bytes_per_s) * share)};
}

/// Spines = uplinks of a leaf: enough that down capacity / up capacity <= oversubscription.
int uplinks_of(const FabricConfig& fabric, Bandwidth nic_speed) {
  const Bandwidth down = std::min(nic_speed, fabric.leaf.port_rate);
  const Bandwidth up = std::min(fabric.leaf.port_rate, fabric.spine.port_rate);
  const double wanted = static_cast<double>(fabric.leaf_down) *
                        static_cast<double>(down.bytes_per_s) /
                        (static_cast<double>(up.bytes_per_s) * fabric.oversubscription);
  constexpr double rounding = 1e-9;  // 32 / 1.0 must not become 33
  return std::max(1, static_cast<int>(std::ceil(wanted - rounding)));
}

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
  fabric.spine = fabric.leaf;
  fabric.leaf_down = parts.default_fabric.leaf_down;
  fabric.nodes_per_rack = parts.default_fabric.nodes_per_rack;
  fabric.node_leaf_metres = parts.default_fabric.node_leaf_metres;
  fabric.leaf_spine_metres = parts.default_fabric.leaf_spine_metres;
  fabric.node_leaf_cable = parts.cables.at("copper");
  fabric.leaf_spine_cable = parts.cables.at("optical");
  return fabric;
}

/// Which of the four kinds a fabric link is, and its ends.
struct Cluster::FabricLink {
  enum class Kind { nic_to_leaf, leaf_to_nic, leaf_to_spine, spine_to_leaf };
  Kind kind;
  std::uint32_t node, rail;   ///< host links
  std::uint32_t leaf, spine;  ///< leaf links
};

Cluster::Cluster(NodeGraph node, int nodes, FabricConfig fabric)
    : node_(std::move(node)), nodes_(nodes), fabric_(std::move(fabric)) {
  if (nodes_ < 1) throw Error(fmt::format("a cluster of {} nodes: at least 1 is needed", nodes_));
  if (nodes_ > 1 && node_.nics().empty()) {
    throw Error(fmt::format("{} has no NIC: {} of them cannot be connected", node_.name(), nodes_));
  }
  links_per_node_ = static_cast<std::uint32_t>(node_.links().size());
  const std::int64_t ports = std::int64_t{nodes_} * nics_per_node();
  const std::int64_t leaves_all = ports > 0 ? spread_leaves() : 0;
  if (leaves_all > 1) uplinks_ = uplinks_of(fabric_, fastest_nic(node_));

  const std::int64_t node_links = std::int64_t{nodes_} * links_per_node_;
  const std::int64_t total = node_links + 2 * ports + 2 * leaves_all * uplinks_;
  if (total > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(
        fmt::format("{} nodes of {} are too many: they have {} links, at most {} can be "
                    "numbered",
                    nodes_, node_.name(), total, std::numeric_limits<std::uint32_t>::max()));
  }
  nic_to_leaf_ = static_cast<std::uint32_t>(node_links);
  leaf_to_nic_ = nic_to_leaf_ + static_cast<std::uint32_t>(ports);
  leaf_to_spine_ = leaf_to_nic_ + static_cast<std::uint32_t>(ports);
  spine_to_leaf_ = leaf_to_spine_ + static_cast<std::uint32_t>(leaves_all * uplinks_);
  links_ = static_cast<std::uint32_t>(total);
  if (!fabric_.is_default) check_radix();
}

/// Sets planes_ and leaves_per_plane_; returns how many leaves there are in total.
int Cluster::spread_leaves() {
  const int nics = static_cast<int>(nics_per_node());
  int nodes_per_leaf = fabric_.leaf_down;
  planes_ = nics;
  if (fabric_.kind == FabricConfig::Kind::fat_tree) {
    planes_ = 1;
    nodes_per_leaf = fabric_.leaf_down / nics;
    if (nodes_per_leaf == 0) {
      throw Error(fabric_.place, fmt::format("a leaf has {} ports down, a node has {} NICs",
                                             fabric_.leaf_down, nics));
    }
  }
  leaves_per_plane_ = static_cast<int>(divided_up(nodes_, nodes_per_leaf));
  const std::int64_t total = std::int64_t{planes_} * leaves_per_plane_;
  if (total > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("{} nodes are too many: they need {} leaves", nodes_, total));
  }
  return static_cast<int>(total);
}

void Cluster::check_radix() const {
  const int ports = fabric_.leaf_down + uplinks_;
  if (ports > fabric_.leaf.radix) {
    throw Error(fabric_.place,
                fmt::format("a leaf needs {} ports ({} down, {} up), {} has {}", ports,
                            fabric_.leaf_down, uplinks_, fabric_.leaf.name, fabric_.leaf.radix),
                "fewer leaf_down or more oversubscription");
  }
  if (uplinks_ > 0 && leaves() > static_cast<std::uint32_t>(fabric_.spine.radix)) {
    throw Error(fabric_.place,
                fmt::format("{} nodes need {} leaves, the spine {} has {} ports", nodes_, leaves(),
                            fabric_.spine.name, fabric_.spine.radix),
                "two tiers hold no more: fewer nodes, or a switch with more ports");
  }
}

Cluster::Port Cluster::port_of(std::uint32_t node, std::uint32_t rail) const {
  const auto down = static_cast<std::uint32_t>(fabric_.leaf_down);
  if (fabric_.kind == FabricConfig::Kind::rail_optimised) {
    return {rail * static_cast<std::uint32_t>(leaves_per_plane_) + node / down, node % down};
  }
  const std::uint32_t nodes_per_leaf = down / nics_per_node();
  return {node / nodes_per_leaf, node % nodes_per_leaf * nics_per_node() + rail};
}

std::uint32_t Cluster::rail_of(VertexId nic) const {
  const auto found = std::find_if(node_.nics().begin(), node_.nics().end(),
                                  [&](const NicInfo& info) { return info.vertex == nic; });
  assert(found != node_.nics().end());
  return static_cast<std::uint32_t>(found->rail);
}

std::vector<LinkId> Cluster::fabric_route(int from_node, VertexId from_nic, int to_node,
                                          VertexId to_nic) const {
  assert(from_node >= 0 && from_node < nodes_ && to_node >= 0 && to_node < nodes_);
  assert(from_node != to_node || from_nic != to_nic);
  const auto from = static_cast<std::uint32_t>(from_node), to = static_cast<std::uint32_t>(to_node);
  const std::uint32_t from_rail = rail_of(from_nic), to_rail = rail_of(to_nic);
  const Port source = port_of(from, from_rail), target = port_of(to, to_rail);
  std::vector<LinkId> route = {LinkId{nic_to_leaf_ + from * nics_per_node() + from_rail}};
  if (source.leaf != target.leaf) {
    const auto uplinks = static_cast<std::uint32_t>(uplinks_);
    const std::uint32_t spine = target.port % uplinks;
    route.push_back(LinkId{leaf_to_spine_ + source.leaf * uplinks + spine});
    route.push_back(LinkId{spine_to_leaf_ + target.leaf * uplinks + spine});
  }
  route.push_back(LinkId{leaf_to_nic_ + to * nics_per_node() + to_rail});
  return route;
}

Cluster::FabricLink Cluster::fabric_link(LinkId global) const {
  using Kind = FabricLink::Kind;
  const std::uint32_t id = index_of(global);
  assert(id >= nic_to_leaf_ && id < links_);
  if (id < leaf_to_spine_) {
    const bool up = id < leaf_to_nic_;
    const std::uint32_t port = id - (up ? nic_to_leaf_ : leaf_to_nic_);
    const std::uint32_t node = port / nics_per_node(), rail = port % nics_per_node();
    return {up ? Kind::nic_to_leaf : Kind::leaf_to_nic, node, rail, port_of(node, rail).leaf, 0};
  }
  const bool up = id < spine_to_leaf_;
  const std::uint32_t cable = id - (up ? leaf_to_spine_ : spine_to_leaf_);
  const auto uplinks = static_cast<std::uint32_t>(uplinks_);
  return {up ? Kind::leaf_to_spine : Kind::spine_to_leaf, 0, 0, cable / uplinks, cable % uplinks};
}

ClusterLink Cluster::link(LinkId global) const {
  ClusterLink out = healthy_link(global);
  const auto changed = rates_.find(index_of(global));
  if (changed != rates_.end()) out.rate = changed->second;
  return out;
}

ClusterLink Cluster::healthy_link(LinkId global) const {
  if (index_of(global) < nic_to_leaf_) {
    const NodeLink& link = node_.link(LinkId{index_of(global) % links_per_node_});
    return {link.rate, link.latency};
  }
  const FabricLink link = fabric_link(global);
  const Duration node_leaf = cable_delay(fabric_.node_leaf_cable, fabric_.node_leaf_metres);
  const Duration leaf_spine = cable_delay(fabric_.leaf_spine_cable, fabric_.leaf_spine_metres);
  switch (link.kind) {
    case FabricLink::Kind::nic_to_leaf:
    case FabricLink::Kind::leaf_to_nic: {
      const NicInfo& nic = node_.nics()[link.rail];
      const Bandwidth port = std::min(nic.speed, fabric_.leaf.port_rate);
      const Bandwidth rate{std::llround(static_cast<double>(port.bytes_per_s) * nic.part.goodput)};
      const bool up = link.kind == FabricLink::Kind::nic_to_leaf;
      return {rate, (up ? nic.part.latency : fabric_.leaf.latency) + node_leaf};
    }
    case FabricLink::Kind::leaf_to_spine:
    case FabricLink::Kind::spine_to_leaf: {
      const bool up = link.kind == FabricLink::Kind::leaf_to_spine;
      return {std::min(payload_rate(fabric_.leaf), payload_rate(fabric_.spine)),
              (up ? fabric_.leaf.latency : fabric_.spine.latency) + leaf_spine};
    }
  }
  return {};
}

std::string Cluster::leaf_name(std::uint32_t leaf) const {
  if (fabric_.kind == FabricConfig::Kind::fat_tree) return fmt::format("leaf{}", leaf);
  const auto per_plane = static_cast<std::uint32_t>(leaves_per_plane_);
  return fmt::format("leaf{}.{}", leaf / per_plane, leaf % per_plane);
}

std::string Cluster::link_name(LinkId global) const {
  if (index_of(global) < nic_to_leaf_) {
    return fmt::format("node{}: {}", index_of(global) / links_per_node_,
                       node_.link_name(LinkId{index_of(global) % links_per_node_}));
  }
  const FabricLink link = fabric_link(global);
  const std::string leaf = leaf_name(link.leaf);
  const Bandwidth trunk = std::min(fabric_.leaf.port_rate, fabric_.spine.port_rate);
  switch (link.kind) {
    case FabricLink::Kind::nic_to_leaf:
    case FabricLink::Kind::leaf_to_nic: {
      const NicInfo& nic = node_.nics()[link.rail];
      const std::string rate = to_bits_text(std::min(nic.speed, fabric_.leaf.port_rate));
      return link.kind == FabricLink::Kind::nic_to_leaf
                 ? fmt::format("node{}: {} -> {} ({})", link.node, nic.name, leaf, rate)
                 : fmt::format("{} -> node{}: {} ({})", leaf, link.node, nic.name, rate);
    }
    case FabricLink::Kind::leaf_to_spine:
      return fmt::format("{} -> spine{} ({})", leaf, link.spine, to_bits_text(trunk));
    case FabricLink::Kind::spine_to_leaf:
      return fmt::format("spine{} -> {} ({})", link.spine, leaf, to_bits_text(trunk));
  }
  return {};
}

std::string Cluster::fabric_summary() const {
  if (planes_ == 0) return "no fabric: the node has no NIC";
  const bool rails = fabric_.kind == FabricConfig::Kind::rail_optimised;
  const std::string blocking = fabric_.oversubscription > 1 ? fmt::format("{:.4g}:1 oversubscribed",
                                                                          fabric_.oversubscription)
                                                            : "non-blocking";
  std::string text =
      fmt::format("{} two-tier fat-tree, {}, {} {} ({} at {})", rails ? "rail-optimised" : "plain",
                  blocking, leaves(), leaves() == 1 ? "leaf" : "leaves", fabric_.leaf.name,
                  to_bits_text(fabric_.leaf.port_rate));
  if (uplinks_ > 0) text += fmt::format(", {} spines", uplinks_);
  if (fabric_.is_default) text += "; assumed (no fabric named), switch radix not checked";
  return text;
}

}  // namespace fabricast
