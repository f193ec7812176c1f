// Goal: patterns of collectives on the flow rung take the times that published arithmetic gives.
// Method: vectors by their ids. Every pattern is built of flows over its NICs, uplinks or buses;
// the expected figure comes from the closed form of the vector, never from here.

#include <vector>

#include "sim/fluid/flow_network.hpp"
#include "tests/unit/sim/fabric_vectors.hpp"

using namespace fabricast;

namespace {

using Links = std::vector<std::uint32_t>;

Links add_links(FlowNetwork& net, int count, Bandwidth rate) {
  Links links;
  for (int i = 0; i < count; ++i) links.push_back(net.add_link({rate, {}}));
  return links;
}

std::uint32_t send(FlowNetwork& net, Bytes size, const Links& links, Instant start = {}) {
  return net.add_flow({start, size, links, 1, 0, {}});
}

/// When the last flow of all has arrived.
Instant makespan(FlowNetwork& net) {
  Instant last;
  net.run([&](std::uint32_t flow) { last = later(last, net.arrived(flow)); });
  return last;
}

struct Hosts {
  Links out, in;
  Hosts(FlowNetwork& net, int count, Bandwidth nic)
      : out(add_links(net, count, nic)), in(add_links(net, count, nic)) {}
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// N hosts, m per leaf, uplinks r times too narrow, ideally spread: each host sends `size` to each
/// other one.
Instant all_to_all(int hosts, int per_leaf, std::int64_t oversubscription, Bytes size) {
  FlowNetwork net;
  const Bandwidth rate = gigabytes(48);
  const Hosts nics(net, hosts, rate);
  const Bandwidth trunk{rate.bytes_per_s * per_leaf / oversubscription};
  const Hosts leaves(net, hosts / per_leaf, trunk);
  for (int a = 0; a < hosts; ++a) {
    for (int b = 0; b < hosts; ++b) {
      if (a == b) continue;
      Links path = {nics.out[at(a)], nics.in[at(b)]};
      if (a / per_leaf != b / per_leaf) {
        path.push_back(leaves.out[at(a / per_leaf)]);
        path.push_back(leaves.in[at(b / per_leaf)]);
      }
      send(net, size, path);
    }
  }
  return makespan(net);
}

}  // namespace

TEST_CASE("T-70: incast takes the sum of its bytes") {
  const struct {
    int senders;
    std::int64_t mib;
    double us;
  } cases[] = {{8, 1, 167.77}, {16, 1, 335.54}, {32, 1, 671.09}, {64, 4, 5368.7}};
  for (const auto& [senders, mib, us] : cases) {
    FlowNetwork net;
    const Hosts hosts(net, senders + 1, gigabits(400));
    for (int i = 1; i <= senders; ++i) send(net, mebibytes(mib), {hosts.out[at(i)], hosts.in[0]});
    check_vector("T-70", fmt::format("{} x {} MiB, us", senders, mib), "flow", in_us(makespan(net)),
                 us, 1e-4);
  }
}

TEST_CASE("T-71: oversubscribed uniform all-to-all") {
  const struct {
    int hosts, per_leaf, ratio;
    double slowdown;
  } cases[] = {
      {64, 16, 2, 1.5238}, {128, 32, 2, 1.5118}, {128, 16, 3, 2.6457}, {256, 32, 4, 3.5137}};
  for (const auto& [hosts, per_leaf, ratio, slowdown] : cases) {
    const Bytes each{48'000};
    const double alone = 1e-6 * (hosts - 1);  // every NIC sends all its bytes at 48 GB/s
    const Instant taken = all_to_all(hosts, per_leaf, ratio, each);
    check_vector("T-71", fmt::format("N={} m={} r={}, slowdown", hosts, per_leaf, ratio), "flow",
                 seconds(taken) / alone, slowdown, 1e-4);
  }
}

TEST_CASE("T-71: 24576 GPUs in pods of 3072, 7:1, as one flow per pair of pods") {
  FlowNetwork net;
  constexpr std::int64_t pods = 8, per_pod = 3'072, each = 1'000;
  const Bandwidth nics{5'000'000'000 * per_pod};
  const Hosts inner(net, pods, nics), trunks(net, pods, {nics.bytes_per_s / 7});
  for (int a = 0; a < pods; ++a) {
    for (int b = 0; b < pods; ++b) {
      const std::int64_t pairs = a == b ? per_pod * (per_pod - 1) : per_pod * per_pod;
      Links path = {inner.out[at(a)], inner.in[at(b)]};
      if (a != b) path.insert(path.end(), {trunks.out[at(a)], trunks.in[at(b)]});
      send(net, {pairs * each}, path);
    }
  }
  const double alone = static_cast<double>((pods * per_pod - 1) * each) / 5e9;
  check_vector("T-71", "N=24576, pods of 3072, r=7, slowdown", "flow",
               seconds(makespan(net)) / alone, 6.1252, 1e-4);
}

TEST_CASE("T-73: all-to-all with GPUs that reach their node's others without the NIC") {
  const struct {
    int nodes;
    std::int64_t nic_mbps;
    double busbw;
  } cases[] = {
      {2, 48'000, 90}, {4, 48'000, 62}, {8, 48'000, 54}, {32, 48'000, 49.35}, {8, 12'000, 13.5}};
  for (const auto& [nodes, nic_mbps, busbw] : cases) {
    FlowNetwork net;
    const int gpus = 8 * nodes;
    const Bytes each{1 << 20};  // S / n
    const Hosts nics(net, gpus, {nic_mbps * 1'000'000});
    for (int a = 0; a < gpus; ++a)
      for (int b = 0; b < gpus; ++b)
        if (a / 8 != b / 8) send(net, each, {nics.out[at(a)], nics.in[at(b)]});
    // nccl-tests: busbw = S / t x (n - 1) / n, with S = n x each.
    const double reached = static_cast<double>(each.count) * (gpus - 1) / seconds(makespan(net));
    check_vector("T-73",
                 fmt::format("{} nodes x 8, {} GB/s NICs, busbw GB/s", nodes, nic_mbps / 1000),
                 "flow", reached * 1e-9, busbw, 1e-4);
  }
}

TEST_CASE("T-84: a node with one of eight NICs lost") {
  const auto ring_time = [](int nics_left) {
    FlowNetwork net;
    const Hosts rails(net, nics_left, gigabytes(50));
    const Links nvlink = add_links(net, 1, gigabytes(3'600));
    for (int channel = 0; channel < 56; ++channel)  // divides by 7 and by 8
      send(net, mebibytes(8),
           {nvlink[0], rails.out[at(channel % nics_left)], rails.in[at(channel % nics_left)]});
    return seconds(makespan(net));
  };
  check_vector("T-84", "7 of 8 NICs, share of the rate", "flow", ring_time(8) / ring_time(7), 0.875,
               1e-9);
}

TEST_CASE("T-110: a bounce through host memory, whole and in chunks") {
  // D2H, network, H2D: chunk c enters a stage when it has left the one before.
  const auto time = [](Bytes size, int chunks) {
    FlowNetwork net;
    const Links stages = {net.add_link({{55'060'000'000}, {}}),
                          net.add_link({{49'000'000'000}, {}}),
                          net.add_link({{55'430'000'000}, {}})};
    const Bytes chunk{size.count / chunks};
    std::vector<std::size_t> stage_of;
    std::vector<int> queued(3, 0), done(3, 0);
    Instant last;
    const auto start = [&](std::size_t stage, Instant when) {
      send(net, chunk, {stages[stage]}, when);
      stage_of.push_back(stage);
    };
    queued[0] = chunks;
    start(0, {});
    net.run([&](std::uint32_t flow) {
      const std::size_t stage = stage_of[flow];
      last = net.left(flow);
      ++done[stage];
      if (stage < 2 && ++queued[stage + 1] - done[stage + 1] == 1) start(stage + 1, last);
      if (queued[stage] > done[stage]) start(stage, last);
    });
    return seconds(last) * 1e3;
  };
  check_vector("T-110", "64 MiB, copied whole, ms", "flow", time(mebibytes(64), 1), 3.799, 1e-3);
  check_vector("T-110", "64 MiB, 1 MiB chunks, ms", "flow", time(mebibytes(64), 64), 1.408, 1e-3);
  FlowNetwork direct;
  send(direct, mebibytes(64), add_links(direct, 1, gigabytes(49)));
  check_vector("T-110", "64 MiB, GPUDirect, ms", "flow", seconds(makespan(direct)) * 1e3, 1.370,
               1e-3);
}

TEST_CASE("T-111: host memory is crossed four times by every bounced byte") {
  FlowNetwork net;
  const std::uint32_t dram = net.add_link({gigabytes(600), {}});
  const Links nics = add_links(net, 8, gigabytes(49));
  for (const std::uint32_t nic : nics)
    net.add_flow({{}, FluidSpec::kEndless, Links{nic, dram, dram, dram, dram}, 1, 0, {}});
  net.run();
  check_vector("T-111", "8 GPUs on 600 GB/s of DRAM, GB/s each", "flow", in_gigabytes(net.rate(7)),
               18.75, 1e-9);
}

TEST_CASE("T-122: one GPU cannot feed two NICs") {
  for (const int rails : {1, 2, 4}) {
    FlowNetwork net;
    const std::uint32_t pcie = net.add_link({gigabytes(55), {}});
    const Links nics = add_links(net, rails, gigabytes(50));
    for (const std::uint32_t nic : nics) send(net, mebibytes(64 / rails), {pcie, nic});
    const double rate = static_cast<double>(mebibytes(64).count) / seconds(makespan(net)) * 1e-9;
    check_vector("T-122", fmt::format("{} rails behind PCIe 55 GB/s, GB/s", rails), "flow", rate,
                 rails == 1 ? 50 : 55, 1e-6);
  }
}

TEST_CASE("T-141: two nodes exchange everything once over their NICs") {
  const struct {
    int gpus;
    std::int64_t node_gbps;
    double busbw;
  } cases[] = {{16, 400, 750}, {8, 100, 175}};
  for (const auto& [gpus, node_gbps, busbw] : cases) {
    FlowNetwork net;
    const Hosts nodes(net, 2, gigabytes(node_gbps));
    const Bytes size = mebibytes(1'024);
    for (std::size_t a = 0; a < 2; ++a) send(net, size, {nodes.out[a], nodes.in[1 - a]});
    const double algbw = static_cast<double>(size.count) / seconds(makespan(net)) * 1e-9;
    check_vector("T-141", fmt::format("{} GPUs, {} GB/s a node, busbw GB/s", gpus, node_gbps),
                 "flow", algbw * 2 * (gpus - 1) / gpus, busbw, 1e-6);
  }
}

namespace {

/// `steps` steps around a ring of `ranks` with ports of `rate`, each after the last has arrived.
Instant ring(int ranks, int steps, Bytes step, Bandwidth rate) {
  FlowNetwork net;
  const Hosts ports(net, ranks, rate);
  Instant when;
  for (int i = 0; i < steps; ++i) {
    for (int rank = 0; rank < ranks; ++rank)
      send(net, step, {ports.out[at(rank)], ports.in[at((rank + 1) % ranks)]}, when);
    when = makespan(net);
  }
  return when;
}

}  // namespace

TEST_CASE("T-142: the NIC rate behind a bus bandwidth, hierarchical rings on rails") {
  // 12 nodes x 8: each rail reduces and gathers S/8 over a ring of 12 in 2 x 11 steps of S/96.
  constexpr int gpus = 96;
  const Bytes step{96'000'000};
  const Instant end = ring(12, 2 * 11, step, {44'760'000'000});
  const double algbw = static_cast<double>(step.count) * gpus / seconds(end) * 1e-9;
  check_vector("T-142", "12 x 8 at 44.76 GB/s a NIC, busbw GB/s", "flow",
               algbw * 2 * (gpus - 1) / gpus, 386.56, 1e-4);
}

TEST_CASE("T-140: ring all-reduce without latency") {
  const Instant end = ring(8, 2 * 7, mebibytes(1'024 / 8), gigabytes(370));
  check_vector("T-140", "1 GiB, 8 ranks at 370 GB/s, ms", "flow", seconds(end) * 1e3, 5.0785, 1e-4);
}

TEST_CASE("T-90: bytes on the wire, aggregated in the network and in flat rings") {
  // Each of 8 rails streams S/8 up and gets S/8 back at the same time, whatever the number of
  // nodes.
  FlowNetwork net;
  const Hosts nics(net, 8, gigabytes(49));
  for (int node = 0; node < 8; ++node) {
    send(net, mebibytes(128), {nics.out[at(node)]});
    send(net, mebibytes(128), {nics.in[at(node)]});
  }
  check_vector("T-90", "1 GiB over 8 rails at 49 GB/s, aggregated, ms", "flow",
               seconds(makespan(net)) * 1e3, 2.739, 1e-3);
  // 64 GPUs: 126 steps of S/64, an eighth of each over each rail.
  check_vector("T-90", "1 GiB, 64 GPUs, flat rings over 8 rails, ms", "flow",
               seconds(ring(64, 126, mebibytes(1'024 / 64 / 8), gigabytes(49))) * 1e3, 5.393, 1e-3);
}

TEST_CASE("T-143: shards of 4 GiB exchanged by four nodes") {
  FlowNetwork net;
  const Hosts rail(net, 4, gigabytes(50));
  const Bytes part = mebibytes(512 / 4);  // each of 8 GPUs has 512 MiB, a quarter to each node
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      if (a != b) send(net, part, {rail.out[a], rail.in[b]});
  const Instant scattered = makespan(net);
  check_vector("T-143", "reduce-scatter and all-gather of shards, ms", "flow",
               2 * seconds(scattered) * 1e3, 16.106, 1e-4);
}
