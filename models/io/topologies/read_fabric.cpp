#include "models/io/topologies/read_fabric.hpp"

#include <fmt/format.h>

#include <array>

#include "models/hardware/cluster/network_plan.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr int kPortsMax = 100'000;

template <class Part>
const Part& read_part(Reader& in, std::string_view key, std::string_view what,
                      const std::map<std::string, Part>& parts) {
  const std::string name = in.text(key);
  const auto found = parts.find(name);
  if (found != parts.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, unused] : parts) known.push_back(other);
  in.fail(key, fmt::format("unknown {} \"{}\"", what, name), hint_nearest(name, known));
}

CableRun read_cable(Reader in, const Figures& figures, const PartsCatalogue& parts) {
  CableRun run;
  run.cable = read_part(in, "cable", "cable", parts.cables);
  run.metres = figures.metres(in, "length");
  in.finish();
  return run;
}

/// Racks in rows; without a pitch, distance does not count.
RackPlan read_racks(Reader& in, const Figures& figures) {
  RackPlan racks;
  if (in.has("rack_pitch")) racks.pitch_metres = figures.metres(in, "rack_pitch");
  if (in.has("racks_per_row")) {
    racks.racks_per_row = figures.whole(in, "racks_per_row", 1, kPortsMax);
    racks.row_pitch_metres = figures.metres(in, "row_pitch");
  }
  return racks;
}

void read_dragonfly(Reader& in, const Figures& figures, const PartsCatalogue& parts,
                    FabricConfig& fabric) {
  fabric.group_switches = figures.whole(in, "group_switches", 1, kPortsMax);
  fabric.global_ports = figures.whole(in, "global_ports", 0, kPortsMax);
  fabric.local = read_cable(in.child("local"), figures, parts);
  fabric.global = read_cable(in.child("global"), figures, parts);
}

void read_tree(Reader& in, const Figures& figures, const PartsCatalogue& parts,
               FabricConfig& fabric) {
  fabric.spine = in.has("spine") ? read_part(in, "spine", "fabric switch", parts.fabric_switches)
                                 : fabric.leaf;
  fabric.oversubscription = figures.number(in, "oversubscription", 1, kOversubscriptionMax);
  const CableRun run = read_cable(in.child("leaf_spine"), figures, parts);
  fabric.leaf_spine_cable = run.cable;
  fabric.leaf_spine_metres = run.metres;
  if (!in.has("pod_leaves")) return;
  fabric.pod_leaves = figures.whole(in, "pod_leaves", 1, kPortsMax);
  fabric.core =
      in.has("core") ? read_part(in, "core", "fabric switch", parts.fabric_switches) : fabric.spine;
  fabric.core_oversubscription =
      figures.number(in, "core_oversubscription", 1, kOversubscriptionMax);
  fabric.spine_core = read_cable(in.child("spine_core"), figures, parts);
}

}  // namespace

/// `service_levels` of InfiniBand or `traffic_classes` of Ethernet: their priorities.
void read_classes(Reader& in, FabricConfig& fabric) {
  constexpr int kPrioritiesMax = 7;
  const char* const key = fabric.leaf.is_ethernet() ? "traffic_classes" : "service_levels";
  const char* const other = fabric.leaf.is_ethernet() ? "service_levels" : "traffic_classes";
  if (in.has(other))
    in.fail(
        other,
        fmt::format("the leaf {} is {}", fabric.leaf.name, kLinkLayerNames[fabric.leaf.link_layer]),
        fmt::format("it has {}", key));
  if (!in.has(key)) return;
  Reader table = in.child(key);
  for (const std::string& name : table.keys()) {
    const int number = to_number<int>(name).value_or(-1);
    const int most = fabric.leaf.is_ethernet() ? 255 : 15;
    if (number < 0 || number > most)
      table.fail(name, fmt::format("is no number from 0 to {}", most));
    fabric.classes[number] = table.whole(name, 0, kPrioritiesMax);
  }
  table.finish();
}

FabricConfig read_fabric(Reader& in, const PartsCatalogue& parts) {
  std::map<std::string, Source> sources = parts.sources;
  read_sources(in, sources);
  const Figures figures(sources);
  FabricConfig fabric;
  fabric.place = in.place();
  fabric.name = in.text("name", "inline");
  in.text("title", "");  // for lists of fabrics
  constexpr std::array kinds = {FabricConfig::Kind::rail_optimised, FabricConfig::Kind::fat_tree,
                                FabricConfig::Kind::dragonfly};
  fabric.kind = kinds[in.choice("shape", {"rail_optimised", "fat_tree", "dragonfly"})];
  fabric.leaf = read_part(in, "leaf", "fabric switch", parts.fabric_switches);
  fabric.leaf_down = figures.whole(in, "leaf_down", 1, kPortsMax);
  fabric.nodes_per_rack = figures.whole(in, "nodes_per_rack", 1, kPortsMax);
  fabric.racks = read_racks(in, figures);
  const CableRun run = read_cable(in.child("node_leaf"), figures, parts);
  fabric.node_leaf_cable = run.cable;
  fabric.node_leaf_metres = run.metres;
  if (fabric.kind == FabricConfig::Kind::dragonfly) {
    read_dragonfly(in, figures, parts, fabric);
  } else {
    read_tree(in, figures, parts, fabric);
  }
  if (in.has("routing")) fabric.routing = in.choice("routing", kRoutingWords);
  if (in.has("dcqcn")) {
    fabric.dcqcn = in.flag("dcqcn", true);
    if (!fabric.leaf.is_ethernet()) in.fail("dcqcn", "InfiniBand has none", "leave it out");
  }
  read_classes(in, fabric);
  in.finish();
  return fabric;
}

}  // namespace fabricast
