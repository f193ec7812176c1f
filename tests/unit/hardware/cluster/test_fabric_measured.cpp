// Goal: the packet rung against published measurements of fabrics (ids FV.. of the project's list
// of measurements; sources beside them), and faults as a step sees them. Method: the measured
// set-up on the smallest network that has it; tolerances are those of the measurement.

#include <vector>

#include "models/hardware/cluster/ecmp_odds.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/sim/packet_nets.hpp"

using namespace fabricast;

namespace {

/// Gb/s of messages of `size`, one after another, through one switch.
double write_bandwidth(const PacketConfig& config, Bandwidth rate, Bytes size) {
  Star star(config, 2, rate, nanoseconds(25));
  const std::uint32_t pair = star.net.add_queue_pair(queue_pair(star.hosts[0], star.hosts[1]));
  constexpr int messages = 64;
  for (int i = 0; i < messages; ++i) star.net.send(pair, {}, size);
  Instant end;
  star.net.run([&](std::uint32_t) { end = star.net.now(); });
  return static_cast<double>(size.count) * messages * 8e-9 / seconds(end);
}

}  // namespace

TEST_CASE("write bandwidth of ports at rest") {
  // NVIDIA/nccl issue 2409: ConnectX-7, 400G RoCE, one queue pair, 128 KiB.
  check_vector("FV003", "ib_write_bw 400G RoCE, Gb/s", "packet",
               write_bandwidth(ethernet(), gigabits(400), {131'072}), 392.1, 0.02);
  // NVIDIA/nccl issue 1464: ConnectX-7 NDR, 1 MiB.
  check_vector("FV007", "ib_write_bw NDR, Gb/s", "packet",
               write_bandwidth(PacketConfig{}, gigabits(400), mebibytes(1)), 395.08, 0.02);
  // NVIDIA developer forum 273376: EDR. The line allows 99.4, the adapter's PCIe does not.
  check_vector("FV011", "ib_write_bw EDR, Gb/s", "packet",
               write_bandwidth(PacketConfig{}, gigabits(100), mebibytes(1)), 96.6, 0.035);
}

TEST_CASE("latency of a small write through one HDR switch") {
  // Azure HBv3: 1.2 us; NIC 450 ns a side, QM8700 130 ns, two cables of 5 m.
  PacketNetwork net(PacketConfig{});
  const std::uint32_t a = net.add_host(nanoseconds(450)), b = net.add_host(nanoseconds(450));
  const std::uint32_t center = net.add_switch();
  for (const std::uint32_t host : {a, b})
    net.add_cable({host, center, gigabits(200), nanoseconds(450), nanoseconds(25)},
                  nanoseconds(130));
  const std::uint32_t message = net.send(net.add_queue_pair(queue_pair(a, b)), {}, {1});
  net.run();
  check_vector("FV015", "RDMA 1 B latency, HDR, us", "packet", in_us(net.arrival(message)), 1.2,
               0.25);
}

namespace {

/// Share of the line that 16 full-rate flows between two leaves with 16 spines get on average.
double leaf_to_leaf(Spread spread, std::uint64_t seed) {
  PacketConfig config = spread == Spread::ecmp ? ethernet() : PacketConfig{};
  config.spread = spread;
  config.seed = seed;
  PacketNetwork net(bare(config));
  const std::uint32_t leaves[] = {net.add_switch(seed), net.add_switch(seed)};
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t spine = net.add_switch(seed + 1);
    for (const std::uint32_t leaf : leaves)
      net.add_cable({leaf, spine, gigabits(400), {}, nanoseconds(270)}, {});
  }
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t a = net.add_host(), b = net.add_host();
    net.add_cable({a, leaves[0], gigabits(400), {}, nanoseconds(25)}, {});
    net.add_cable({b, leaves[1], gigabits(400), {}, nanoseconds(25)}, {});
    QueuePairSpec spec = queue_pair(a, b, i);
    spec.in_order = spread == Spread::ecmp;
    net.send(net.add_queue_pair(spec), {}, mebibytes(64));
  }
  const auto sum = [&] {
    Bytes total;
    for (std::uint32_t pair = 0; pair < 16; ++pair) total += net.delivered(pair);
    return total;
  };
  net.run_until(Instant{} + microseconds(200));
  const Bytes before = sum();
  net.run_until(Instant{} + microseconds(400));
  return static_cast<double>((sum() - before).count) / (16 * 50e3 * 200);
}

}  // namespace

TEST_CASE("plain ECMP, adaptive routing and spraying between two leaves" *
          minutes_under_sanitizers()) {
  double hashed = 0;
  constexpr int draws = 12;
  for (std::uint64_t seed = 1; seed <= draws; ++seed)
    hashed += leaf_to_leaf(Spread::ecmp, seed) / draws;
  check_vector("FV350", "plain ECMP, share of the line", "packet", hashed, 0.6, 0.15);
  check_vector("T-30", "n=k=16, mean flow rate", "packet, hashed", hashed,
               ecmp_odds(16, 16).mean_flow_rate, 0.08);
  check_vector("FV351", "adaptive routing, share of the line", "packet",
               leaf_to_leaf(Spread::adaptive, 1), 0.95, 0.06);
  check_vector("FV375", "spraying, share of the line", "packet", leaf_to_leaf(Spread::spray, 1),
               0.98, 0.08);
}

TEST_CASE(
    "a link that flaps for a moment costs that moment: the packets behind are refused at once") {
  Star star(PacketConfig{}, 2, gigabits(400));
  QueuePairSpec spec = queue_pair(star.hosts[0], star.hosts[1]);
  spec.retry.timeout = RetrySpec::infiniband(8);  // 1.05 ms
  const std::uint32_t pair = star.net.add_queue_pair(spec);
  const std::uint32_t message = star.net.send(pair, {}, mebibytes(64));  // 1.35 ms alone
  Instant flap = Instant{} + microseconds(100);
  for (int i = 0; i < 3; ++i) {
    star.net.set_link_up(star.up[0], flap, false);
    star.net.set_link_up(star.up[0], flap + microseconds(10), true);
    flap = flap + microseconds(300);
  }
  star.net.run();
  CHECK_FALSE(star.net.failed(pair));
  REQUIRE(star.net.arrived(message));
  // Packets behind the lost ones are refused at once: a short flap costs 10 us and what was under
  // way, not a time-out.
  const double alone = 64 * 1'048'576 / (50e9 * 4'096 / 4'122) * 1e6;
  CHECK(in_us(star.net.arrival(message)) > alone + 30);
  CHECK(in_us(star.net.arrival(message)) < alone + 40);
}
