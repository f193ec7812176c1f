// Goal: a call that is too large to simulate is told by smaller ones, by one rule.
// Method: sizes given by hand; their weights and places derived beside each case.

#include "models/nccl/run/affordable.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "models/nccl/communicator/communicator.hpp"
#include "tests/unit/nccl/fold_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// A slice for each MiB on each node; NCCL takes Ring up to `ring_until`, then Tree, and small
/// chunks up to `small_until`.
struct Slices {
  Bytes ring_until{INT64_MAX};
  Bytes small_until{INT64_MAX};
  Growth growth = Growth::node;

  std::optional<CallSize> operator()(const CallAt& at) const {
    CallSize out;
    out.simulated = static_cast<std::uint64_t>(at.size.count / kMiB * at.nodes);
    out.algorithm = at.size <= ring_until ? Algorithm::ring : Algorithm::tree;
    out.cut.chunk = at.size <= small_until ? 1'000 : 4'000;
    out.growth = growth;
    return out;
  }
};

/// The time that a rule over calls gives, by the shares.
template <class TimeOf>
double time_of(const std::vector<CallShare>& shares, TimeOf time_at) {
  double out = 0;
  for (const CallShare& share : shares) out += share.weight * time_at(share.at);
  return out;
}

}  // namespace

TEST_CASE("affordable: what is small enough is simulated") {
  const CallAt at{4, {64 * kMiB}};
  const std::vector<CallShare> shares = affordable(at, 256, Slices{});
  REQUIRE(shares.size() == 1);
  CHECK(shares[0].at == at);
  CHECK(shares[0].weight == 1);
}

TEST_CASE("affordable: a long message is told by shorter ones") {
  // 300 MiB on 4 nodes are 1,200 slices; 150 and 75 MiB 600 and 300. T = 10 + 2 per MiB.
  const CallAt at{4, {300 * kMiB}};
  const auto time = [](const CallAt& call) {
    return 10 + 2 * static_cast<double>(call.size.count) / kMiB;
  };
  std::vector<CallShare> shares = affordable(at, 600, Slices{});
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].at == CallAt{4, {150 * kMiB}});
  CHECK(shares[1].at == CallAt{4, {75 * kMiB}});
  CHECK(time_of(shares, time) == doctest::Approx(610));
  // 500 slices do not take 150 MiB: the next pair is 75 and 37.5 MiB.
  shares = affordable(at, 500, Slices{});
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].at == CallAt{4, {75 * kMiB}});
  CHECK(shares[1].at == CallAt{4, {75 * kMiB / 2}});
  CHECK(time_of(shares, time) == doctest::Approx(610));
}

