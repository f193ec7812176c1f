// What each link of a cluster is: its ends, rate, latency and name, and the fabric in one line.

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/hardware/cluster/cluster.hpp"
#include "models/hardware/cluster/network_plan.hpp"
#include "sim/base/scaled.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

Duration cable_delay(const Cable& cable, double metres) {
  return scaled(cable.delay_per_metre, metres) + cable.optics * 2;
}

/// What a port carries beside packet headers.
Bandwidth payload_rate(const FabricSwitchPart& part) {
  const std::int64_t payload = part.packet_payload.count;
  const double share =
      static_cast<double>(payload) / static_cast<double>(payload + part.packet_headers.count);
  return {std::llround(static_cast<double>(part.port_rate.bytes_per_s) * share)};
}

}  // namespace

Cluster::FabricEnd Cluster::nic_end(std::uint32_t id) const {
  FabricEnd end;
  end.host = id / nics_per_host();
  end.rail = id % nics_per_host();
  return end;
}

Cluster::FabricEnd Cluster::link_from(LinkId global) const {
  const std::uint32_t id = index_of(global);
  assert(id >= nic_to_leaf_ && id < links_);
  if (id < leaf_to_nic_) return nic_end(id - nic_to_leaf_);
  FabricEnd end;
  end.is_switch = true;
  if (id >= trunks_) {
    end.which = trunk(id).from;
  } else {
    end.which = {SwitchTier::leaf, port_of(id - leaf_to_nic_).leaf};
  }
  return end;
}

Cluster::FabricEnd Cluster::link_to(LinkId global) const {
  const std::uint32_t id = index_of(global);
  assert(id >= nic_to_leaf_ && id < links_);
  if (id < leaf_to_nic_) return link_from(LinkId{id - nic_to_leaf_ + leaf_to_nic_});
  if (id < trunks_) return nic_end(id - leaf_to_nic_);
  FabricEnd end;
  end.is_switch = true;
  end.which = trunk(id).to;
  return end;
}

Cluster::PlacedNic Cluster::nic_at(const FabricEnd& end) const {
  assert(!end.is_switch);
  const auto trays = static_cast<std::uint32_t>(node_.trays());
  return {static_cast<int>(end.host / trays),
          node_.nics_of(static_cast<int>(end.host % trays))[end.rail].vertex};
}

/// The first cable of a pool.
FabricTrunk Cluster::trunk(std::uint32_t id) const {
  return layout_->trunk(id < pools_ ? id - trunks_ : layout_->pool(id - pools_).first);
}

const FabricSwitchPart& Cluster::switch_part(SwitchTier tier) const {
  switch (tier) {
    case SwitchTier::leaf:
      return fabric_.leaf;
    case SwitchTier::spine:
      return fabric_.spine;
    case SwitchTier::core:
      return fabric_.core;
  }
  return fabric_.leaf;
}

/// Of the node, or of the middle one of the nodes below a switch.
std::int64_t Cluster::rack_of(const FabricEnd& end) const {
  const std::int64_t per_rack = std::max(1, fabric_.nodes_per_rack);
  if (!end.is_switch) return end.host / per_rack;
  const bool rails = fabric_.kind == FabricConfig::Kind::rail_optimised;
  const std::int64_t nodes_per_leaf =
      rails ? fabric_.leaf_down : fabric_.leaf_down / static_cast<int>(nics_per_host());
  std::int64_t first = 0, count = hosts();
  if (end.which.tier == SwitchTier::leaf) {
    first = end.which.index % static_cast<std::uint32_t>(leaves_per_plane_) * nodes_per_leaf;
    count = nodes_per_leaf;
  } else if (end.which.tier == SwitchTier::spine && fabric_.pod_leaves > 0 && uplinks_ > 0) {
    count = nodes_per_leaf * fabric_.pod_leaves;
    first = end.which.index / static_cast<std::uint32_t>(uplinks_) * count;
  }
  const std::int64_t last = std::min<std::int64_t>(hosts(), first + count) - 1;
  return std::max(first, (first + last) / 2) / per_rack;
}

