// Goal: ways that ECMP hashes are laid as links of the machine, and take the time that they take
// with a carrier, which lays each when its first slice comes.
// Method: seeded runs on small fabrics, both ways (NetworkPlan::hands_over): times, bytes of every
// link; runs folded and in full; what each connection of sends and receives is hashed by.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/nccl/run/period.hpp"
#include "models/nccl/schedules/p2p_ways.hpp"
#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

enum class Laid : std::uint8_t { as_links, by_carrier };

SimulationOptions hashed_options(bool fold, Laid laid = Laid::as_links) {
  SimulationOptions out = options(fold);
  out.network.routing = Routing::ecmp;
  out.network.hands_over = laid == Laid::by_carrier;
  return out;
}

std::map<LinkId, std::int64_t> bytes_by_link(const RunFacts& facts) {
  std::map<LinkId, std::int64_t> out;
  for (const LinkLoad& load : facts.links) out[load.link] = load.carried.count;
  return out;
}

/// Of ways that stay where they are: what leaves and enters each NIC.
std::map<LinkId, std::int64_t> bytes_at_ports(const Cluster& cluster, const RunFacts& facts) {
  std::map<LinkId, std::int64_t> out = bytes_by_link(facts);
  std::erase_if(out, [&](const auto& load) { return cluster.is_trunk(load.first); });
  return out;
}

/// As a share of the time.
double apart(const SimulationResult& a, const SimulationResult& b) {
  return std::abs(static_cast<double>(a.time.ps) / static_cast<double>(b.time.ps) - 1);
}

Cluster hashed_cluster(Dice& random, const PartsCatalogue& parts, int nodes) {
  const NodeGraph& node = node_of("dgx-h100", parts);
  FabricConfig fabric = random_fabric(random, node, parts);
  fabric.routing = Routing::ecmp;
  return {node, nodes, fabric};
}

CollectiveRun hashed_run(Dice& random, const Cluster& cluster, Collective collective, int gpus) {
  CommunicatorConfig config;
  config.version = random.of(releases_with_kernels(90));
  config.gpus_per_node = gpus;
  config.environment.set("NCCL_MAX_NCHANNELS=" + std::to_string(random.pick(1, 4)));
  const Communicator communicator = make_communicator(cluster, config);
  return decide_call(communicator, {collective, random.pick(1, 20'000) * 16}).run;
}

}  // namespace

TEST_CASE("hashed ways: which plans lay them, and which hand slices over") {
  NetworkPlan plan;
  CHECK(plan.far_ways() == FarWays::by_destination);
  plan.routing = Routing::ecmp;
  CHECK(plan.far_ways() == FarWays::hashed);
  CHECK(plan.hashes() == plan.seeds);
  plan.queue_pairs = 2;  // slices go over several ways
  CHECK(plan.far_ways() == FarWays::carried);
  CHECK_FALSE(plan.hashes());
  plan.queue_pairs = 1;
  plan.rung = Rung::flow;
  CHECK(plan.far_ways() == FarWays::carried);
  plan.rung = Rung::chunk;
  plan.routing = Routing::adaptive;
  CHECK(plan.far_ways() == FarWays::carried);
  plan.pooled = true;
  CHECK(plan.far_ways() == FarWays::by_destination);
}

TEST_CASE("hashed ways: collectives take the links and the time that they take with a carrier") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(17);
  constexpr std::array kDrawn = {Collective::all_reduce, Collective::all_gather,
                                 Collective::reduce_scatter, Collective::broadcast};
  double furthest = 0;
  int equal = 0;
  constexpr int kRuns = cases(60);
  for (int i = 0; i < kRuns; ++i) {
    const Cluster cluster = hashed_cluster(random, parts, static_cast<int>(random.pick(2, 7)));
    const CollectiveRun run =
        hashed_run(random, cluster, random.of(kDrawn), static_cast<int>(random.pick(1, 4)));
    CAPTURE(i);
    CAPTURE(cluster.fabric_summary());
    CAPTURE(to_text(run.algorithm));
    CAPTURE(to_text(run.protocol));
    const auto ran = [&](Laid laid) {
      return simulate(cluster, parts.software, run, hashed_options(false, laid));
    };
    const SimulationResult links = ran(Laid::as_links), carrier = ran(Laid::by_carrier);
    CHECK(bytes_by_link(links) == bytes_by_link(carrier));
    furthest = std::max(furthest, apart(links, carrier));
    equal += links.time == carrier.time ? 1 : 0;
  }
  CHECK(equal >= kRuns * 3 / 4);
  CHECK(furthest < 0.03);
}

TEST_CASE("hashed ways: folded as in full") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(18);
  constexpr std::array kDrawn = {Collective::all_reduce, Collective::all_gather,
                                 Collective::alltoall, Collective::sendrecv};
  int folded = 0;
  constexpr int kRuns = cases(60);
  for (int i = 0; i < kRuns; ++i) {
    const Cluster cluster = hashed_cluster(random, parts, static_cast<int>(random.pick(2, 6)));
    const CollectiveRun run =
        hashed_run(random, cluster, random.of(kDrawn), static_cast<int>(random.pick(1, 8)));
    CAPTURE(i);
    CAPTURE(cluster.fabric_summary());
    CAPTURE(to_text(run.collective));
    const SimulationResult full = simulate(cluster, parts.software, run, hashed_options(false)),
                           got = simulate(cluster, parts.software, run, hashed_options(true));
    check_equal(got, full);
    folded += got.nodes_simulated < cluster.nodes() || got.rails_folded > 1 || got.merged ? 1 : 0;
  }
  CHECK(folded > kRuns / 20);
}

