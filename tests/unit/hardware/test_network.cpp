// Goal: the same schedule runs on each rung of the network; the rungs agree where they must, differ
// where they should, and say so where they cannot.
// Method: single slices and seeded runs against each other and closed forms: an uncongested ring,
// one bottleneck, a non-blocking fabric; bytes by link; routes; background traffic and priorities.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/hardware/networks/carriers.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/bench/network.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr Rung kRungs[] = {Rung::chunk, Rung::flow, Rung::packet};

Cluster cluster_of(int nodes, const std::string& fabric) {
  TopologyRequest asked{"dgx-h100", nodes, fabric};
  asked.routing = Routing::by_destination;
  return load_cluster(asked, load_catalogue());
}

NetworkPlan plan_of(Rung rung, Routing routing) {
  NetworkPlan plan;
  plan.rung = rung;
  plan.routing = routing;
  return plan;
}

std::vector<std::uint32_t> route(const Cluster& cluster, int from, int to, std::size_t rail) {
  const VertexId nic = cluster.node().nics()[rail].vertex;
  std::vector<std::uint32_t> out;
  for (const LinkId link : cluster.fabric_route(from, nic, to, nic)) out.push_back(index_of(link));
  return out;
}

struct Arrival {
  std::uint32_t way;
  Instant at;
};

/// Until `count` slices have arrived.
std::vector<Arrival> arrivals(Carrier& carrier, std::size_t count) {
  std::vector<Arrival> out;
  const auto note = [&](std::uint32_t way, Instant at) {
    CHECK(at >= carrier.now());
    out.push_back({way, at});
  };
  while (out.size() < count && carrier.advance(kNever, note)) {
  }
  REQUIRE(out.size() == count);
  return out;
}

double ratio(Duration a, Duration b) {
  return static_cast<double>(a.ps) / static_cast<double>(b.ps);
}

SimulationResult run_on(Rung rung, const Cluster& cluster, const PartsCatalogue& parts,
                        const CollectiveRun& run, Routing routing = Routing::by_destination) {
  SimulationOptions options;
  options.network = plan_of(rung, routing);
  return simulate(cluster, parts.software, run, options);
}

BenchConfig bench_config(Collective collective, int nodes, Bytes size) {
  BenchConfig config;
  config.topology = "dgx-h100";
  config.fabric = "fabric-ndr-fat-tree";
  config.nodes = {nodes};
  config.collectives = {collective};
  config.sizes = {size};
  return config;
}

Duration bench_time(BenchConfig config, Rung rung, Routing routing = Routing::by_destination,
                    const std::vector<std::string>& background = {}) {
  config.network.rung = rung;
  config.network.routing = routing;
  for (const std::string& text : background)
    config.network.background.push_back(parse_background(text));
  return run_bench(config, load_catalogue()).blocks.front().rows.front().result.time;
}

}  // namespace

