// Goal: a communicator can be any nodes and any GPUs of them, and NCCL decides on what it sees.
// Method: what is no set is refused, in words; decisions on a subset are those on a node that has
// no other GPUs; and as nodes are equal, it does not matter which ones: the same events, on their
// own links.

#include <doctest/doctest.h>

#include <algorithm>

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/communicator/p2p_call.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

Communicator joined_by(const Cluster& cluster, const Members& members,
                       NcclVersion version = kNccl2_21_5) {
  CommunicatorConfig config;
  config.version = version;
  config.members = members;
  return make_communicator(cluster, config);
}

}  // namespace

TEST_CASE("members: ranks node by node, there and back") {
  const Members members({1, 4}, {0, 2, 7});
  CHECK(members.ranks() == 6);
  for (int rank = 0; rank < 6; ++rank) {
    CHECK(members.node(rank) == (rank < 3 ? 1 : 4));
    CHECK(members.rank(members.node(rank), members.gpu(rank)) == rank);
  }
  CHECK(members.gpu(5) == 7);
  CHECK(Members::first(2, 3) == Members({0, 1}, {0, 1, 2}));
  CHECK(Members().empty());

  const Members groups = Members::first(2, 4).split(2);  // two GPUs each, of two hosts
  CHECK(groups.node_count() == 4);
  CHECK(groups.gpus_per_node() == 2);
  CHECK(groups.ranks() == 8);
  CHECK(groups.node(6) == 1);
  CHECK(groups.gpu(6) == 2);
}

TEST_CASE("members: nodes in any order, which changes nothing on one leaf") {
  const Members backwards({4, 1, 3}, {0, 2});
  for (int rank = 0; rank < 6; ++rank)
    CHECK(backwards.rank(backwards.node(rank), backwards.gpu(rank)) == rank);
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 4, ""}, parts);
  std::vector<Duration> times;
  for (const std::vector<int>& nodes :
       {std::vector{0, 1, 2, 3}, std::vector{3, 2, 1, 0}, std::vector{2, 0, 3, 1}}) {
    const Communicator made = joined_by(cluster, Members(nodes, {0, 1, 2, 3, 4, 5, 6, 7}));
    const DecidedCall call = decide_call(made, {Collective::all_gather, 1 << 18, 4, 0});
    SimulationOptions options;
    options.fold = true;
    times.push_back(simulate(cluster, parts.software, call.run, options).time);
  }
  CHECK(times[1] == times[0]);
  CHECK(times[2] == times[0]);
}

TEST_CASE("members: what is no set of GPUs is refused") {
  CHECK(error_text([] { Members({}, {0}); }) == "a communicator needs a node");
  CHECK(error_text([] { Members({0}, {}); }) == "a communicator needs a GPU");
  CHECK(error_text([] {
          Members({0}, {2, 1});
        }) ==
        "the GPUs of a communicator are counted from 0, in ascending order, each once: 2, 1 is "
        "not");
  CHECK(error_text([] {
          Members({3, 3}, {0});
        }) == "the nodes of a communicator are counted from 0, each once: 3, 3 is not");
  CHECK(error_text([] {
          Members({-1}, {0});
        }).starts_with("the nodes of a communicator are counted"));

  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, load_catalogue());
  CHECK(error_text([&] {
          joined_by(cluster, {{0, 2}, {0}});
        }) == "there is no node2: there are 2 (node0..node1)");
  CHECK(error_text([&] {
          joined_by(cluster, {{0}, {3, 8}});
        }) == "there is no GPU 8: dgx-h100 has 8 (0..7)");
}

TEST_CASE("members: ranks of a job, as a colour of ncclCommSplit picks them") {
  const std::vector<int> every_fourth = {1, 5, 9, 13};
  CHECK(Members::of_job(every_fourth, 8) == Members({0, 1}, {1, 5}));
  const std::vector<int> rail = {3, 11, 19};
  CHECK(Members::of_job(rail, 8) == Members({0, 1, 2}, {3}));
  const std::vector<int> half = {12, 13, 14, 15};
  CHECK(Members::of_job(half, 8) == Members({1}, {4, 5, 6, 7}));
  for (const std::vector<int>& uneven :
       {std::vector<int>{0, 9}, {0, 1, 8}, {0, 8, 9}, {0, 8, 17}, {0, 1, 8, 9, 16}})
    CHECK(error_text([&] { (void)Members::of_job(uneven, 8); }).starts_with("ranks 0, "));
  const std::vector<int> first_three = {0, 3, 6, 9};
  CHECK(
      error_text([&] { (void)Members::of_job(first_three, 8); }) ==
      "ranks 0, 3, 6, 9: not the same GPUs of node0 and of node1\nhint: a communicator with other "
      "GPUs on another node is not simulated yet");
}