TEST_CASE("hashed ways: one connection for each two NICs takes as long as with a carrier") {
  // With one GPU a node and one channel the two number alike, whenever the first slice comes.
  const PartsCatalogue parts = load_catalogue();
  Dice random(19);
  constexpr int kRuns = cases(30);
  int equal = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Cluster cluster = hashed_cluster(random, parts, static_cast<int>(random.pick(2, 12)));
    CommunicatorConfig config;
    config.version = kNccl2_27_7;
    config.gpus_per_node = 1;
    config.environment.set("NCCL_MAX_P2P_NCHANNELS=1");
    config.environment.set("NCCL_MIN_P2P_NCHANNELS=1");
    const Collective collective = random.of(std::array{Collective::alltoall, Collective::sendrecv});
    const CollectiveRun run =
        decide_call(make_communicator(cluster, config), {collective, random.pick(1, 200'000) * 16})
            .run;
    CAPTURE(i);
    CAPTURE(cluster.fabric_summary());
    REQUIRE(run.p2p.rules.channels.channels == 1);
    const auto ran = [&](Laid laid) {
      return simulate(cluster, parts.software, run, hashed_options(false, laid));
    };
    const SimulationResult links = ran(Laid::as_links), carrier = ran(Laid::by_carrier);
    CHECK(bytes_by_link(links) == bytes_by_link(carrier));
    equal += links.time == carrier.time ? 1 : 0;
    CHECK(apart(links, carrier) < 0.001);  // where slices come in one instant
  }
  CHECK(equal >= kRuns * 3 / 4);
}

TEST_CASE(
    "hashed ways: sends and receives bring all bytes to the ports that they have by "
    "destination, over ways that each connection keeps") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(20);
  constexpr int kRuns = cases(20);
  for (int i = 0; i < kRuns; ++i) {
    const Cluster cluster = hashed_cluster(random, parts, static_cast<int>(random.pick(2, 6)));
    const CollectiveRun run =
        hashed_run(random, cluster, Collective::alltoall, static_cast<int>(random.pick(1, 8)));
    CAPTURE(i);
    const SimulationResult hashed = simulate(cluster, parts.software, run, hashed_options(false)),
                           plain = simulate(cluster, parts.software, run, options(false));
    CHECK(bytes_at_ports(cluster, hashed) == bytes_at_ports(cluster, plain));
    // A connection's way: the hash of its number, between the links of the way by destination.
    const Members members = members_of(run, cluster.nodes());
    const FabricRoutes routes(cluster, hashed_options(false).network.seeds), fixed(cluster);
    const int channels = run.p2p.rules.channels.channels;
    const P2pWays laid(cluster, members, channels, run.p2p.nics, run.transport, routes),
        before(cluster, members, channels, run.p2p.nics, run.transport, fixed);
    const int gpus = members.gpus_per_node();
    for (int one = 0; one < 20; ++one) {
      const int from = static_cast<int>(random.pick(0, gpus - 1)),
                to = static_cast<int>(random.pick(gpus, members.ranks() - 1)),
                channel = static_cast<int>(random.pick(0, channels - 1));
      ExchangeWay way, planned;
      laid.way(from, to, channel, Protocol::simple, way);
      before.way(from, to, channel, Protocol::simple, planned);
      std::vector<LinkId> wanted;
      for (const std::uint32_t link : planned.far) wanted.push_back(LinkId{link});
      routes.lay_again(wanted,
                       static_cast<std::uint32_t>((from * gpus + to % gpus) * channels + channel));
      CHECK(
          std::ranges::equal(way.far, wanted, {}, {}, [](LinkId link) { return index_of(link); }));
      CHECK(way.near == planned.near);
    }
  }
}

TEST_CASE("hashed ways: calls in a row take one way each, other communicators others") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(21);
  const NodeGraph& node = node_of("dgx-h100", parts);
  FabricConfig fabric = default_fabric(node, parts);
  fabric.kind = FabricConfig::Kind::fat_tree;
  fabric.leaf_down = 2 * static_cast<int>(node.nics().size());
  fabric.routing = Routing::ecmp;
  fabric.leaf.radix = fabric.spine.radix = 1024;
  const Cluster cluster(node, 8, fabric);
  const CollectiveRun run = hashed_run(random, cluster, Collective::all_gather, 1);
  Stream stream{{run}, {}};
  const auto bytes = [&](std::vector<Stream> streams) {
    return bytes_by_link(simulate(cluster, parts.software, streams, hashed_options(true)));
  };
  const auto once = bytes({stream});
  stream.rounds = 3;
  auto thrice = bytes({stream});
  for (auto& [link, count] : thrice) count /= 3;
  CHECK(thrice == once);
  stream.rounds = 1;
  auto two = bytes({stream, stream});
  CHECK(two.size() > once.size());
}