TEST_CASE("a slice alone takes latencies and its bytes' time on every carrier") {
  const Cluster cluster = cluster_of(8, "fabric-ndr-fat-tree");
  const std::vector<std::uint32_t> far = route(cluster, 0, 7, 3);
  REQUIRE(far.size() == 4);
  const Bytes size{1 << 20};
  Duration wanted;
  Bandwidth slowest{INT64_MAX};
  for (const std::uint32_t id : far) {
    const ClusterLink link = cluster.link(LinkId{id});
    wanted += link.latency;
    slowest = std::min(slowest, link.rate);
  }
  wanted += transfer_time(size, slowest);
  for (const Routing routing :
       {Routing::by_destination, Routing::ecmp, Routing::adaptive, Routing::spray}) {
    for (const Rung rung : kRungs) {
      const NetworkPlan plan = plan_of(rung, routing);
      if (!plan.carries()) continue;
      INFO(to_text(rung), " ", to_text(routing));
      const std::unique_ptr<Carrier> carrier = make_carrier(cluster, plan);
      const std::uint32_t way = carrier->add_way(far);
      carrier->send(way, Instant{} + microseconds(5), size);
      const Duration took = arrivals(*carrier, 1).front().at - (Instant{} + microseconds(5));
      // A packet more where its last one is stored, and a picosecond of rounding for each packet.
      const Duration allowed =
          rung == Rung::packet ? transfer_time(Bytes{2 * 4'122}, slowest) : Duration{4};
      CHECK(took >= wanted);
      CHECK(took - wanted <= allowed);
      CHECK(carrier->carried(far.front()) == size);
      CHECK(carrier->carried(far.back()) == size);
    }
  }
}

TEST_CASE("slices of a way arrive in order, whatever their queue pairs and ways do") {
  const Cluster cluster = cluster_of(12, "fabric-ndr-fat-tree");
  Random random(7);
  for (int round = 0; round < 12; ++round) {
    NetworkPlan plan = plan_of(kRungs[random.below(3)], static_cast<Routing>(1 + random.below(3)));
    plan.queue_pairs = static_cast<int>(1 + random.below(4));
    plan.split = random.below(2) == 1;
    plan.seeds.first = random.next();
    INFO(to_text(plan.rung), " ", to_text(plan.routing), " ", plan.queue_pairs, " ", plan.split);
    const std::unique_ptr<Carrier> carrier = make_carrier(cluster, plan);
    Bytes sent;
    for (std::size_t rail = 0; rail < 8; ++rail)
      carrier->add_way(route(cluster, 0, static_cast<int>(4 + random.below(8)), rail));
    std::map<std::uint32_t, int> left;
    for (int i = 0; i < 60; ++i) {
      const std::uint32_t way = random.below(8);
      const Bytes size{random.below(300'000)};
      sent += size;
      ++left[way];
      carrier->send(way, Instant{} + nanoseconds(100 * i), size);
    }
    std::map<std::uint32_t, Instant> last;
    for (const auto& [way, at] : arrivals(*carrier, 60)) {
      CHECK(at >= last[way]);
      last[way] = at;
      --left[way];
    }
    for (const auto& [way, missing] : left) CHECK(missing == 0);
    Bytes over_ports;
    for (std::size_t rail = 0; rail < 8; ++rail)
      over_ports += carrier->carried(route(cluster, 0, 4, rail).front());
    CHECK(over_ports == sent);
  }
}

TEST_CASE("the least loaded way: eight senders, eight uplinks") {
  const Cluster cluster = cluster_of(8, "fabric-ndr-fat-tree");
  for (const Routing routing : {Routing::adaptive, Routing::ecmp}) {
    const std::unique_ptr<Carrier> carrier = make_carrier(cluster, plan_of(Rung::chunk, routing));
    for (std::size_t rail = 0; rail < 8; ++rail)
      carrier->send(carrier->add_way(route(cluster, 0, 7, rail)), {}, Bytes{1 << 20});
    std::vector<Arrival> all = arrivals(*carrier, 8);
    const auto [first, last] = std::ranges::minmax(all, {}, &Arrival::at);
    CHECK((first.at == last.at) == (routing == Routing::adaptive));
  }
}

TEST_CASE("background traffic takes its share, unless the job's class goes before it") {
  const Cluster cluster = cluster_of(8, "fabric-ndr-fat-tree");
  const std::vector<std::uint32_t> far = route(cluster, 0, 7, 0);
  const Bytes size{8 << 20};
  const Bandwidth trunk = cluster.link(LinkId{far[1]}).rate;
  const Bandwidth port = cluster.link(LinkId{far[0]}).rate;
  const auto time = [&](Rung rung, double share, std::uint8_t mine, std::uint8_t theirs) {
    NetworkPlan plan = plan_of(rung, Routing::by_destination);
    plan.priority = mine;
    plan.background = {{LinkId{far[1]}, share, theirs}};
    const std::unique_ptr<Carrier> carrier = make_carrier(cluster, plan);
    carrier->send(carrier->add_way(far), {}, size);
    return arrivals(*carrier, 1).front().at - Instant{};
  };
  const auto transfer = [&](double share) {
    const auto left = static_cast<double>(trunk.bytes_per_s) * share;
    return transfer_time(size, std::min(port, Bandwidth{static_cast<std::int64_t>(left)}));
  };
  for (const Rung rung : {Rung::flow, Rung::packet}) {
    INFO(to_text(rung));
    const double tolerance = rung == Rung::flow ? 0.02 : 0.04;
    CHECK(ratio(time(rung, 0.4, 0, 0), transfer(0.6)) == doctest::Approx(1).epsilon(tolerance));
    CHECK(ratio(time(rung, 0.7, 0, 0), transfer(0.5)) == doctest::Approx(1).epsilon(tolerance));
    CHECK(ratio(time(rung, 0.7, 1, 0), transfer(1)) == doctest::Approx(1).epsilon(tolerance));
    CHECK(ratio(time(rung, 0.7, 0, 1), transfer(0.3)) == doctest::Approx(1).epsilon(tolerance));
  }
}

TEST_CASE("an uncongested ring takes equally long on all rungs") {
  const Bench nodes("dgx-h100", 2, bare_parts());
  for (const Collective collective : {Collective::all_reduce, Collective::all_gather}) {
    CollectiveRun run = ring_call(collective, Protocol::simple, 8, 8 << 20);
    const Duration chunk = nodes.run(run).time;
    const Duration flow = run_on(Rung::flow, nodes.cluster, nodes.parts, run).time;
    const Duration packet = run_on(Rung::packet, nodes.cluster, nodes.parts, run).time;
    CHECK(ratio(flow, chunk) == doctest::Approx(1).epsilon(1e-6));
    CHECK(ratio(packet, chunk) == doctest::Approx(1).epsilon(0.005));
  }
}

TEST_CASE("links carry the same bytes on all rungs") {
  const Cluster cluster = cluster_of(6, "fabric-ndr-fat-tree");
  const PartsCatalogue parts = load_catalogue();
  Random random(3);
  for (int round = 0; round < 6; ++round) {
    const bool tree = random.below(2) == 1;
    const auto protocol = static_cast<Protocol>(random.below(3));
    const std::int64_t count = 1 + random.below(1 << 20);
    const CollectiveRun run = tree ? tree_call(protocol, 8, count)
                                   : ring_call(Collective::all_reduce, protocol, 8, count);
    std::map<LinkId, std::int64_t> wanted;
    for (const LinkLoad& load : run_on(Rung::chunk, cluster, parts, run).links)
      wanted[load.link] = load.carried.count;
    for (const Rung rung : {Rung::flow, Rung::packet}) {
      const SimulationResult result = run_on(rung, cluster, parts, run);
      std::map<LinkId, std::int64_t> found;
      for (const LinkLoad& load : result.links) found[load.link] = load.carried.count;
      CHECK(found == wanted);
      CHECK(run_on(rung, cluster, parts, run).digest == result.digest);
    }
  }
}

TEST_CASE("one bottleneck: everybody sends to one NIC") {
  // The root's port limits: 3 x 32 MiB at 48 GB/s.
  BenchConfig config = bench_config(Collective::gather, 4, Bytes{4 * (32 << 20)});
  config.gpus_per_node = 1;
  const Duration chunk = bench_time(config, Rung::chunk);
  const Duration wanted = transfer_time(Bytes{3 * (32 << 20)}, Bandwidth{48'000'000'000});
  CHECK(ratio(chunk, wanted) == doctest::Approx(1).epsilon(0.05));
  for (const Rung rung : {Rung::flow, Rung::packet}) {
    INFO(to_text(rung));
    CHECK(ratio(bench_time(config, rung), chunk) == doctest::Approx(1).epsilon(0.03));
  }
}

TEST_CASE("a non-blocking fabric: the rungs are within 3 % above 8 MiB") {
  Random random(11);
  for (int round = 0; round < 4; ++round) {
    const Collective collectives[] = {Collective::all_reduce, Collective::sendrecv,
                                      Collective::all_gather, Collective::alltoall};
    BenchConfig config = bench_config(collectives[round], static_cast<int>(2 + random.below(4)),
                                      Bytes{(16 << 20) + (std::int64_t{random.below(16)} << 20)});
    config.version = kNccl2_21_5;
    config.fabric = "";  // rails: no two ways meet
    config.gpus_per_node = 4;
    config.environment.set("NCCL_ALGO=Ring");
    config.environment.set("NCCL_PROTO=Simple");
    const Duration chunk = bench_time(config, Rung::chunk);
    for (const Rung rung : {Rung::flow, Rung::packet}) {
      INFO(to_text(config.collectives.front()), " on ", config.nodes.front(), " nodes, ",
           to_text(rung));
      CHECK(ratio(bench_time(config, rung), chunk) == doctest::Approx(1).epsilon(0.03));
    }
  }
}

TEST_CASE("two nodes of each preset: the rungs are within 3 % at 32 MiB") {
  for (const char* topology : {"dgx-a100", "dgx-h100", "hgx-b200", "hgx-b300"}) {
    for (const Collective collective : {Collective::sendrecv, Collective::broadcast,
                                        Collective::all_reduce, Collective::alltoall}) {
      BenchConfig config = bench_config(collective, 2, Bytes{32 << 20});
      config.topology = topology;
      config.version = {30, 7};
      config.fabric = "";
      if (is_tuned(collective)) config.environment.set("NCCL_ALGO=Ring");
      const Duration chunk = bench_time(config, Rung::chunk);
      for (const Rung rung : {Rung::flow, Rung::packet}) {
        INFO(topology, ", ", to_text(collective), ", ", to_text(rung));
        CHECK(ratio(bench_time(config, rung), chunk) == doctest::Approx(1).epsilon(0.03));
      }
    }
  }
}

TEST_CASE("hashed rings collide, adaptive ones do not; a service level keeps noise away") {
  BenchConfig config = bench_config(Collective::all_reduce, 8, Bytes{256 << 20});
  config.environment.set("NCCL_ALGO=Ring");
  const Duration by_destination = bench_time(config, Rung::chunk);
  CHECK(ratio(bench_time(config, Rung::chunk, Routing::adaptive), by_destination) < 1.001);
  CHECK(ratio(bench_time(config, Rung::chunk, Routing::ecmp), by_destination) > 1.1);

  config.gpus_per_node = 2;
  config.sizes = {Bytes{32 << 20}};
  config.environment.set("NCCL_PROTO=Simple");
  const Duration alone = bench_time(config, Rung::flow);
  const std::vector<std::string> noise = {"trunks 70%"};
  CHECK(ratio(bench_time(config, Rung::flow, Routing::by_destination, noise), alone) > 1.1);
  config.environment.set("NCCL_IB_SL=5");
  CHECK(bench_time(config, Rung::flow, Routing::by_destination, noise) == alone);
}

TEST_CASE("what a rung cannot do is said") {
  using std::string;
  BenchConfig config = bench_config(Collective::all_reduce, 8, Bytes{1 << 20});
  const auto text = [&](Rung rung, const std::vector<string>& background = {}) {
    return error_text([&] { bench_time(config, rung, Routing::by_destination, background); });
  };
  CHECK(text(Rung::chunk, {"uplinks 40%"}) ==
        "background traffic needs a rung with shares: links of the chunk rung serve in order of "
        "arrival\nhint: add --network flow, or packet");
  CHECK(text(Rung::flow, {"uplinks 40%", "trunks 60%"}) ==
        "\"trunks 60%\": leaf0 -> spine0 (400 Gb/s) would be full of background traffic\n"
        "hint: leave something: less than 100% on each link");
  CHECK(text(Rung::flow, {"uplinks 40% tc 160"}) ==
        "\"uplinks 40% tc 160\": the fabric is InfiniBand: it has service levels (sl)");
  CHECK(text(Rung::flow, {"leaf0 -> spine99 40%"})
            .starts_with(
                "no link is named \"leaf0 -> spine99\"\nhint: did you mean \"leaf0 -> spine"));
  CHECK(text(Rung::packet, {"node0: mlx5_0 -> leaf0 40%"}) ==
        "node0: mlx5_0 -> leaf0 (400 Gb/s): background traffic of the packet rung comes from hosts "
        "beside the switches, not from a NIC of the job\nhint: use --network flow, or name links "
        "between switches");
  config.sizes = {Bytes{std::int64_t{256} << 30}};  // a ring folds, and is too large still
  CHECK(text(Rung::packet).starts_with("the packet rung would have "));
  config.sizes = {Bytes{1 << 20}};
  config.faults = {parse_fault("link leaf0 -> spine0 down 2s")};
  CHECK(
      text(Rung::flow) ==
      "a link that goes down runs on the chunk rung with static routes only: switches that choose "
      "among routes leave it out, and a flow has no message to lose\n"
      "hint: --routing static and no --network, or give the link a rate, like 1%");
}

TEST_CASE("background traffic as users write it") {
  const BackgroundSpec spec = parse_background("  leaf0.0 -> spine3  12.5%  sl 3 ");
  CHECK(spec.links == "leaf0.0 -> spine3");
  CHECK(spec.share == 0.125);
  CHECK(spec.number == 3);
  CHECK_FALSE(spec.by_traffic_class);
  CHECK(parse_background("uplinks 40% tc 160").by_traffic_class);
  const auto text = [](const char* what) { return error_text([&] { parse_background(what); }); };
  CHECK(text("uplinks") ==
        "\"uplinks\" is no background traffic\nhint: write: uplinks 40%, trunks 40% sl 1, or the "
        "name of a link: leaf0.0 -> spine3 40%");
  CHECK(text("uplinks 40") == "\"40\" is no share from 0.001 % to 100 %\nhint: write it like 40%");
  CHECK(text("uplinks 40% sl 16") == "\"uplinks 40% sl 16\": sl 16 is not from 0 to 15");
}
