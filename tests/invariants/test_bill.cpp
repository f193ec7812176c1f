// The bill of a fabric: every port of a switch that is bought is used or free, every link of the
// cluster is in a cable once, every NIC has one end, whatever the fabric.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <chrono>
#include <map>

#include "models/hardware/bill/bill.hpp"
#include "tests/invariants/cases.hpp"

namespace fabricast::testing {
namespace {

/// What a walk over all links of a cluster finds.
struct Walked {
  std::map<std::pair<bool, bool>, std::int64_t> cables;  ///< by (from a switch, to a switch)
  std::int64_t nic_ends = 0;
};

Walked walk(const Cluster& cluster) {
  Walked out;
  for (std::uint32_t id = index_of(cluster.first_fabric_link()); id < cluster.cables(); ++id) {
    const auto from = cluster.link_from(LinkId{id}), to = cluster.link_to(LinkId{id});
    out.cables[{from.is_switch, to.is_switch}] += 1;
    out.nic_ends += !from.is_switch;
  }
  return out;
}

std::int64_t links(const FabricBill& bill, bool to_nics) {
  std::int64_t out = 0;
  for (const BillLine& line : bill.lines)
    if ((line.place == BillPlace::node_leaf) == to_nics) out += line.links;
  return out;
}

void check_bill(const Cluster& cluster) {
  const FabricBill bill = bill_of(cluster, shipped_parts());
  const Walked walked = walk(cluster);
  CHECK(links(bill, true) == walked.nic_ends);
  CHECK(2 * links(bill, false) ==
        (walked.cables.contains({true, true}) ? walked.cables.at({true, true}) : 0));
  std::int64_t ports = 0, radix = 0;
  for (const TierPorts& tier : bill.ports) {
    CHECK(tier.free >= 0);
    ports += tier.used + tier.free;
  }
  for (const BillLine& line : bill.lines) {
    CHECK(line.count > 0);
    const bool cable = line.kind == BillKind::copper || line.kind == BillKind::fibre;
    CHECK((line.links > 0) == cable);
    CHECK((line.metres > 0) == cable);
    if (line.kind == BillKind::fabric_switch)
      radix += line.count * shipped_parts().fabric_switches.at(line.part).radix;
  }
  CHECK(ports == radix);
}

std::string figure(const std::string& value) {
  return fmt::format("{{value: {}, source: model, status: assumed}}", value);
}

std::string cable(Dice& random, const char* key) {
  return fmt::format("  {}: {{cable: {}, length: {}}}\n", key,
                     random.pick(0, 1) == 0 ? "copper" : "optical",
                     figure(fmt::format("{}.{} m", random.pick(0, 60), random.pick(1, 9))));
}

/// A fat-tree or a dragonfly on any switch; not every one is possible.
std::string random_fabric(Dice& random) {
  const bool dragonfly = random.pick(0, 3) == 0;
  std::string out = fmt::format(
      "fabric:\n  shape: {}\n  leaf: {}\n  leaf_down: {}\n  nodes_per_rack: {}\n"
      "  rack_pitch: {}\n",
      dragonfly                ? "dragonfly"
      : random.pick(0, 1) == 0 ? "rail_optimised"
                               : "fat_tree",
      random.of(std::array{"SB7800", "QM8700", "QM9700", "Q3400", "SN5600", "Tomahawk4"}),
      figure(std::to_string(random.pick(8, 40))), figure(std::to_string(random.pick(1, 9))),
      figure(fmt::format("0.{} m", random.pick(0, 9))));
  out += cable(random, "node_leaf");
  if (dragonfly)
    return out +
           fmt::format("  group_switches: {}\n  global_ports: {}\n",
                       figure(std::to_string(random.pick(1, 8))),
                       figure(std::to_string(random.pick(1, 8)))) +
           cable(random, "local") + cable(random, "global");
  out += fmt::format("  oversubscription: {}\n", figure(std::to_string(random.pick(1, 4))));
  out += cable(random, "leaf_spine");
  if (random.pick(0, 1) == 0)
    out += fmt::format("  pod_leaves: {}\n  core_oversubscription: {}\n",
                       figure(std::to_string(random.pick(1, 3))),
                       figure(std::to_string(random.pick(1, 3)))) +
           cable(random, "spine_core");
  return out;
}

}  // namespace

TEST_CASE("a bill has every port and every link of random fabrics") {
  Dice random(26);
  int possible = 0;
  for (int i = 0; i < random_cases(150); ++i) {
    const auto node = random.of(std::array{"dgx-a100", "dgx-h100", "hgx-b300", "gh200-4"});
    const std::string text = fmt::format("kind: cluster\nname: c\nnode: {}\nnodes: {}\n{}", node,
                                         random.pick(2, 60), random_fabric(random));
    CAPTURE(text);
    try {
      const Cluster cluster = parse_cluster(text, "c.yaml", {}, shipped_parts());
      ++possible;
      check_bill(cluster);
    } catch (const Error& e) {
      CHECK_MESSAGE(e.place().file == "c.yaml", e.what());
    }
  }
  CHECK(possible > random_cases(150) / 3);
}

TEST_CASE("a bill has every port and every link of the presets, with and without a fabric") {
  for (const char* const name : {"dgx-a100", "dgx-h100", "hgx-b200", "gb200-nvl72", "gh200-4"})
    for (const int nodes : {2, 18, 36}) {
      CAPTURE(name);
      CAPTURE(nodes);
      check_bill(load_cluster({name, nodes, "", true}, shipped_parts()));
      check_bill(load_cluster({name, nodes, "fabric-ndr-rail-3tier", true}, shipped_parts()));
    }
}

}  // namespace fabricast::testing