TEST_CASE("hashed ways: calls in a row, folded as in full") {
  // GPUs of a node copy as one in a lone call of NVLSTree; in a row they need not start alike.
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("dgx-h100", parts);
  FabricConfig fabric = default_fabric(node, parts);
  fabric.leaf_down = 1;
  fabric.routing = Routing::ecmp;
  fabric.leaf.radix = fabric.spine.radix = 1024;
  const Cluster cluster(node, 4, fabric);
  for (const char* algorithm : {"NVLSTree", "Tree", "Ring"}) {
    CAPTURE(algorithm);
    CommunicatorConfig config;
    config.version = kNccl2_27_7;
    config.environment.set("NCCL_ALGO", algorithm);
    const Communicator communicator = make_communicator(cluster, config);
    for (const int calls : {1, 2}) {
      Call call{Collective::all_reduce, 50'000};
      call.calls = calls;
      const CollectiveRun run = decide_call(communicator, call).run;
      const Symmetry symmetry = find_symmetry(cluster, run);
      const SimulationResult alone = simulate(cluster, parts.software, run, hashed_options(true)),
                             full = simulate(cluster, parts.software, run, hashed_options(false));
      check_equal(alone, full);
      const auto period = [&](bool fold) {
        return period_of(cluster, parts.software, run, symmetry, alone, hashed_options(fold));
      };
      CHECK(period(true) == period(false));
    }
  }
}