TEST_CASE("members: NCCL decides as on a node without the other GPUs") {
  const Cluster cluster = load_cluster({"dgx-h100", 3, ""}, load_catalogue());
  for (const NcclVersion version : kModelledVersions) {
    const Members members({0, 2}, {2, 3, 6});
    const Communicator made = joined_by(cluster, members, version);
    CHECK(made.nodes == 2);
    CHECK(made.ranks == 6);
    // NCCL's index of a GPU is the local rank, and a ring leaves by the GPU's own NIC.
    REQUIRE(made.graphs.ring.channel_count() > 0);
    for (const GraphChannel& channel : made.graphs.ring.channels) {
      std::vector<int> order = channel.gpu_order;
      std::ranges::sort(order);
      CHECK(order == std::vector<int>{0, 1, 2});
      CHECK(channel.net_in == members.gpus()[static_cast<std::size_t>(channel.gpu_order.front())]);
    }
    NodeDescription alone = describe(cluster.node());
    alone = used_part(alone, members.gpus(), net_devs(alone));
    NcclCommunicatorConfig config;
    config.version = version;
    config.nodes = 2;
    const NcclCommunicator expected = make_nccl_communicator(alone, config);
    const auto same = [](const ChannelGraph& a, const ChannelGraph& b) {
      return std::ranges::equal(
          a.channels, b.channels, [](const GraphChannel& x, const GraphChannel& y) {
            return x.gpu_order == y.gpu_order && x.net_in == y.net_in && x.net_out == y.net_out;
          });
    };
    CHECK(same(made.graphs.ring, expected.graphs.ring));
    CHECK(same(made.graphs.tree, expected.graphs.tree));
    CHECK(made.p2p == expected.p2p);
    const auto us = [&](const NcclCommunicator& c) {
      return decide(c.model, Collective::all_reduce, Bytes{1 << 24}, 4).time_us;
    };
    CHECK(us(made) == us(expected));
  }
}

TEST_CASE("members: which of equal nodes does not matter") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(31);
  constexpr std::array kCalls = {Collective::all_reduce, Collective::all_gather,
                                 Collective::reduce_scatter, Collective::alltoall,
                                 Collective::sendrecv};
  for (int i = 0; i < cases(12); ++i) {
    const Cluster cluster = load_cluster({random.of(preset_names()), 4, ""}, parts);
    const auto gpus_all = static_cast<int>(cluster.node().gpus().size());
    const int nodes = static_cast<int>(random.pick(1, 3));
    const int gpus = static_cast<int>(random.pick(nodes == 1 ? 2 : 1, std::max(2, gpus_all)));
    if (gpus > gpus_all) continue;
    const std::vector<int> local = random_subset(random, gpus, gpus_all);
    const Collective collective = random.of(kCalls);
    const NcclVersion version =
        random.of(releases_with_kernels(cluster.node().gpus().front().part.sm));
    CAPTURE(cluster.node().name());
    CAPTURE(to_text(collective));
    const auto result = [&](const Members& members) {
      const Communicator made = joined_by(cluster, members, version);
      return simulate(cluster, parts.software,
                      decide_call(made, {collective, std::int64_t{made.ranks} * 5'000}).run);
    };
    const Members some(random_subset(random, nodes, 4), local);
    const SimulationResult got = result(some);
    const SimulationResult first = result({Members::first(nodes, 1).nodes(), local});
    CHECK(got.events == first.events);
    CHECK(got.time == first.time);
    CHECK(got.rank_finish == first.rank_finish);
    REQUIRE(got.links.size() == first.links.size());
    for (const LinkLoad& load : got.links) {
      if (cluster.is_fabric_link(load.link)) continue;
      const int node =
          static_cast<int>(index_of(load.link) / index_of(cluster.global(1, LinkId{})));
      CHECK(std::ranges::find(some.nodes(), node) != some.nodes().end());
    }
  }
}
