// Goal: the packet rung has the latency, goodput and shares that published arithmetic gives, and
// those of the other rungs where nothing but bandwidth counts.
// Method: vectors by their ids, each on a network of a few switches; agreement against the executor
// and the flow rung within one packet.

#include <vector>

#include "sim/fluid/flow_network.hpp"
#include "sim/machines/executor.hpp"
#include "tests/unit/sim/packet_nets.hpp"

using namespace fabricast;

TEST_CASE("T-00: goodput is what headers leave of the line") {
  const struct {
    std::int64_t mtu, headers;
    double goodput;
  } cases[] = {{256, 82, 302.96}, {1024, 82, 370.34}, {2048, 82, 384.60}, {4096, 82, 392.15},
               {256, 26, 363.12}, {1024, 26, 390.10}, {2048, 26, 394.99}, {4096, 26, 397.48}};
  for (const auto& [mtu, headers, goodput] : cases) {
    PacketConfig config;
    config.payload = {mtu};
    config.headers = {headers};
    Star star(config, 2, gigabits(400));
    const std::uint32_t pair = star.net.add_queue_pair(queue_pair(star.hosts[0], star.hosts[1]));
    const Bytes size = mebibytes(16);
    const std::uint32_t message = star.net.send(pair, {}, size);
    star.net.run();
    const double reached =
        static_cast<double>(size.count) * 8e-9 / seconds(star.net.arrival(message));
    check_vector("T-00", fmt::format("MTU {}, {} B of headers, 400 Gb/s, Gb/s", mtu, headers),
                 "packet", reached, goodput, 5e-4);
  }
}

TEST_CASE("T-01: PCIe as a link of small packets") {
  // 16 lanes of 32 GT/s with 128b/130b: 63.015 GB/s.
  const struct {
    std::int64_t payload;
    double rate;
  } cases[] = {{128, 53.07}, {256, 57.61}, {512, 60.19}, {64, 45.83}};
  for (const auto& [payload, rate] : cases) {
    PacketConfig config;
    config.payload = {payload};
    config.headers = {24};
    Star star(config, 2, {63'015'384'615});
    const std::uint32_t pair = star.net.add_queue_pair(queue_pair(star.hosts[0], star.hosts[1]));
    const Bytes size = mebibytes(2);
    const std::uint32_t message = star.net.send(pair, {}, size);
    star.net.run();
    check_vector("T-01", fmt::format("gen5 x16, {} B TLPs, GB/s", payload), "packet",
                 static_cast<double>(size.count) * 1e-9 / seconds(star.net.arrival(message)), rate,
                 5e-4);
  }
}

TEST_CASE("T-02: unloaded latency through one switch and three") {
  const struct {
    const char* name;
    std::int64_t switch_ns;
    double one, three;
  } cases[] = {{"NDR InfiniBand", 220, 1.170, 2.150},
               {"Spectrum-4 class", 600, 1.550, 3.290},
               {"Tomahawk-5 class", 700, 1.650, 3.590}};
  for (const auto& [name, switch_ns, one, three] : cases) {
    const Duration through = nanoseconds(switch_ns), nic = nanoseconds(450);
    // 5 m of copper at 5 ns/m; 30 m of fibre and two transceivers of 60 ns.
    const Duration copper = nanoseconds(25), fibre = nanoseconds(30 * 5 + 2 * 60);
    PacketConfig config;
    config.headers = {};
    PacketNetwork net(config);
    std::uint32_t hosts[3];
    for (std::uint32_t& host : hosts) host = net.add_host(nic);
    const std::uint32_t leaves[] = {net.add_switch(1), net.add_switch(1)};
    const std::uint32_t spine = net.add_switch(2);
    for (int i = 0; i < 3; ++i)
      net.add_cable({hosts[i], leaves[i / 2], gigabits(400), nic, copper}, through);
    for (const std::uint32_t leaf : leaves)
      net.add_cable({leaf, spine, gigabits(400), through, fibre}, through);
    const std::uint32_t near = net.add_queue_pair(queue_pair(hosts[0], hosts[1]));
    const std::uint32_t far = net.add_queue_pair(queue_pair(hosts[0], hosts[2]));
    const std::uint32_t messages[] = {net.send(near, {}, {}),
                                      net.send(far, Instant{} + microseconds(100), {})};
    net.run();
    check_vector("T-02", fmt::format("{}, 1 switch, us", name), "packet",
                 in_us(net.arrival(messages[0])), one, 1e-9);
    check_vector("T-02", fmt::format("{}, 3 switches, us", name), "packet",
                 in_us(net.arrival(messages[1])) - 100, three, 1e-9);
  }
}

namespace {

/// One slice from worker 0 to worker 1 of the executor, sent at once.
class OneSlice final : public Program {
 public:
  explicit OneSlice(Bytes size) : size_(size) {}
  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.major++ > 0) return false;
    primitive = {role.position == 1 ? 1u : 0u, role.position == 0 ? 1u : 0u, 1, size_, size_};
    return true;
  }

 private:
  Bytes size_;
};

struct Times {
  Instant chunk, flow, packet;
};

/// `senders` hosts send `size` each to one more host through one switch; when has all arrived?
Times incast(std::uint32_t senders, Bytes size, Bandwidth rate, Duration latency) {
  Times out;
  const OneSlice program(size);
  Executor<PlainStamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{}, {}});
  FlowNetwork flows;
  Star star(bare(PacketConfig{}), 0, rate);
  const auto add_host = [&] {
    star.hosts.push_back(star.net.add_host());
    star.net.add_cable({star.hosts.back(), star.center, rate, {}, latency}, {});
  };
  add_host();
  const std::uint32_t down = executor.add_link({rate, latency});
  CHECK(flows.add_link({rate, latency}) == down);
  for (std::uint32_t i = 0; i < senders; ++i) {
    const std::uint32_t path[] = {executor.add_link({rate, latency}), down};
    flows.add_link({rate, latency});
    flows.add_flow({{}, size, path, 1, 0, {}});
    executor.add_worker(kind, program, {i, 0});
    executor.add_worker(kind, program, {i, 1});
    executor.connect({2 * i, 2 * i + 1, 1, path, {}, {}, {}, {}});
    add_host();
    star.net.add_queue_pair(queue_pair(star.hosts.back(), star.hosts[0]));
  }
  executor.run();
  for (std::uint32_t i = 0; i < senders; ++i)
    out.chunk = later(out.chunk, Instant{executor.finished(2 * i + 1).ps});
  flows.run([&](std::uint32_t flow) { out.flow = later(out.flow, flows.arrived(flow)); });
  for (std::uint32_t i = 0; i < senders; ++i) star.net.send(i, {}, size);
  star.net.run([&](std::uint32_t) { out.packet = star.net.now(); });
  return out;
}

}  // namespace

