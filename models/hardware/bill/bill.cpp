#include "models/hardware/bill/bill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "models/hardware/bill/media.hpp"

namespace fabricast {
namespace {

constexpr std::array kTiers = {SwitchTier::leaf, SwitchTier::spine, SwitchTier::core};

constexpr std::size_t place_of(SwitchTier tier) { return static_cast<std::size_t>(tier); }
BillPlace bill_place(SwitchTier tier) {
  constexpr std::array places = {BillPlace::leaf, BillPlace::spine, BillPlace::core};
  return places[place_of(tier)];
}

std::int64_t pieces_for(std::int64_t links, std::int64_t links_each) {
  return (links + links_each - 1) / links_each;
}

std::optional<double> known_watts(double watts) {
  return watts > 0 ? std::optional(watts) : std::nullopt;
}

/// The switch that is sold and nearest to an assumed one: of the NICs' kind, as fast, else the next
/// faster, else the fastest.
const FabricSwitchPart& nearest_switch(const FabricSwitchPart& like, LinkLayer layer,
                                       const PartsCatalogue& parts) {
  const auto named = parts.fabric_switches.find(like.name);
  if (named != parts.fabric_switches.end() && named->second.link_layer == layer)
    return named->second;
  const auto order = [&](const FabricSwitchPart& part) {
    const bool slower = part.port_rate < like.port_rate;
    const std::int64_t rate = part.port_rate.bytes_per_s;
    return std::tuple(part.link_layer != layer, slower, slower ? -rate : rate, part.name);
  };
  const FabricSwitchPart* best = nullptr;
  for (const auto& [name, part] : parts.fabric_switches)
    if (best == nullptr || order(part) < order(*best)) best = &part;
  return best == nullptr ? like : *best;
}

/// The switches of a tier as they are bought.
struct BoughtTier {
  const FabricSwitchPart* part = nullptr;
  std::int64_t modelled = 0;
  std::int64_t merged = 1;  ///< modelled switches that one bought switch stands for

  std::int64_t count() const { return modelled / merged; }
};

/// `alike`: so many modelled switches in a row may become one. `ports`: of each of them.
void merge(BoughtTier& tier, std::int64_t alike, std::int64_t ports) {
  for (std::int64_t k = 2; k <= alike && k * ports <= tier.part->radix; ++k)
    if (alike % k == 0) tier.merged = k;
}

/// Which lines there are, and in which order.
using LineKey = std::tuple<BillKind, BillPlace, std::string, double>;

class BillCounter {
 public:
  BillCounter(const Cluster& cluster, const PartsCatalogue& parts)
      : cluster_(cluster), parts_(parts), dragonfly_(is_dragonfly(cluster)) {
    for (const SwitchTier tier : kTiers) plan(tier);
  }

  FabricBill count() {
    count_nics();
    count_node_cables();
    count_trunks();
    sum_plugs();
    sum_cables();
    count_switches();
    note_lengths();
    return take();
  }

 private:
  /// An end of a link: a NIC, or a bought switch.
  struct End {
    BillPlace place{};
    std::int64_t number = 0;
    BillCage cage;
  };

  static bool is_dragonfly(const Cluster& cluster) {
    return cluster.fabric().kind == FabricConfig::Kind::dragonfly;
  }

  void plan(SwitchTier tier) {
    BoughtTier& out = tiers_[place_of(tier)];
    const FabricSwitchPart& part = cluster_.switch_part(tier);
    const bool assumed = cluster_.fabric().is_default;
    const bool has = cluster_.layout().switches(tier) > 0;
    out.part = assumed && has ? &nearest_switch(part, layer(), parts_) : &part;
    out.modelled = cluster_.layout().switches(tier);
    if (out.modelled == 0 || dragonfly_ || tier == SwitchTier::leaf) return;
    const std::int64_t spines = cluster_.layout().switches(SwitchTier::spine);
    const std::int64_t per_pod = cluster_.uplinks(), pods = spines / per_pod;
    const std::int64_t cores = cluster_.layout().switches(SwitchTier::core);
    if (tier == SwitchTier::core) return merge(out, cores, pods);
    const std::int64_t leaves =
        pods == 1 ? cluster_.layout().leaves()
                  : std::int64_t{cluster_.planes()} * cluster_.fabric().pod_leaves;
    merge(out, per_pod, leaves + cores / per_pod);
  }

  /// REQUIRES: the fabric has switches.
  LinkLayer layer() const { return link_layer_of(cluster_.node().nics().front().part.network); }

  const NicInfo& nic(const Cluster::FabricEnd& end) const {
    return cluster_.node().nics()[end.rail];
  }

  /// One card for the ports that share a PCI device.
  void count_nics() {
    std::set<std::string> seen;
    for (const NicInfo& nic : cluster_.node().nics_of(0)) {
      const std::string busid = cluster_.node().vertex(nic.vertex).busid;
      const std::string device = busid.substr(0, busid.rfind('.'));
      if (!device.empty() && !seen.insert(device).second) continue;
      BillLine& line = line_of({BillKind::nic, BillPlace::nic, nic.part.name, 0});
      line.count += cluster_.hosts();
      line.watts_each = known_watts(nic.part.watts);
    }
  }

