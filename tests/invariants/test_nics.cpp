// A node with fewer NICs is what NCCL makes of the whole node when NCCL_IB_HCA names these NICs,
// and what a file of such a node says: three ways to one machine.

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "models/hardware/node/node_changes.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "tests/invariants/cases.hpp"

namespace fabricast::testing {
namespace {

/// There for one case.
class NodeFile {
 public:
  explicit NodeFile(const std::string& yaml) { std::ofstream(path_) << yaml; }
  NodeFile(const NodeFile&) = delete;
  NodeFile& operator=(const NodeFile&) = delete;
  ~NodeFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "./invariant-nics.yaml";  ///< in the folder of the test
};

/// Presets whose NICs NCCL's verbs serve, which NCCL_IB_HCA names: with at least two of them.
std::vector<std::string> presets_with_hcas() {
  std::vector<std::string> out;
  for (const std::string& name : node_preset_names()) {
    const Cluster cluster = load_cluster({name, 1, ""}, shipped_parts());
    const auto nics = cluster.node().nics();
    if (nics.size() > 1 && has_verbs(nics.front().part.network)) out.push_back(name);
  }
  return out;
}

std::vector<BenchRow> rows_of(const BenchConfig& config) {
  return run_bench(config, shipped_parts()).blocks.front().rows;
}

void check_equal(const std::vector<BenchRow>& a, const std::vector<BenchRow>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].result.time == b[i].result.time);
    CHECK(a[i].decided.run.algorithm == b[i].decided.run.algorithm);
    CHECK(a[i].decided.run.protocol == b[i].decided.run.protocol);
  }
}

TEST_CASE("--nics N, a node file with these NICs, and NCCL_IB_HCA naming them are one machine") {
  Dice random(14);
  const std::vector<std::string> presets = presets_with_hcas();
  REQUIRE(presets.size() >= 8);
  int cases = 0;
  for (int i = 0; i < random_cases(16); ++i) {
    const std::string preset = presets[static_cast<std::size_t>(i) % presets.size()];
    const NodeType node = load_node_type(preset);
    const auto have = static_cast<std::int64_t>(nics_of(node).size());
    const int count = static_cast<int>(random.pick(1, have));
    CAPTURE(preset);
    CAPTURE(count);
    BenchConfig by_count =
        bench_of(with_changes(preset, {.gpu = {}, .nic = {}, .network = {}, .nics = count}), 2,
                 {Bytes{std::int64_t{1} << random.pick(10, 26)}, Bytes{std::int64_t{1} << 24}});
    by_count.collectives = {random.of(kAllCollectives)};
    BenchConfig by_name = by_count;
    by_name.topology = preset;
    std::string names;
    for (const std::string& name : spread_nics(node, count))
      names += (names.empty() ? "=" : ",") + name;
    by_name.environment.set("NCCL_IB_HCA", names);
    const NodeType changed_node =
        changed(node, {.gpu = {}, .nic = {}, .network = {}, .nics = count}, shipped_parts());
    const NodeFile file(
        topo_yaml(NodeGraph::build(changed_node, shipped_parts()), shipped_parts()));
    BenchConfig by_file = by_count;
    by_file.topology = file.path();
    const std::vector<BenchRow> rows = rows_of(by_count);
    check_equal(rows, rows_of(by_name));
    check_equal(rows, rows_of(by_file));
    ++cases;
  }
  MESSAGE(cases << " cases");
}

TEST_CASE(
    "NICs that remain lie evenly: no CPU, and no switch under one, has two more than another "
    "that could take one") {
  Dice random(41);
  for (int i = 0; i < random_cases(2000); ++i) {
    // A random tree of CPUs, switches and devices.
    std::vector<TreeWay> ways;
    const int cpus = static_cast<int>(random.pick(1, 4));
    for (int cpu = 0; cpu < cpus; ++cpu) {
      const int switches = static_cast<int>(random.pick(0, 4));
      for (int s = 0; s < switches; ++s) {
        const int nics = static_cast<int>(random.pick(0, 4));
        for (int n = 0; n < nics; ++n) ways.push_back({cpu, s, n});
      }
    }
    const int count = static_cast<int>(random.pick(0, static_cast<std::int64_t>(ways.size())));
    const std::vector<std::size_t> kept = spread_over_tree(ways, count);
    CHECK(kept.size() == static_cast<std::size_t>(count));
    CHECK(std::ranges::is_sorted(kept));
    const auto balanced = [&](std::size_t depth) {
      std::map<TreeWay, std::pair<int, int>> taken;  // branch -> kept, all
      for (const TreeWay& way : ways)
        ++taken[TreeWay(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(depth))].second;
      for (const std::size_t at : kept)
        ++taken[TreeWay(ways[at].begin(), ways[at].begin() + static_cast<std::ptrdiff_t>(depth))]
              .first;
      for (const auto& [a, more] : taken) {
        for (const auto& [b, less] : taken) {
          const bool siblings = std::equal(a.begin(), a.end() - 1, b.begin());
          if (siblings && less.first < less.second) CHECK(more.first <= less.first + 1);
        }
      }
    };
    balanced(1);
    balanced(2);
  }
}

TEST_CASE("every alias is a machine that loads as it is and on two nodes, and is named once") {
  const std::vector<std::string> presets = preset_names();
  std::set<std::string> seen;
  for (const TopologyAlias& alias : topology_aliases()) {
    CAPTURE(alias.name);
    CHECK(seen.insert(alias.name).second);
    CHECK(std::ranges::find(presets, alias.name) == presets.end());
    if (!alias.composed)
      CHECK(std::ranges::find(presets, parse_topology_name(alias.is).base) != presets.end());
    CHECK(load_nodes(alias.name, shipped_parts()) == std::max(alias.nodes, 1));
    CHECK(load_cluster({alias.name, 2, ""}, shipped_parts()).nodes() == 2);
    CHECK(topology_note(alias.name, shipped_parts()).starts_with(alias.name + " is "));
    CHECK(alias.source.starts_with("https://"));
  }
}

TEST_CASE("an alias of a few words is the node that they say, and takes changes like a preset") {
  const PartsCatalogue& parts = shipped_parts();
  // HGX H800: a NIC beside each GPU, and of the 18 NVLinks of an H100 eight, two to each NVSwitch.
  const NodeGraph node = load_cluster({"hgx-h800", 1, ""}, parts).node();
  CHECK(node.name() == "hgx-h800");
  CHECK(node.gpus().size() == 8);
  CHECK(node.nics().size() == 8);
  CHECK(node.nvswitches().size() == 4);
  CHECK(node.gpus().front().nvlink_count == 8);
  CHECK(load_cluster({"hgx-h800:nics=4", 1, ""}, parts).node().nics().size() == 4);
  // A rack says how many trays it has; --nodes replaces that.
  CHECK(load_nodes("gb200-nvl72-16", parts) == 16);
  CHECK(load_cluster({"gb200-nvl72-16", 18, ""}, parts).hosts() == 18);
  CHECK(topology_note("gb200-nvl72-16", parts)
            .starts_with("gb200-nvl72-16 is 16 nodes of gb200-nvl72"));
}

}  // namespace
}  // namespace fabricast::testing
