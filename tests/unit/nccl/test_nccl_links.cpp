// Goal: from a node's search result, rings and trees over all nodes are those NCCL connects.
// Method: all ring neighbours, tree parents and tree children of every rank and channel, as
// NCCL 2.21.5 computed them for four node types on 1, 2 and 4 nodes; then what must hold of any
// ring's crossings.

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "models/nccl/base/releases.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"
#include "tests/unit/nccl/nccl_tables.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

#ifndef FABRICAST_LINKS_VERSION
#define FABRICAST_LINKS_VERSION "2.21.5"
#endif
const std::string kVersion = FABRICAST_LINKS_VERSION;

ChannelGraph find_graph(const std::vector<Row>& graphs, const Row& key, const std::string& graph) {
  for (const Row& row : graphs) {
    if (row.at("topology") == key.at("topology") && row.at("nodes") == key.at("nodes") &&
        row.at("graph") == graph) {
      return graph_of(row);
    }
  }
  FAIL("no graph");
  return {};
}

std::array<int, 3> down_list(const std::string& text) {
  std::array<int, 3> down = {-1, -1, -1};
  if (text == "-") return down;
  const std::vector<int> ranks = int_list(text, '/');
  std::copy(ranks.begin(), ranks.end(), down.begin());
  return down;
}

}  // namespace

TEST_CASE("rings and trees over nodes: every link as NCCL makes it") {
  const std::vector<Row> graphs = read_table("graphs-" + kVersion + ".csv");
  int links = 0;
  for (const Row& row : read_table("connections-" + kVersion + ".csv")) {
    CAPTURE(row.at("topology"));
    CAPTURE(row.at("nodes"));
    CAPTURE(row.at("channel"));
    const ChannelGraph ring = find_graph(graphs, row, "ring");
    const ChannelGraph tree = find_graph(graphs, row, "tree");
    const int nodes = std::stoi(row.at("nodes")), channel = std::stoi(row.at("channel"));
    CHECK(global_ring(ring, nodes, channel, nccl_version_from_text(kVersion)).ranks ==
          int_list(row.at("ring")));
    const std::vector<int> up = int_list(row.at("tree_up"));
    const std::vector<std::string> down = split(row.at("tree_down"), ' ');
    REQUIRE(up.size() == static_cast<std::size_t>(nodes * ring.gpus()));
    for (std::size_t rank = 0; rank < up.size(); ++rank) {
      const TreeLinks got = tree_links(tree, nodes, channel, static_cast<int>(rank));
      CHECK(got.up == up[rank]);
      CHECK(got.down == down_list(down[rank]));
      ++links;
    }
  }
  if (kVersion == "2.21.5") CHECK(links == 2912);
}

TEST_CASE("tree channels: up and down agree, and one rank is the root") {
  const std::vector<Row> graphs = read_table("graphs-" + kVersion + ".csv");
  for (const Row& row : graphs) {
    if (row.at("graph") != "tree") continue;
    const ChannelGraph tree = graph_of(row);
    for (const int nodes : {1, 2, 3, 5, 8}) {
      for (int channel = 0; channel < 2 * tree.channel_count(); ++channel) {
        int roots = 0;
        for (int rank = 0; rank < nodes * tree.gpus(); ++rank) {
          const TreeLinks links = tree_links(tree, nodes, channel, rank);
          roots += links.up < 0;
          for (const int below : links.down) {
            if (below >= 0) CHECK(tree_links(tree, nodes, channel, below).up == rank);
          }
        }
        CHECK(roots == 1);
      }
    }
  }
}

TEST_CASE(
    "rings leave one node and enter the next by NICs of the same number, where NICs are crossed") {
  // dgx-h100: search channel 0 enters by NIC 0 and leaves by NIC 1, channel 1 the other way round.
  // Odd nodes swap the two, so that channel 0 goes 0 -> 1 | 1 -> 0 | 0 -> 1 ... and stays on its
  // rails.
  const std::vector<Row> graphs = read_table("graphs-2.21.5.csv");
  const ChannelGraph ring = find_graph(graphs, {{"topology", "dgx-h100"}, {"nodes", "4"}}, "ring");
  for (int channel = 0; channel < 16; ++channel) {
    const GlobalRing global = global_ring(ring, 4, channel, kNccl2_21_5);
    REQUIRE(global.crossings.size() == 4);
    for (int node = 0; node < 4; ++node) {
      const NodeCrossing& c = global.crossings[static_cast<std::size_t>(node)];
      CHECK(c.from_node == node);
      CHECK(c.to_node == (node + 1) % 4);
      CHECK(c.from_nic == c.to_nic);
      CHECK(c.from_rank == 8 * c.from_node + c.from_nic);  // each GPU has its own NIC there
      CHECK(c.to_rank == 8 * c.to_node + c.to_nic);
    }
  }
  CHECK(global_ring(ring, 1, 0, kNccl2_21_5).crossings.empty());
}

TEST_CASE("rings do not swap when NICs are not crossed, or 2.27 calls the crossing differently") {
  ChannelGraph ring;
  ring.channels = {{{0, 1}, 0, 1}, {{1, 0}, 1, 0}};
  CHECK(ring_search_channel(ring, 0, 1, 2, kNccl2_21_5) == 0);
  ring.cross_nic = 1;
  CHECK(ring_search_channel(ring, 0, 1, 2, kNccl2_21_5) == 1);
  CHECK(ring_search_channel(ring, 3, 1, 2, kNccl2_21_5) == 0);  // a repeated channel swaps too
  CHECK(ring_search_channel(ring, 0, 2, 4, kNccl2_21_5) == 0);  // even nodes keep theirs
  CHECK(ring_search_channel(ring, 0, 1, 2, kNccl2_27_7) == 0);  // 1 = set by the user, not searched
  ring.cross_nic = 2;
  CHECK(ring_search_channel(ring, 0, 1, 2, kNccl2_27_7) == 1);
  ring.channels.pop_back();
  CHECK(ring_search_channel(ring, 0, 1, 2, kNccl2_27_7) == 0);  // odd number of channels
}