TEST_CASE("an uncongested way and one bottleneck: the same time on chunk, flow and packet rungs") {
  for (const std::uint32_t senders : {1u, 2u, 7u}) {
    for (const std::int64_t kib : {4, 256, 8192}) {
      CAPTURE(senders);
      CAPTURE(kib);
      const Bytes size{kib << 10};
      const Bandwidth rate = gigabits(400);
      const Duration latency = nanoseconds(245);
      const Times times = incast(senders, size, rate, latency);
      // The last byte: all bytes through the last link, and two latencies.
      const Instant expected = Instant{} + transfer_time(size * senders, rate) + latency * 2;
      CHECK(std::abs((times.chunk - expected).ps) <= senders);
      CHECK(std::abs((times.flow - expected).ps) <= senders);
      // The packet rung may be late by packets of the others that came at the same instant, and by
      // a picosecond of rounding for each packet.
      const Duration quantum = transfer_time({4'096}, rate) + Duration{kib * senders};
      CHECK(times.packet >= expected);
      CHECK(times.packet - expected <= quantum);
    }
  }
}

TEST_CASE("T-10 T-15: a port shares between queue pairs as they take turns") {
  Star star(bare(PacketConfig{}), 4, gigabits(400));
  for (std::uint32_t i = 0; i < 3; ++i)
    star.net.send(star.net.add_queue_pair(queue_pair(star.hosts[0], star.hosts[i + 1])), {},
                  mebibytes(8));
  star.net.run_until(Instant{} + microseconds(300));
  for (std::uint32_t pair = 0; pair < 3; ++pair)
    check_vector("T-15", "3 queue pairs of one NIC, GB/s", "packet",
                 static_cast<double>(star.net.delivered(pair).count) / 300e3, 50.0 / 3, 2e-3);
}

TEST_CASE("T-14: the victim of a shared way, by flow and by ingress port") {
  for (const Arbitration arbitration : {Arbitration::per_flow, Arbitration::per_ingress}) {
    PacketConfig config = bare(PacketConfig{});
    config.arbitration = arbitration;
    PacketNetwork net(config);
    const std::uint32_t s1 = net.add_host(), s2 = net.add_host(), d1 = net.add_host(),
                        d2 = net.add_host();
    const std::uint32_t near = net.add_switch(), far = net.add_switch();
    net.add_cable({s1, near, gigabits(400), {}, {}}, {});
    net.add_cable({near, far, gigabits(400), {}, {}}, {});
    for (const std::uint32_t host : {s2, d1, d2})
      net.add_cable({host, far, gigabits(400), {}, {}}, {});
    for (const auto& [from, to] : {std::pair(s1, d1), std::pair(s2, d1), std::pair(s1, d2)})
      net.send(net.add_queue_pair(queue_pair(from, to)), {}, mebibytes(64));
    net.run_until(Instant{} + microseconds(1'000));
    const char* rung = arbitration == Arbitration::per_flow ? "packet, per flow" : "packet";
    for (std::uint32_t pair = 0; pair < 3; ++pair)
      check_vector("T-14", "i1, i2, v, Gb/s", rung,
                   static_cast<double>(net.delivered(pair).count) * 8e-6, 200, 0.01);
  }
}

TEST_CASE("T-70: incast on credits takes the sum of its bytes") {
  for (const auto& [senders, us] : {std::pair(8, 167.77), std::pair(32, 671.09)}) {
    Star star(bare(PacketConfig{}), senders + 1, gigabits(400));
    for (int i = 1; i <= senders; ++i) {
      const auto host = static_cast<std::size_t>(i);
      star.net.send(star.net.add_queue_pair(queue_pair(star.hosts[host], star.hosts[0])), {},
                    mebibytes(1));
    }
    Instant last;
    star.net.run([&](std::uint32_t) { last = star.net.now(); });
    check_vector("T-70", fmt::format("{} x 1 MiB, us", senders), "packet", in_us(last), us, 2e-3);
  }
}

TEST_CASE("a short packet goes where credits are left for it but not for a full one") {
  // Credits for one packet and a half. From one host go two packets and a short one of queue pair a
  // and a full one of b: each full packet but the first waits for the credits of one.
  PacketConfig config = bare(PacketConfig{});
  config.lane_buffer = {config.payload.count * 3 / 2};
  Star star(config, 2, gigabits(400), microseconds(1));
  const std::uint32_t a = star.net.add_queue_pair(queue_pair(star.hosts[0], star.hosts[1]));
  const std::uint32_t b = star.net.add_queue_pair(queue_pair(star.hosts[0], star.hosts[1], 1));
  star.net.send(a, {}, {2 * config.payload.count + 100});
  star.net.send(b, {}, {config.payload.count});
  star.net.run();
  const auto sent = [&](std::int64_t bytes) { return transfer_time({bytes}, gigabits(400)); };
  // To the switch and back, and to the host, to which it is sent on at once.
  const Duration full = sent(config.payload.count);
  const Duration loop = full + microseconds(2) + config.turnaround;
  const Duration way = microseconds(2);
  // At first one of a, for which b came too late. After a loop the second one of a, and behind it
  // the short one, from the half that was left. After another loop the one of b.
  CHECK((star.net.arrival(0) - Instant{}).ps == (loop + full + sent(100) + way).ps);
  CHECK((star.net.arrival(1) - Instant{}).ps == (loop * 2 + full + way).ps);
}

TEST_CASE("T-70: what an incast without any flow control would queue") {
  PacketConfig config = bare(PacketConfig{});
  config.flow_control = FlowControl::drop;
  config.pause.shared_buffer = {100'000'000};
  for (const auto& [senders, megabytes] : {std::pair(8, 7.34), std::pair(32, 32.5)}) {
    Star star(config, senders + 1, gigabits(400));
    for (int i = 1; i <= senders; ++i) {
      const auto host = static_cast<std::size_t>(i);
      star.net.send(star.net.add_queue_pair(queue_pair(star.hosts[host], star.hosts[0])), {},
                    mebibytes(1));
    }
    star.net.run();
    check_vector("T-70", fmt::format("{} x 1 MiB, peak queue, MB", senders), "packet",
                 static_cast<double>(star.net.counts(star.down[0]).queue_max.count) * 1e-6,
                 megabytes, 5e-3);
  }
}

TEST_CASE("lanes share a link by weight, and a higher priority goes first") {
  PacketConfig config = bare(PacketConfig{});
  config.lanes = {{1, 0}, {3, 0}, {1, 1}};
  Star star(config, 2, gigabits(400));
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    QueuePairSpec spec = queue_pair(star.hosts[0], star.hosts[1], lane);
    spec.lane = lane;
    star.net.add_queue_pair(spec);
  }
  star.net.send(0, {}, mebibytes(16));
  star.net.send(1, {}, mebibytes(16));
  star.net.send(2, Instant{} + microseconds(100), mebibytes(1));
  star.net.run_until(Instant{} + microseconds(100));
  CHECK(static_cast<double>(star.net.delivered(1).count) ==
        doctest::Approx(3 * static_cast<double>(star.net.delivered(0).count)).epsilon(0.01));
  const Bytes before = star.net.delivered(0) + star.net.delivered(1);
  star.net.run_until(Instant{} + microseconds(120));
  // 20 us of the highest lane alone, but for packets that were on their way.
  CHECK(star.net.delivered(0) + star.net.delivered(1) - before <= Bytes{3 * 4'096});
}