  void count_node_cables() {
    const std::int64_t per_host = cluster_.node().nics_per_tray();
    const std::uint32_t first = index_of(cluster_.first_fabric_link());
    const BoughtTier& leaves = tiers_[0];
    for (std::int64_t port = 0; port < per_host * cluster_.hosts(); ++port) {
      const LinkId link{first + static_cast<std::uint32_t>(port)};
      const Cluster::FabricEnd from = cluster_.link_from(link), to = cluster_.link_to(link);
      const Bandwidth rate = cluster_.port_rate(from);
      const int split = links_of_port(leaves.part->port_rate, rate);
      End above = switch_end(to.which, split);
      const End below{
          BillPlace::nic, port, {nic(from).part.port_rate, nic(from).part.port_rate, 1}};
      ports_[{SwitchTier::leaf, above.number, split}] += 1;
      add_link(BillPlace::node_leaf, cluster_.cable(from, to), above, below, rate);
    }
  }

  static int links_of_port(Bandwidth port, Bandwidth link) {
    constexpr std::int64_t most = 4;  // no cable splits further
    return static_cast<int>(std::clamp<std::int64_t>(port.bytes_per_s / link.bytes_per_s, 1, most));
  }

  End switch_end(const FabricSwitch& which, int split) const {
    const BoughtTier& tier = tiers_[place_of(which.tier)];
    return {bill_place(which.tier),
            which.index / tier.merged,
            {tier.part->port_rate * tier.part->cage_ports, tier.part->port_rate,
             tier.part->cage_ports * split}};
  }

  void count_trunks() {
    const FabricLayout& layout = cluster_.layout();
    for (std::uint64_t id = 0; id < layout.trunks(); ++id) {
      const FabricTrunk trunk = layout.trunk(static_cast<std::uint32_t>(id));
      const bool up = trunk.from.tier < trunk.to.tier ||
                      (trunk.from.tier == trunk.to.tier && trunk.from.index < trunk.to.index);
      if (!up) continue;  // the other direction of the same cable
      const End below = switch_end(trunk.from, 1), above = switch_end(trunk.to, 1);
      ports_[{trunk.from.tier, below.number, 1}] += 1;
      ports_[{trunk.to.tier, above.number, 1}] += 1;
      const Bandwidth rate = std::min(tiers_[place_of(trunk.from.tier)].part->port_rate,
                                      tiers_[place_of(trunk.to.tier)].part->port_rate);
      const CableRun run = cluster_.cable({true, 0, 0, trunk.from}, {true, 0, 0, trunk.to});
      add_link(place_of_trunk(trunk), run, above, below, rate);
    }
  }

  BillPlace place_of_trunk(const FabricTrunk& trunk) const {
    if (trunk.to.tier == SwitchTier::core) return BillPlace::spine_core;
    if (trunk.to.tier == SwitchTier::spine) return BillPlace::leaf_spine;
    const auto group = static_cast<std::uint32_t>(cluster_.fabric().group_switches);
    return trunk.from.index / group == trunk.to.index / group ? BillPlace::local
                                                              : BillPlace::global;
  }

  void add_link(BillPlace place, const CableRun& run, const End& above, const End& below,
                Bandwidth rate) {
    const bool to_nic = place == BillPlace::node_leaf;
    const auto [found, is_new] = media_.try_emplace(
        {place, run.metres, above.cage.rate.bytes_per_s, below.cage.rate.bytes_per_s});
    BillMedium& medium = found->second;
    if (is_new) {
      medium = medium_of(run, above.cage, below.cage, to_nic && above.cage.links > 1, parts_);
      if (medium.instead_of_copper) note_fibre(place, run.metres);
    }
    if (medium.copper != nullptr) {
      // Cables to NICs belong to one leaf; those between switches are counted in total.
      const int shared = to_nic ? above.cage.links : std::min(above.cage.links, below.cage.links);
      const std::int64_t owner = to_nic ? above.number : 0;
      copper_[{place, medium.copper, medium.metres, owner, shared}] += 1;
      return;
    }
    plugs_[{above.place, above.number, medium.above, above.cage.links}] += 1;
    plugs_[{below.place, below.number, medium.below, below.cage.links}] += 1;
    fibres_[{place, medium.above, medium.metres, rate.bytes_per_s}] += 1;
  }

  void note_fibre(BillPlace place, double metres) {
    const auto [found, is_new] = instead_.try_emplace(place, metres, metres);
    auto& [least, most] = found->second;
    least = std::min(least, metres);
    most = std::max(most, metres);
  }

  void note_lengths() {
    for (const auto& [place, lengths] : instead_) {
      const auto& [least, most] = lengths;
      notes_.insert(fmt::format(
          "Copper of {:.4g} m{} ({}) is not sold for these ports: counted as fibre.", least,
          least < most ? fmt::format(" to {:.4g} m", most) : "", kBillPlaceWords[place]));
    }
  }