Bandwidth Cluster::port_rate(const FabricEnd& nic) const {
  return std::min(node_.nics()[nic.rail].speed, fabric_.leaf.port_rate);
}

CableRun Cluster::cable(const FabricEnd& from, const FabricEnd& to) const {
  CableRun run{fabric_.node_leaf_cable, fabric_.node_leaf_metres};
  if (from.is_switch && to.is_switch) {
    run = {fabric_.leaf_spine_cable, fabric_.leaf_spine_metres};
    if (fabric_.kind == FabricConfig::Kind::dragonfly) {
      const auto group = static_cast<std::uint32_t>(fabric_.group_switches);
      run = from.which.index / group == to.which.index / group ? fabric_.local : fabric_.global;
    } else if (from.which.tier == SwitchTier::core || to.which.tier == SwitchTier::core) {
      run = fabric_.spine_core;
    }
  }
  run.metres += fabric_.racks.metres(rack_of(from), rack_of(to));
  return run;
}

ClusterLink Cluster::link(LinkId global) const {
  ClusterLink out = healthy_link(global);
  if (is_pool(global)) {
    const FabricLayout::Pool pool = layout_->pool(index_of(global) - pools_);
    const Bandwidth cable = out.rate;
    out.lanes = pool.width;
    out.rate = cable * out.lanes;
    const std::uint32_t first = trunks_ + pool.first;
    for (auto at = rates_.lower_bound(first); at != rates_.end() && at->first < first + pool.width;
         ++at)
      out.rate.bytes_per_s += at->second.bytes_per_s - cable.bytes_per_s;
    return out;
  }
  const auto changed = rates_.find(index_of(global));
  if (changed != rates_.end()) out.rate = changed->second;
  return out;
}

ClusterLink Cluster::healthy_link(LinkId global) const {
  if (index_of(global) < nic_to_leaf_) {
    const NodeLink& link = node_.link(LinkId{index_of(global) % links_per_node_});
    const bool out_of_switch = node_.vertex(link.from).kind == VertexKind::nvswitch;
    return {link.rate, link.latency, 1, out_of_switch};
  }
  const FabricEnd from = link_from(global), to = link_to(global);
  const CableRun run = cable(from, to);
  if (!from.is_switch || !to.is_switch) {
    const FabricEnd& nic = from.is_switch ? to : from;
    const NicPart& part = node_.nics()[nic.rail].part;
    const double line = static_cast<double>(port_rate(nic).bytes_per_s);
    return {
        {std::llround(line * part.goodput)},
        (from.is_switch ? fabric_.leaf.latency : part.latency) + cable_delay(run.cable, run.metres),
        1,
        from.is_switch};
  }
  const FabricSwitchPart &a = switch_part(from.which.tier), &b = switch_part(to.which.tier);
  return {std::min(payload_rate(a), payload_rate(b)),
          a.latency + cable_delay(run.cable, run.metres)};
}

int Cluster::first_node_of(LinkId global) const {
  const std::uint32_t id = index_of(global);
  if (id < nic_to_leaf_) return static_cast<int>(id / links_per_node_) * node_.trays();
  if (id < leaf_to_nic_) return static_cast<int>(nic_end(id - nic_to_leaf_).host);
  if (id < trunks_) return static_cast<int>(nic_end(id - leaf_to_nic_).host);
  const FabricTrunk ends = trunk(id);
  const auto below = [&](const FabricSwitch& which) {
    if (which.tier == SwitchTier::leaf)
      return static_cast<int>(which.index) % leaves_per_plane_ * nodes_per_leaf_;
    return static_cast<int>(which.index) / uplinks_ * nodes_per_pod();
  };
  return below(ends.from.tier < ends.to.tier ? ends.from : ends.to);
}

