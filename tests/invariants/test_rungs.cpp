// The three rungs of the network tell of one machine: where no two ways collide they agree, and
// where they differ on purpose, docs/fabrics.md says by how much.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/cluster/network_plan.hpp"
#include "models/studies/bench/fault.hpp"
#include "tests/invariants/cases.hpp"

namespace fabricast::testing {
namespace {

double time_on(BenchConfig config, Rung rung) {
  config.network.rung = rung;
  const BenchRow& row = run_bench(config, shipped_parts()).blocks.front().rows.front();
  return static_cast<double>(row.result.time.ps);
}

TEST_CASE(
    "on a non-blocking fabric flows and packets take as long as chunks, within what is said") {
  // docs/fabrics.md, "Where they differ on purpose".
  constexpr double kLeast = 0.95, kMost = 1.1;
  Dice random(31);
  const std::vector<std::string> presets = {"dgx-h100",      "dgx-a100",   "hgx-b200",
                                            "hgx-h200-2nic", "gh200-4",    "h100-pcie-nvl-4",
                                            "hgx-b300",      "gb200-nvl72"};
  const std::vector<Collective> collectives(std::begin(kAllCollectives), std::end(kAllCollectives));
  double flow_least = 2, flow_most = 0, packet_least = 2, packet_most = 0;
  for (int i = 0; i < random_cases(24); ++i) {
    BenchConfig config = bench_of(presets[static_cast<std::size_t>(i) % presets.size()],
                                  static_cast<int>(random.pick(2, 5)),
                                  {Bytes{std::int64_t{1} << random.pick(18, 24)}});
    config.gpus_per_node = static_cast<int>(random.pick(1, 2)) * 2;
    config.collectives = {random.of(collectives)};
    CAPTURE(config.topology);
    CAPTURE(config.nodes.front());
    CAPTURE(config.gpus_per_node);
    CAPTURE(to_text(config.collectives.front()));
    CAPTURE(config.sizes.front().count);
    const double chunk = time_on(config, Rung::chunk);
    const double flow = time_on(config, Rung::flow) / chunk;
    const double packet = time_on(config, Rung::packet) / chunk;
    CHECK(flow >= kLeast);
    CHECK(flow <= kMost);
    CHECK(packet >= kLeast);
    CHECK(packet <= kMost);
    CHECK(packet / flow == doctest::Approx(1).epsilon(0.03));
    flow_least = std::min(flow_least, flow), flow_most = std::max(flow_most, flow);
    packet_least = std::min(packet_least, packet), packet_most = std::max(packet_most, packet);
  }
  MESSAGE(fmt::format("over chunks: flows {:.3f}..{:.3f}, packets {:.3f}..{:.3f}", flow_least,
                      flow_most, packet_least, packet_most));
}

TEST_CASE("racks that NVLink joins are several hosts on every rung and way through the fabric") {
  BenchConfig config = bench_of("gb200-nvl72", 36, {Bytes{1 << 20}});
  config.fabric = "fabric-ndr-nvl72";
  config.environment.set("NCCL_ALGO=Ring");
  config.one_shot = true;
  config.network.routing = Routing::by_destination;
  const double fixed = time_on(config, Rung::chunk);
  for (const Rung rung : {Rung::chunk, Rung::flow, Rung::packet}) {
    for (const Routing routing : {Routing::ecmp, Routing::adaptive}) {
      CAPTURE(to_text(rung));
      CAPTURE(to_text(routing));
      config.network.routing = routing;
      CHECK(time_on(config, rung) / fixed == doctest::Approx(1).epsilon(0.15));
    }
  }
}

TEST_CASE("channels that are merged on the chunk rung bring all of their bytes to a carrier") {
  BenchConfig config = bench_of("dgx-h100", 4, {Bytes{4'198'400}});
  config.version = kNccl2_27_7;
  config.environment.set("NCCL_ALGO=NVLSTree");
  config.network.rung = Rung::flow;
  const auto time = [&](bool fold) {
    config.fold = fold;
    return run_bench(config, shipped_parts()).blocks.front().rows.front().result.time.ps;
  };
  CHECK(time(true) == time(false));
}

TEST_CASE("adaptive routing over an oversubscribed fabric: one pool, fluids and packets agree") {
  for (const int nodes : {6, 10}) {
    BenchConfig config = bench_of("dgx-h100", nodes, {Bytes{std::int64_t{32} << 20}});
    config.fabric = "fabric-ndr-fat-tree-2to1";
    config.environment.set("NCCL_ALGO=Ring");
    config.environment.set("NCCL_PROTO=Simple");
    CAPTURE(nodes);
    const double chunk = time_on(config, Rung::chunk);
    CHECK(time_on(config, Rung::flow) / chunk == doctest::Approx(1).epsilon(0.1));
    CHECK(time_on(config, Rung::packet) / chunk == doctest::Approx(1).epsilon(0.1));
  }
}

TEST_CASE("a slow cable of many costs adaptive routing its share, static routing what crosses it") {
  BenchConfig config = bench_of("dgx-h100", 10, {Bytes{std::int64_t{1} << 28}});
  config.fabric = "fabric-ndr-fat-tree-2to1";
  config.collectives = {Collective::alltoall};
  const auto time = [&](Routing routing, bool broken) {
    config.network.routing = routing;
    config.faults.clear();
    if (broken) config.faults = {parse_fault("link leaf0 -> spine3 rate 10%")};
    return time_on(config, Rung::chunk);
  };
  const double adaptive = time(Routing::adaptive, true) / time(Routing::adaptive, false);
  const double fixed = time(Routing::by_destination, true) / time(Routing::by_destination, false);
  CHECK(adaptive >= 1);
  CHECK(adaptive < 1.06);  // a twentieth of the uplinks lost nine tenths
  CHECK(fixed > 2);
}

}  // namespace
}  // namespace fabricast::testing
