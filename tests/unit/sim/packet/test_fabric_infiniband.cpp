// Goal: InfiniBand's credits, adaptive routing, retries and time-outs (vectors T-20 .. T-22, T-42,
// T-80 .. T-82).
// Method: closed forms against themselves at other places, and against the packet rung.

#include <tuple>

#include "sim/packet/lossless.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/sim/packet_nets.hpp"

using namespace fabricast;

namespace {

constexpr Duration kTurnaround = nanoseconds(300);

/// Gb/s of one lane over one cable whose receiver has `buffer`.
double lane_rate(Bytes buffer, Bytes mtu, std::int64_t length) {
  PacketConfig config = bare(PacketConfig{});
  config.payload = mtu;
  config.lane_buffer = buffer;
  PacketNetwork net(config);
  const std::uint32_t a = net.add_host(), b = net.add_host();
  net.add_cable({a, b, gigabits(400), {}, metres(length)}, {});
  net.send(net.add_queue_pair(queue_pair(a, b)), {}, mebibytes(64));
  net.run_until(Instant{} + microseconds(200));
  const Bytes before = net.delivered(0);
  net.run_until(Instant{} + microseconds(1'200));
  return static_cast<double>((net.delivered(0) - before).count) * 8e-6;
}

}  // namespace

TEST_CASE("T-20: buffer that credits need for full rate") {
  const struct {
    std::int64_t gbps, metres;
    double kilobytes;
  } cases[] = {{400, 5, 17.5}, {400, 30, 30}, {400, 100, 65}, {800, 100, 130}, {400, 2'000, 1'015}};
  for (const auto& [gbps, length, kilobytes] : cases) {
    const Bytes need = credit_buffer(gigabits(gbps), credit_loop(metres(length), kTurnaround));
    check_vector("T-20", fmt::format("{} Gb/s over {} m, kB", gbps, length), "closed form",
                 static_cast<double>(need.count) * 1e-3, kilobytes, 1e-9);
  }
}

TEST_CASE("T-21: a short buffer limits a lane") {
  for (const auto& [kib, rate] :
       {std::pair(16, 100.82), std::pair(32, 201.65), std::pair(64, 400.0)}) {
    const Bytes buffer{std::int64_t{kib} << 10};
    const Bandwidth allowed =
        credit_rate(gigabits(400), buffer, credit_loop(metres(100), kTurnaround));
    check_vector("T-21", fmt::format("{} KiB over 100 m, Gb/s", kib), "closed form",
                 in_gigabits(allowed), rate, 1e-4);
    // Packets of 256 B: nearly a fluid.
    check_vector("T-21", fmt::format("{} KiB over 100 m, 256 B packets, Gb/s", kib), "packet",
                 lane_rate(buffer, {256}, 100), rate, 0.015);
  }
}

TEST_CASE("T-21: whole packets of credit take their own time to come back") {
  // 4 packets of 4096 B per loop of 1300 ns and the packet's own 81.92 ns.
  const double expected = 16'384 * 8 / 1'381.92;
  CHECK(lane_rate({16'384}, {4'096}, 100) == doctest::Approx(expected).epsilon(2e-3));
}

TEST_CASE("T-22: adaptive routing loses what failed uplinks carried" * minutes_under_sanitizers()) {
  const struct {
    int uplinks, failed;
    double share;
  } cases[] = {{32, 1, 0.96875}, {32, 4, 0.875}, {8, 1, 0.875}};
  for (const Spread spread : {Spread::adaptive, Spread::spray}) {
    for (const auto& [uplinks, failed, share] : cases) {
      PacketConfig config = bare(PacketConfig{});
      config.spread = spread;
      PacketNetwork net(config);
      const std::uint32_t leaves[] = {net.add_switch(1), net.add_switch(1)};
      std::vector<std::uint32_t> cables;
      for (int i = 0; i < uplinks; ++i) {
        const std::uint32_t spine = net.add_switch(2);
        for (const std::uint32_t leaf : leaves)
          cables.push_back(net.add_cable({leaf, spine, gigabits(400), {}, {}}, {}));
      }
      for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(uplinks); ++i) {
        const std::uint32_t a = net.add_host(), b = net.add_host();
        net.add_cable({a, leaves[0], gigabits(400), {}, {}}, {});
        net.add_cable({b, leaves[1], gigabits(400), {}, {}}, {});
        QueuePairSpec spec = queue_pair(a, b);
        spec.in_order = false;
        net.send(net.add_queue_pair(spec), {}, mebibytes(64));
      }
      // A spine lost is a cable lost at either leaf.
      for (int i = 0; i < 2 * failed; ++i)
        net.set_link_up(cables[static_cast<std::size_t>(i)], {}, false);
      net.run_until(Instant{} + microseconds(50));
      std::int64_t before = 0, after = 0;
      const auto pairs = static_cast<std::uint32_t>(uplinks);
      const auto sum = [&](std::int64_t& total) {
        for (std::uint32_t pair = 0; pair < pairs; ++pair) total += net.delivered(pair).count;
      };
      sum(before);
      net.run_until(Instant{} + microseconds(150));
      sum(after);
      const double line = 50e3 * uplinks * 100;
      check_vector("T-22", fmt::format("{} of {} uplinks lost, share", failed, uplinks),
                   spread == Spread::adaptive ? "packet, adaptive" : "packet, spray",
                   static_cast<double>(after - before) / line, share,
                   spread == Spread::adaptive ? 0.005 : 0.05);
    }
  }
}

TEST_CASE("T-42: credits back up into a shared way, queues per flow do not") {
  for (const bool per_flow : {false, true}) {
    PacketConfig config = bare(PacketConfig{});
    if (per_flow) config.arbitration = Arbitration::per_flow;
    PacketNetwork net(config);
    const std::uint32_t l1 = net.add_switch(), l2 = net.add_switch();
    net.add_cable({l1, l2, gigabytes(50), {}, metres(30)}, {});
    const auto host = [&](std::uint32_t leaf) {
      const std::uint32_t id = net.add_host();
      net.add_cable({id, leaf, gigabytes(50), {}, metres(5)}, {});
      return id;
    };
    const std::uint32_t hot = host(l2), idle = host(l2), a = host(l1), b = host(l1);
    net.send(net.add_queue_pair(queue_pair(a, hot)), {}, mebibytes(256));
    net.send(net.add_queue_pair(queue_pair(b, idle)), {}, mebibytes(256));
    for (int i = 0; i < 4; ++i)
      net.send(net.add_queue_pair(queue_pair(host(l2), hot)), {}, mebibytes(256));
    net.run_until(Instant{} + microseconds(500));
    const Bytes before[] = {net.delivered(0), net.delivered(1)};
    net.run_until(Instant{} + microseconds(1'500));
    const char* rung = per_flow ? "packet, per flow" : "packet, credits";
    const auto rate = [&](std::uint32_t pair) {
      return static_cast<double>((net.delivered(pair) - before[pair]).count) * 1e-6;
    };
    check_vector("T-42", "A into the hot port, GB/s", rung, rate(0), 10, 0.02);
    check_vector("T-42", "B to an idle port, GB/s", rung, rate(1), per_flow ? 40 : 10, 0.02);
  }
}

TEST_CASE("T-80: goodput of go-back-N under loss") {
  // 4096 B at 400 Gb/s and 10 us from a packet sent to its loss known: W = 122.07 packets.
  for (const auto& [loss, expected, mib] :
       {std::tuple(1e-5, 0.99878, 2'048), std::tuple(1e-4, 0.98794, 1'024),
        std::tuple(1e-3, 0.89111, 512), std::tuple(1e-2, 0.44782, 1'024)}) {
    PacketConfig config = bare(PacketConfig{});
    config.lane_buffer = mebibytes(4);
    PacketNetwork net(config);
    const std::uint32_t a = net.add_host(), b = net.add_host();
    // The answer is on its way when the next packet is whole: 81.92 ns twice.
    const Duration one_way{(microseconds(10).ps - 2 * 81'920) / 2};
    const std::uint32_t link = net.add_cable({a, b, gigabits(400), {}, one_way}, {});
    net.set_loss(link, loss);
    QueuePairSpec spec = queue_pair(a, b);
    spec.retry.timeout = microseconds(200);
    const Bytes size = mebibytes(mib);
    const std::uint32_t message = net.send(net.add_queue_pair(spec), {}, size);
    net.run();
    const double share = static_cast<double>(size.count) / 50e9 / seconds(net.arrival(message));
    check_vector("T-80", fmt::format("loss {:.0e}, share of the line", loss), "packet", share,
                 expected, loss > 1e-4 ? 0.025 : 0.003);
  }
}

TEST_CASE("T-81: ACK time-outs, and how long until a queue pair gives up") {
  const struct {
    int exponent;
    double once, gives_up;
  } cases[] = {{14, 0.0671, 0},    {17, 0.537, 0},     {18, 1.074, 8.59},
               {20, 4.295, 34.36}, {22, 17.18, 137.4}, {23, 34.36, 0}};
  for (const auto& [exponent, once, gives_up] : cases) {
    const Duration timeout = RetrySpec::infiniband(exponent);
    check_vector("T-81", fmt::format("time-out, t = {}, s", exponent), "closed form",
                 seconds(timeout), once, 1e-3);
    if (gives_up == 0) continue;
    Star star(PacketConfig{}, 2, gigabits(400));
    QueuePairSpec spec = queue_pair(star.hosts[0], star.hosts[1]);
    spec.retry.timeout = timeout;
    const std::uint32_t pair = star.net.add_queue_pair(spec);
    star.net.set_link_up(star.up[0], {}, false);
    const std::uint32_t message = star.net.send(pair, {}, {4'096});
    star.net.run();
    CHECK(star.net.failed(pair));
    CHECK_FALSE(star.net.arrived(message));
    check_vector("T-81", fmt::format("gives up, t = {}, 7 retries, s", exponent), "packet",
                 seconds(star.net.failed_at(pair)), gives_up, 1e-3);
  }
}

TEST_CASE("T-82: a link that is down for a while delays by whole retries") {
  const struct {
    double down_s, delay_s;  ///< 0 = gives up
  } cases[] = {{1, 4.295}, {4.2, 4.295}, {4.4, 8.590}, {20, 21.475}, {29.9, 30.065}, {34.5, 0}};
  for (const auto& [away_s, delay_s] : cases) {
    const double down_s = away_s;
    CAPTURE(down_s);
    Star star(PacketConfig{}, 2, gigabits(400));
    QueuePairSpec spec = queue_pair(star.hosts[0], star.hosts[1]);
    spec.retry.timeout = RetrySpec::infiniband(20);
    const std::uint32_t pair = star.net.add_queue_pair(spec);
    const Instant down = Instant{} + microseconds(50);
    star.net.set_link_up(star.up[0], down, false);
    star.net.set_link_up(star.up[0], down + Duration{static_cast<std::int64_t>(down_s * 1e12)},
                         true);
    const std::uint32_t message = star.net.send(pair, {}, mebibytes(4));  // 84 us alone
    star.net.run();
    CHECK(star.net.failed(pair) == (delay_s == 0));
    if (delay_s > 0) {
      // The last of 7 retries goes out after 7 time-outs, 30.06 s: what is down longer than that
      // has lost, though the queue pair says so only at 34.36 s.
      check_vector("T-82", fmt::format("down {} s, step late by, s", down_s), "packet",
                   seconds(star.net.arrival(message)), delay_s, 1e-3);
    }
  }
}
