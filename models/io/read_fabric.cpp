#include "models/io/read_fabric.hpp"

#include <fmt/format.h>

#include "models/io/words.hpp"

namespace fabricast {
namespace {

constexpr int kPortsMax = 100'000;
constexpr double kOversubscriptionMax = 1'000;

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

void read_cable(Reader in, const Figures& figures, const PartsCatalogue& parts, Cable& cable,
                double& metres) {
  cable = read_part(in, "cable", "cable", parts.cables);
  metres = figures.metres(in, "length");
  in.finish();
}

}  // namespace

FabricConfig read_fabric(Reader& in, const PartsCatalogue& parts) {
  std::map<std::string, Source> sources = parts.sources;
  read_sources(in, sources);
  const Figures figures(sources);
  FabricConfig fabric;
  fabric.place = in.place();
  fabric.name = in.text("name", "inline");
  fabric.kind = in.choice("shape", {"rail_optimised", "fat_tree"}) == 0
                    ? FabricConfig::Kind::rail_optimised
                    : FabricConfig::Kind::fat_tree;
  fabric.leaf = read_part(in, "leaf", "fabric switch", parts.fabric_switches);
  fabric.spine = in.has("spine") ? read_part(in, "spine", "fabric switch", parts.fabric_switches)
                                 : fabric.leaf;
  fabric.leaf_down = figures.whole(in, "leaf_down", 1, kPortsMax);
  fabric.oversubscription = figures.number(in, "oversubscription", 1, kOversubscriptionMax);
  fabric.nodes_per_rack = figures.whole(in, "nodes_per_rack", 1, kPortsMax);
  read_cable(in.child("node_leaf"), figures, parts, fabric.node_leaf_cable,
             fabric.node_leaf_metres);
  read_cable(in.child("leaf_spine"), figures, parts, fabric.leaf_spine_cable,
             fabric.leaf_spine_metres);
  in.finish();
  return fabric;
}

}  // namespace fabricast