TEST_CASE("affordable: over nodes where sizes are short, or taken otherwise") {
  const auto in_nodes = [](const CallAt& call) { return 5 + 3.0 * call.nodes; };
  const auto in_depth = [](const CallAt& call) { return 5 + 3.0 * std::log2(call.nodes); };
  // 20 MiB are not told by less than 16 MiB. 24 nodes: 480 slices; 12 and 6: 240 and 120.
  const CallAt at{24, {20 * kMiB}};
  std::vector<CallShare> shares = affordable(at, 240, Slices{});
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].at == CallAt{12, {20 * kMiB}});
  CHECK(shares[1].at == CallAt{6, {20 * kMiB}});
  CHECK(time_of(shares, in_nodes) == doctest::Approx(5 + 3 * 24));
  CHECK(time_of(affordable(at, 240, Slices{.growth = Growth::depth}), in_depth) ==
        doctest::Approx(5 + 3 * std::log2(24.0)));
  // Tree above 100 MiB: Ring's times below say nothing of 200 MiB.
  const CallAt large{24, {200 * kMiB}};
  shares = affordable(large, 2'400, Slices{.ring_until = {100 * kMiB}});
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].at == CallAt{12, {200 * kMiB}});
  // Nor do times of small chunks say what a byte costs in large ones: 100 and 50 MiB are not both
  // in the chunks of 200; of 400, 200 and 100 are.
  CHECK(affordable(large, 2'400, Slices{.small_until = {50 * kMiB}})[0].at ==
        CallAt{12, {200 * kMiB}});
  CHECK(affordable({24, {400 * kMiB}}, 4'800, Slices{.small_until = {50 * kMiB}})[0].at ==
        CallAt{24, {200 * kMiB}});
  // They tell where nothing else does: three nodes have no half with a half, and 1,200 MiB, in the
  // chunks of 2,400, are 3,600 slices, more than 16 x 150. 37.5 MiB are 112.
  CHECK(affordable({3, {2'400 * kMiB}}, 150, Slices{.small_until = {600 * kMiB}})[0].at ==
        CallAt{3, {2'400 * kMiB / 64}});
}

TEST_CASE("affordable: of trees fewer nodes tell of bytes, and fewer bytes of nodes") {
  // 256 MiB on 32 nodes are 8,192 slices; 64 MiB on 32 are 2,048 and 256 MiB on 4 are 1,024. What
  // bytes cost need not grow evenly, nor what nodes do.
  const auto time = [](const CallAt& call) {
    return std::sqrt(static_cast<double>(call.size.count)) + std::sqrt(100.0 * call.nodes);
  };
  const CallAt at{32, {256 * kMiB}};
  const Slices tree{.growth = Growth::depth};
  const std::vector<CallShare> shares = affordable(at, 2'048, tree);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].at == CallAt{32, {64 * kMiB}});
  CHECK(shares[1].at == CallAt{4, {256 * kMiB}});
  CHECK(shares[2].at == CallAt{4, {64 * kMiB}});
  CHECK(time_of(shares, time) == doctest::Approx(time(at)));
  // Of a chain, sizes tell.
  CHECK(affordable(at, 2'048, Slices{}).size() == 2);
  // On fewer than four nodes no node has a parent and two children. Four take 1,024 slices.
  CHECK(affordable({16, {256 * kMiB}}, 1'024, tree)[1].at == CallAt{4, {256 * kMiB}});
  CHECK(affordable({8, {256 * kMiB}}, 512, tree)[1].at == CallAt{4, {128 * kMiB}});
  CHECK(affordable({6, {128 * kMiB}}, 384, tree)[1].at == CallAt{6, {32 * kMiB}});
}

TEST_CASE("affordable: of trees fewer nodes tell of as many bytes as they take so") {
  // On fewer than 32 nodes NCCL takes NVLS for more than 128 MiB. The 64 MiB up to there tell of
  // the 192 from 64 MiB on: 3 times as much.
  const auto tree_on = [](std::int64_t small_until) {
    return [small_until](const CallAt& call) -> std::optional<CallSize> {
      const Bytes most{call.nodes < 32 ? 128 * kMiB : INT64_MAX};
      CallSize out = *Slices{.small_until = {small_until}, .growth = Growth::depth}(call);
      if (call.size > most) out.algorithm = Algorithm::nvls;
      return out;
    };
  };
  const auto time = [](const CallAt& call) {
    return 3 * static_cast<double>(call.size.count) / kMiB + (call.nodes == 32 ? 5 * 7 : 0);
  };
  const CallAt at{32, {256 * kMiB}};
  const std::vector<CallShare> shares = affordable(at, 2'048, tree_on(0));
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].at == CallAt{32, {64 * kMiB}});
  CHECK(shares[1].at == CallAt{4, {128 * kMiB}});
  CHECK(shares[1].weight == 3);
  CHECK(shares[2].at == CallAt{4, {64 * kMiB}});
  CHECK(shares[2].weight == -3);
  CHECK(time_of(shares, time) == doctest::Approx(time(at)));
  // Not if 64 and 128 MiB go in chunks of another size. Four times as many slices are not too many
  // then.
  CHECK(affordable(at, 2'048, tree_on(64 * kMiB)).size() == 1);
}

TEST_CASE("affordable: messages in as many parts, and in packs or not, are cut alike") {
  const PartsCatalogue parts = load_catalogue();
  const NodeGraph& node = node_of("dgx-a100", parts);
  const Cluster cluster(node, 1, default_fabric(node, parts));
  CommunicatorConfig config;
  config.version = kNccl2_21_5;
  const Communicator communicator = make_communicator(cluster, config);
  const auto size = [&](Collective collective, std::int64_t bytes) {
    return size_of_call(decide_call(communicator, {collective, bytes, 1, 0}).run, 0);
  };
  // A part inside a node is 32 chunks of 512 KiB at most, 16 MiB, and there are 32 channels.
  CHECK(size(Collective::sendrecv, 256 * kMiB).cut.parts == 16);
  CHECK(size(Collective::sendrecv, 512 * kMiB).cut.parts == 32);
  CHECK(size(Collective::sendrecv, 1'024 * kMiB).cut == size(Collective::sendrecv, 512 * kMiB).cut);
  // Messages of an all-to-all follow one another: none but the first begins at a multiple of 16 B.
  const std::int64_t odd = 512 * kMiB + 4;
  CHECK(size(Collective::alltoall, odd - 4).cut.in_packs);
  CHECK_FALSE(size(Collective::alltoall, odd).cut.in_packs);
  CHECK(size(Collective::sendrecv, odd).cut.in_packs);
}

TEST_CASE("affordable: fewer nodes tell of one message for each rank if it has as many parts") {
  // Two parts below 16 nodes, one from there on.
  const auto told = [](CallAt at, Growth growth) {
    return affordable(at, 400, [growth](const CallAt& there) {
      std::optional<CallSize> out = Slices{.growth = growth}(there);
      out->cut.parts = there.nodes < 16 ? 2 : 1;
      return out;
    });
  };
  CHECK(told({64, {10 * kMiB}}, Growth::node)[0].at == CallAt{32, {10 * kMiB}});
  CHECK(told({32, {20 * kMiB}}, Growth::node).size() == 1);  // all 640: 16 and 8 are unlike
  CHECK(told({32, {20 * kMiB}}, Growth::rank)[0].at == CallAt{16, {10 * kMiB}});
}

TEST_CASE("affordable: bytes of each rank are told on fewer nodes, as many for each") {
  // 48 MiB on 24 nodes: 1,152 slices; 24 on 12: 288; 12 on 6: 72.
  const Slices slices{.growth = Growth::rank};
  std::vector<CallShare> shares = affordable({24, {48 * kMiB}}, 300, slices);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].at == CallAt{12, {24 * kMiB}});
  CHECK(shares[1].at == CallAt{6, {12 * kMiB}});
  const auto in_nodes = [](const CallAt& call) { return 5 + 3.0 * call.nodes; };
  CHECK(time_of(shares, in_nodes) == doctest::Approx(5 + 3 * 24));
  // 800 MiB on 8 nodes: half of them on as many nodes would be 3,200.
  shares = affordable({8, {800 * kMiB}}, 3'200, slices);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].at == CallAt{4, {400 * kMiB}});
  // What fewer nodes take of 100 MiB and less says nothing of what 24 take of 200: all 4,800.
  const Slices other{.ring_until = {100 * kMiB}, .growth = Growth::rank};
  CHECK(affordable({24, {200 * kMiB}}, 400, other).size() == 1);
  // Of four nodes no half has a half: over sizes.
  shares = affordable({4, {300 * kMiB}}, 600, slices);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].at == CallAt{4, {150 * kMiB}});
}

TEST_CASE("affordable: the whole call where no two are small enough, up to 16 times as much") {
  const auto is_whole = [](CallAt at, std::uint64_t most, auto size_of) {
    const std::vector<CallShare> shares = affordable(at, most, size_of);
    return shares.size() == 1 && shares[0].at == at && shares[0].weight == 1;
  };
  CHECK(is_whole({8, {20 * kMiB}}, 39, Slices{}));   // 160; 4 and 2 nodes: 80, 40
  CHECK(is_whole({7, {20 * kMiB}}, 100, Slices{}));  // 3 and 1: not down to one node
  CHECK(is_whole({4, {300 * kMiB}}, 600, [](const CallAt& at) {
    return at.size.count == 300 * kMiB ? Slices{}(at) : std::nullopt;
  }));
  CHECK(is_whole({8, {20 * kMiB}}, 10, Slices{}));
  // 160 are more than 16 x 9, 80 and 40 are not; 40 are more than 16 x 2.
  CHECK(affordable({8, {20 * kMiB}}, 9, Slices{})[0].at == CallAt{4, {20 * kMiB}});
  CHECK(affordable({8, {20 * kMiB}}, 2, Slices{}).empty());
}

TEST_CASE("affordable: a line through uneven times tells no less than the smaller calls take") {
  SharesTime even, uneven;
  even.add(2, 100), even.add(-1, 60);       // 140
  uneven.add(2, 100), uneven.add(-1, 210);  // -10, but the smallest takes 210
  CHECK(even.whole() == doctest::Approx(140));
  CHECK(uneven.whole() == doctest::Approx(210));
}