LinkId Cluster::moved_back(LinkId global, int nodes) const {
  const std::uint32_t id = index_of(global), by = static_cast<std::uint32_t>(nodes);
  if (id < nic_to_leaf_)
    return LinkId{id - static_cast<std::uint32_t>(nodes / node_.trays()) * links_per_node_};
  if (id < trunks_) return LinkId{id - by * nics_per_host()};
  const auto leaves = static_cast<std::uint32_t>(nodes / nodes_per_leaf_);
  if (id >= pools_) return LinkId{pools_ + layout_->pool_moved_back(id - pools_, leaves)};
  return LinkId{trunks_ + layout_->moved_back(id - trunks_, leaves)};
}

std::string Cluster::link_name(LinkId global) const {
  if (index_of(global) < nic_to_leaf_) {
    const LinkId local{index_of(global) % links_per_node_};
    const int node = static_cast<int>(index_of(global) / links_per_node_);
    return fmt::format("node{}: {}", node * node_.trays() + node_.tray_of(local),
                       node_.link_name(local));
  }
  const FabricEnd from = link_from(global), to = link_to(global);
  const bool pool = is_pool(global);
  const auto name = [&](const FabricEnd& end) -> std::string {
    if (pool && end.which.tier == SwitchTier::core) return "cores";
    if (pool && end.which.tier == SwitchTier::spine) {
      if (layout_->switches(SwitchTier::core) == 0) return "spines";
      return fmt::format("spines{}.*", end.which.index / static_cast<std::uint32_t>(uplinks_));
    }
    if (end.is_switch) return layout_->name(end.which);
    return fmt::format("node{}: {}", end.host, node_.nics()[end.rail].name);
  };
  Bandwidth rate;
  if (from.is_switch && to.is_switch) {
    rate = std::min(switch_part(from.which.tier).port_rate, switch_part(to.which.tier).port_rate);
  } else {
    rate = port_rate(from.is_switch ? to : from);
  }
  const std::string lanes =
      pool ? fmt::format("{} x ", layout_->pool(index_of(global) - pools_).width) : "";
  return fmt::format("{} -> {} ({}{})", name(from), name(to), lanes, to_bits_text(rate));
}

std::string Cluster::fabric_summary() const {
  if (planes_ == 0) return "no fabric: the node has no NIC";
  const std::string leaf =
      fmt::format("{} at {}", fabric_.leaf.name, to_bits_text(fabric_.leaf.port_rate));
  if (fabric_.kind == FabricConfig::Kind::dragonfly) {
    return fmt::format(
        "dragonfly, {} groups of {} switches ({}), {} cables between groups, {} routing",
        leaves() / static_cast<std::uint32_t>(fabric_.group_switches), fabric_.group_switches, leaf,
        (layout_->trunks() -
         std::uint64_t{leaves()} * static_cast<unsigned>(fabric_.group_switches - 1)) /
            2,
        to_text(fabric_.routing));
  }
  const bool rails = fabric_.kind == FabricConfig::Kind::rail_optimised;
  const std::uint32_t cores = layout_->switches(SwitchTier::core);
  const auto blocking = [](double ratio) {
    return ratio > 1 ? fmt::format("{:.4g}:1 oversubscribed", ratio) : std::string("non-blocking");
  };
  std::string text =
      fmt::format("{} {}-tier fat-tree, {}, {} {} ({})", rails ? "rail-optimised" : "plain",
                  cores > 0 ? "three" : "two", blocking(fabric_.oversubscription), leaves(),
                  leaves() == 1 ? "leaf" : "leaves", leaf);
  if (uplinks_ > 0) text += fmt::format(", {} spines", layout_->switches(SwitchTier::spine));
  if (cores > 0)
    text += fmt::format(", {} cores ({})", cores, blocking(fabric_.core_oversubscription));
  if (uplinks_ > 0) text += fmt::format(", {} routing", to_text(fabric_.routing));
  if (fabric_.is_default) text += "; assumed (no fabric named), switch radix not checked";
  return text;
}

}  // namespace fabricast
