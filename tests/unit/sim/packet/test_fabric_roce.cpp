// Goal: RoCE's pauses and congestion control (vectors T-40 .. T-43, T-62, T-63).
// Method: closed forms; the packet rung on one switch, or two with a cable between them.

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/packet/lossless.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/sim/packet_nets.hpp"

using namespace fabricast;

TEST_CASE("T-40: the longest single pause") {
  for (const auto& [gbps, us] : {std::pair(100, 335.54), std::pair(200, 167.77),
                                 std::pair(400, 83.885), std::pair(800, 41.942)})
    check_vector("T-40", fmt::format("{} Gb/s, us", gbps), "closed form",
                 in_us(longest_pause(gigabits(gbps))), us, 2e-5);
}

TEST_CASE("T-41: headroom of a pause") {
  const struct {
    std::int64_t gbps, metres;
    double bytes;
  } cases[] = {{100, 5, 12'929},
               {400, 5, 14'804},
               {400, 100, 62'304},
               {400, 300, 162'304},
               {800, 100, 112'304}};
  for (const auto& [gbps, length, bytes] : cases) {
    const Bytes headroom = PauseHeadroom{}.over(gigabits(gbps), metres(length));
    check_vector("T-41", fmt::format("{} Gb/s over {} m, B", gbps, length), "closed form",
                 static_cast<double>(headroom.count), bytes, 1e-5);
    // What a paused sender still delivers stays within the headroom.
    PacketConfig config = bare(ethernet());
    config.pause.ingress_limit = {200'000};
    config.pause.reserved = {};
    config.pause.response = transfer_time(PauseHeadroom{}.response, gigabits(gbps));
    Star star(config, 3, gigabits(gbps), metres(length));
    for (std::uint32_t i = 1; i < 3; ++i)
      star.net.send(star.net.add_queue_pair(queue_pair(star.hosts[i], star.hosts[0])), {},
                    mebibytes(8));
    star.net.run();
    for (std::uint32_t i = 1; i < 3; ++i) {
      const auto& counts = star.net.counts(star.up[i]);
      CHECK(counts.pauses > 0);
      CHECK(counts.ingress_max > config.pause.ingress_limit);
      CHECK(counts.ingress_max <= config.pause.ingress_limit + headroom);
      CHECK(counts.dropped == 0);
    }
  }
}

TEST_CASE("T-42: pauses stop the victim behind a hot port, queues per flow do not") {
  PacketConfig config = bare(ethernet());
  config.pause.ingress_limit = {400'000};
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
  net.run_until(Instant{} + microseconds(1'000));
  const Bytes before[] = {net.delivered(0), net.delivered(1)};
  net.run_until(Instant{} + microseconds(4'000));
  for (std::uint32_t pair = 0; pair < 2; ++pair)
    check_vector("T-42", pair == 0 ? "A into the hot port, GB/s" : "B to an idle port, GB/s",
                 "packet, pauses",
                 static_cast<double>((net.delivered(pair) - before[pair]).count) / 3e6, 10, 0.03);
}

TEST_CASE("T-43: when an incast pauses its senders") {
  const auto incast = [](const PacketConfig& config) {
    Star star(config, 33, gigabytes(50));
    for (std::uint32_t i = 1; i <= 32; ++i)
      star.net.send(star.net.add_queue_pair(queue_pair(star.hosts[i], star.hosts[0])), {},
                    mebibytes(4));
    star.net.run_until(Instant{} + microseconds(60));
    return star;
  };
  PacketConfig fixed = bare(ethernet());
  fixed.pause.shared_buffer = {1'000'000'000};
  fixed.pause.ingress_limit = {1'600'000};
  fixed.pause.reserved = {};
  const Star at_limit = incast(fixed);
  check_vector("T-43", "1.6 MB per ingress, first pause, us", "packet",
               in_us(at_limit.net.counts(at_limit.up[1]).first_pause), 33.0, 5e-3);

  PacketConfig full = bare(ethernet());
  full.flow_control = FlowControl::drop;
  full.pause.reserved = {};
  // Without pauses 32 MB are full after 20.6 us: then the first packet is dropped.
  Star dropping(full, 33, gigabytes(50));
  for (std::uint32_t i = 1; i <= 32; ++i)
    dropping.net.send(dropping.net.add_queue_pair(queue_pair(dropping.hosts[i], dropping.hosts[0])),
                      {}, mebibytes(4));
  const auto drops = [&] {
    std::uint64_t sum = 0;
    for (const std::uint32_t link : dropping.up) sum += dropping.net.counts(link).dropped;
    return sum;
  };
  double full_at = 0;
  for (; drops() == 0; full_at += 0.1)
    dropping.net.run_until(Instant{static_cast<std::int64_t>(full_at * 1e6)});
  check_vector("T-43", "32 MB shared buffer full, us", "packet", full_at, 20.6, 0.01);

  const Star dynamic = incast(bare(ethernet()));
  const Instant first = dynamic.net.counts(dynamic.up[1]).first_pause;
  CHECK(first > Instant{});
  CHECK(in_us(first) < 20.6);
}

namespace {

/// Parameters of the DCQCN paper, for 40 Gb/s.
DcqcnSpec paper_spec() {
  DcqcnSpec spec;
  spec.gain = 1.0 / 256;
  spec.alpha_period = microseconds(55);
  spec.alpha_at_first = 1;
  spec.reduce_period = spec.notify_interval = microseconds(50);
  spec.rate_min = {1'250'000};
  spec.increase_period = microseconds(55);
  spec.increase_bytes = {10'000'000};
  spec.fast_stages = 5;
  spec.additive = {5'000'000};
  spec.hyper = {50'000'000};
  return spec;
}

PacketConfig paper_config() {
  PacketConfig config = bare(ethernet());
  config.payload = {1'000};
  config.marking = {{5'000}, {200'000}, 0.01};
  return config;
}

struct Sharing {
  double jain, queue_kb, utilisation;
};

/// `flows` senders over one 40 Gb/s port, the feedback 5 us late; figures of the second half.
Sharing share_port(std::uint32_t flows, int milliseconds, double first_rate, double other_rate) {
  Star star(paper_config(), static_cast<int>(flows) + 1, gigabits(40), Duration{1'250'000});
  for (std::uint32_t i = 1; i <= flows; ++i) {
    QueuePairSpec spec = queue_pair(star.hosts[i], star.hosts[0]);
    spec.dcqcn = paper_spec();
    star.net.add_queue_pair(spec);
  }
  for (std::uint32_t pair = 0; pair < flows; ++pair) {
    star.net.set_rate(pair, pair == 0 ? first_rate : other_rate);
    star.net.send(pair, {}, {std::int64_t{1} << 40});
  }
  const Instant half = Instant{} + microseconds(500) * milliseconds;
  star.net.run_until(half);
  star.net.reset_mean_queue();
  std::vector<double> before;
  for (std::uint32_t pair = 0; pair < flows; ++pair)
    before.push_back(static_cast<double>(star.net.delivered(pair).count));
  star.net.run_until(half + microseconds(500) * milliseconds);
  double sum = 0, squares = 0;
  for (std::uint32_t pair = 0; pair < flows; ++pair) {
    const double got = static_cast<double>(star.net.delivered(pair).count) - before[pair];
    sum += got;
    squares += got * got;
  }
  return {sum * sum / (flows * squares), star.net.mean_queue(star.down[0]) * 1e-3,
          sum / (5e9 * milliseconds * 0.5e-3)};
}

/// Mean queue in kB by the published fluid model's fixed point (Zhu et al. 2015, and 2016).
double fluid_queue(double flows) {
  const double packets = 40e9 / 8 / 1'000, additive = 40e6 / 8 / 1'000;
  const double period = 55e-6, bytes = 10'000, tau = 50e-6;  // B in packets; N_CNP interval
  const double inner = 1 / bytes + flows / (period * packets);
  const double p = std::cbrt(additive * flows * flows / (tau * packets * packets) * inner * inner);
  return 5 + p / 0.01 * (200 - 5);
}

}  // namespace

TEST_CASE("T-62: two flows converge to a fair share, queues stand at the fluid fixed point" *
          minutes_under_sanitizers()) {
  const Sharing two = share_port(2, 400, 5e9, 0.125e9);
  check_vector("T-62", "from 40 and 1 Gb/s, Jain index", "packet", two.jain, 1, 0.005);
  check_vector("T-62", "N=2, mean queue, kB", "packet", two.queue_kb, 23.6, 0.15);
  check_vector("T-62", "N=2, utilisation", "packet", two.utilisation, 1, 0.01);
  for (const auto& [flows, queue] : {std::pair(4u, 51.7), std::pair(8u, 122.4)}) {
    check_vector("T-62", fmt::format("N={}, fluid fixed point, kB", flows), "closed form",
                 fluid_queue(flows), queue, 2e-3);
    const Sharing share = share_port(flows, 100, 1.25e9, 1.25e9);
    check_vector("T-62", fmt::format("N={}, mean queue, kB", flows), "packet", share.queue_kb,
                 queue, 0.15);
    CHECK(share.utilisation > 0.99);
  }
  const Sharing many = share_port(16, 60, 0.3125e9, 0.3125e9);
  check_vector("T-62", "N=16, mean queue, kB", "packet", many.queue_kb, 177, 0.15);
}

TEST_CASE("T-63: NIC defaults leave a 400G port half idle at times, tuned ones do not") {
  const auto lowest = [](const DcqcnSpec& dcqcn) {
    PacketConfig config = ethernet();
    config.marking = {{1'600'000}, {6'400'000}, 0.2};
    Star star(config, 5, gigabits(400), Duration{1'000'000});
    for (std::uint32_t i = 1; i < 5; ++i) {
      QueuePairSpec spec = queue_pair(star.hosts[i], star.hosts[0], i);
      spec.dcqcn = dcqcn;
      star.net.send(star.net.add_queue_pair(spec), Instant{} + microseconds(1'000) * (i - 1),
                    {std::int64_t{1} << 40});
    }
    star.net.run_until(Instant{} + microseconds(1'000));
    double least = 400;
    Bytes before = star.net.delivered(0);
    for (int i = 0; i < 40; ++i) {
      star.net.run_until(star.net.now() + microseconds(250));
      Bytes sum;
      for (std::uint32_t pair = 0; pair < 4; ++pair) sum += star.net.delivered(pair);
      least = std::min(least, static_cast<double>((sum - before).count) * 8 / 250e3);
      before = sum;
    }
    return least;
  };
  DcqcnSpec tuned;
  tuned.notify_interval = microseconds(2);
  tuned.cut_max = 0.1;
  tuned.additive = {2'500'000};
  tuned.increase_period = microseconds(20);
  const double defaults = lowest(DcqcnSpec{}), better = lowest(tuned);
  check_vector("T-63", "NIC defaults, lowest rate in 250 us, Gb/s", "packet", defaults, 197.7, 0.3);
  CHECK(defaults < 260);
  check_vector("T-63", "tuned, lowest rate in 250 us, Gb/s", "packet", better, 392.15, 0.05);
}

TEST_CASE("a full switch drops, and go-back-N brings everything all the same") {
  PacketConfig config = ethernet();
  config.flow_control = FlowControl::drop;
  config.pause.shared_buffer = {100'000};
  Star star(config, 4, gigabits(100), metres(5));
  for (std::uint32_t i = 1; i < 4; ++i) {
    QueuePairSpec spec = queue_pair(star.hosts[i], star.hosts[0]);
    spec.retry.timeout = microseconds(100);
    spec.retry.retries = 50;
    spec.retry.hesitation = microseconds(1);
    star.net.send(star.net.add_queue_pair(spec), {}, mebibytes(1));
  }
  int done = 0;
  star.net.run([&](std::uint32_t) { ++done; });
  CHECK(done == 3);
  std::uint64_t dropped = 0;
  for (const std::uint32_t link : star.up) dropped += star.net.counts(link).dropped;
  CHECK(dropped > 0);
  for (std::uint32_t pair = 0; pair < 3; ++pair) CHECK(star.net.delivered(pair) == mebibytes(1));
}