  void sum_plugs() {
    for (const auto& [key, links] : plugs_) {
      const auto& [place, number, part, shared] = key;
      BillLine& line =
          line_of({BillKind::transceiver, place, part == nullptr ? "" : part->name, 0});
      line.count += pieces_for(links, shared);
      if (part != nullptr) line.watts_each = known_watts(part->watts);
    }
  }

  void sum_cables() {
    for (const auto& [key, links] : copper_) {
      const auto& [place, part, metres, owner, shared] = key;
      BillLine& line = line_of({BillKind::copper, place, part->name, metres});
      line.count += pieces_for(links, shared);
      line.links += links;
      line.watts_each = part->watts;
    }
    for (const auto& [key, links] : fibres_) {
      const auto& [place, part, metres, rate] = key;
      BillLine& line =
          line_of({BillKind::fibre, place, part == nullptr ? "" : part->fibre, metres});
      const std::int64_t fibre_rate = part == nullptr ? rate : part->fibre_rate.bytes_per_s;
      const bool splits = place == BillPlace::node_leaf && rate < fibre_rate;
      line.count +=
          splits ? pieces_for(links, fibre_rate / rate) : links * pieces_for(rate, fibre_rate);
      line.links += links;
      line.watts_each = 0;
    }
  }

  void count_switches() {
    for (const SwitchTier tier : kTiers) {
      const BoughtTier& bought = tiers_[place_of(tier)];
      if (bought.modelled == 0) continue;
      std::map<std::int64_t, std::int64_t> used;  // ports, by bought switch
      for (const auto& [key, links] : ports_)
        if (std::get<0>(key) == tier) used[std::get<1>(key)] += pieces_for(links, std::get<2>(key));
      BillLine& line = line_of({BillKind::fabric_switch, bill_place(tier), bought.part->name, 0});
      // One each; more where an assumed switch has ports that none has.
      line.count = bought.count();
      TierPorts& ports = out_.ports[place_of(tier)];
      for (const auto& [number, count] : used) {
        ports.used += count;
        line.count += pieces_for(count, bought.part->radix) - 1;
      }
      ports.free = line.count * bought.part->radix - ports.used;
      line.watts_each = known_watts(bought.part->watts);
      line.assumed = cluster_.fabric().is_default;
      note_switches(tier, bought, line.count > bought.count());
    }
  }

  void note_switches(SwitchTier tier, const BoughtTier& bought, bool too_large) {
    const std::string_view name = kBillPlaceWords[bill_place(tier)];
    if (cluster_.fabric().is_default)
      notes_.insert("No fabric is named: switches that are sold stand for the assumed ones.");
    if (bought.merged > 1)
      notes_.insert(
          fmt::format("The {} {} switches of the fabric are bought as {}: each has the cables of "
                      "{}.",
                      bought.modelled, name, bought.count(), bought.merged));
    if (too_large)
      notes_.insert(fmt::format(
          "A {} of the assumed fabric has more ports than a {}: several are counted for it, "
          "what joins them is not.",
          name, bought.part->name));
  }

  BillLine& line_of(const LineKey& key) {
    const auto [found, is_new] = lines_.try_emplace(key);
    if (is_new)
      std::tie(found->second.kind, found->second.place, found->second.part, found->second.metres) =
          key;
    return found->second;
  }

  FabricBill take() {
    for (auto& [key, line] : lines_) out_.lines.push_back(std::move(line));
    out_.notes.assign(notes_.begin(), notes_.end());
    return std::move(out_);
  }

  const Cluster& cluster_;
  const PartsCatalogue& parts_;
  bool dragonfly_;
  std::array<BoughtTier, 3> tiers_;
  std::map<std::tuple<BillPlace, double, std::int64_t, std::int64_t>, BillMedium> media_;
  // Links: by switch and links that share a port; by cage; by cable and the leaf it belongs to.
  std::map<std::tuple<SwitchTier, std::int64_t, int>, std::int64_t> ports_;
  std::map<std::tuple<BillPlace, std::int64_t, const TransceiverPart*, int>, std::int64_t> plugs_;
  std::map<std::tuple<BillPlace, const CopperCablePart*, double, std::int64_t, int>, std::int64_t>
      copper_;
  std::map<std::tuple<BillPlace, const TransceiverPart*, double, std::int64_t>, std::int64_t>
      fibres_;
  std::map<BillPlace, std::pair<double, double>> instead_;  ///< lengths of copper that is not sold
  std::map<LineKey, BillLine> lines_;
  std::set<std::string> notes_;
  FabricBill out_;
};

}  // namespace

std::int64_t FabricBill::pieces(BillKind kind) const {
  std::int64_t out = 0;
  for (const BillLine& line : lines)
    if (line.kind == kind) out += line.count;
  return out;
}

double FabricBill::watts() const {
  double out = 0;
  for (const BillLine& line : lines)
    out += line.watts_each.value_or(0) * static_cast<double>(line.count);
  return out;
}

FabricBill bill_of(const Cluster& cluster, const PartsCatalogue& parts) {
  if (cluster.hosts() < 2 || cluster.planes() == 0) return {};
  return BillCounter(cluster, parts).count();
}

}  // namespace fabricast
