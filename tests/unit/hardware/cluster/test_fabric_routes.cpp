// Goal: the way that a connection is laid over before its first byte is the one by destination, or
// that which ECMP hashes for it.
// Method: seeded pairs of NICs on random fabrics against Cluster::fabric_route() and
// hashed_route(); ways with links of nodes before and behind.

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "models/hardware/cluster/fabric_routes.hpp"
#include "tests/unit/nccl/fold_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

struct NicPair {
  int from_node = 0, to_node = 0;
  VertexId from{}, to{};
};

NicPair random_nics(Dice& random, const Cluster& cluster) {
  const auto nic = [&] {
    const std::span<const NicInfo> nics = cluster.node().nics();
    return nics[static_cast<std::size_t>(random.pick(0, std::ssize(nics) - 1))].vertex;
  };
  NicPair out{static_cast<int>(random.pick(0, cluster.nodes() - 2)), 0, nic(), nic()};
  out.to_node = static_cast<int>(random.pick(out.from_node + 1, cluster.nodes() - 1));
  return out;
}

std::vector<LinkId> laid(const FabricRoutes& routes, const NicPair& nics,
                         std::uint32_t connection) {
  std::vector<std::uint32_t> links;
  routes.add(nics.from_node, nics.from, nics.to_node, nics.to, connection, links);
  std::vector<LinkId> out;
  for (const std::uint32_t link : links) out.push_back(LinkId{link});
  return out;
}

}  // namespace

TEST_CASE("routes: by destination, or as the cluster hashes the connection's number") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("dgx-h100", parts);
  Dice random(41);
  int spread = 0;
  for (int round = 0; round < 40; ++round) {
    const Cluster cluster(node, static_cast<int>(random.pick(2, 12)),
                          random_fabric(random, node, parts));
    const EcmpSeeds seeds{static_cast<std::uint64_t>(random.pick(1, 1000)), 7};
    const FabricRoutes plain(cluster), hashed(cluster, seeds), other(cluster, seeds, 1);
    CHECK_FALSE(plain.are_hashed());
    CHECK(hashed.are_hashed());
    const NicPair nics = random_nics(random, cluster);
    const std::vector<LinkId> by_destination =
        cluster.fabric_route(nics.from_node, nics.from, nics.to_node, nics.to);
    std::set<std::vector<LinkId>> ways;
    for (std::uint32_t connection = 0; connection < 8; ++connection) {
      const auto way_of = [&](std::uint64_t queue_pair) {
        return cluster.hashed_route(nics.from_node, nics.from, nics.to_node, nics.to, queue_pair,
                                    seeds);
      };
      CHECK(laid(plain, nics, connection) == by_destination);
      CHECK(laid(hashed, nics, connection) == way_of(connection));
      // Another communicator's connections are others.
      CHECK(laid(other, nics, connection) == way_of((std::uint64_t{1} << 32) + connection));
      ways.insert(way_of(connection));
      // Links of nodes stay where they are.
      const LinkId before = cluster.global(nics.from_node, LinkId{0}),
                   behind = cluster.global(nics.to_node, LinkId{1});
      std::vector<LinkId> whole = by_destination, wanted = way_of(connection);
      for (std::vector<LinkId>* way : {&whole, &wanted}) {
        way->insert(way->begin(), before);
        way->push_back(behind);
      }
      std::vector<LinkId> same = whole;
      plain.lay_again(same, connection);
      CHECK(same == whole);
      hashed.lay_again(whole, connection);
      CHECK(whole == wanted);
    }
    spread += ways.size() > 1 ? 1 : 0;
  }
  CHECK(spread > 10);
}

TEST_CASE("routes: what turns round in a NIC crosses no fabric") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster(node_of("dgx-h100", parts), 2,
                        default_fabric(node_of("dgx-h100", parts), parts));
  const std::vector<LinkId> inside = {cluster.global(0, LinkId{0}), cluster.global(0, LinkId{3})};
  std::vector<LinkId> way = inside;
  FabricRoutes(cluster, EcmpSeeds{}).lay_again(way, 5);
  CHECK(way == inside);
}
