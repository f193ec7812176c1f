// Goal: the flow rung shares links as max-min fairness says (vectors T-10 .. T-15, T-22, T-130,
// T-131), keeps exact time through changes, and stops when nothing can move.
// Method: vectors by their ids; the rest by hand.

#include <cstdlib>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/fluid/flow_network.hpp"
#include "tests/unit/sim/fabric_vectors.hpp"

using namespace fabricast;

namespace {

using Links = std::vector<std::uint32_t>;

std::uint32_t endless(FlowNetwork& net, const Links& links) {
  return net.add_flow({{}, FluidSpec::kEndless, links, 1, 0, {}});
}

}  // namespace

TEST_CASE("T-10: equal flows share a link equally") {
  FlowNetwork net;
  const std::uint32_t link = net.add_link({gigabits(400), {}});
  for (int i = 0; i < 8; ++i) endless(net, {link});
  net.run();
  for (std::uint32_t flow = 0; flow < 8; ++flow)
    check_vector("T-10", "8 flows on 400 Gb/s, Gb/s", "flow", in_gigabits(net.rate(flow)), 50,
                 1e-9);
}

TEST_CASE("T-11: parking lot") {
  FlowNetwork net;
  Links all;
  for (int i = 0; i < 3; ++i) all.push_back(net.add_link({gigabytes(100), {}}));
  endless(net, all);
  for (const std::uint32_t link : all) endless(net, {link});
  net.run();
  for (std::uint32_t flow = 0; flow < 4; ++flow)
    check_vector("T-11", "long and short flows, GB/s", "flow", in_gigabytes(net.rate(flow)), 50,
                 1e-9);
}

TEST_CASE("T-12: two bottlenecks") {
  FlowNetwork net;
  const std::uint32_t a = net.add_link({gigabits(400), {}}), b = net.add_link({gigabits(200), {}});
  const std::uint32_t flows[] = {endless(net, {a}), endless(net, {a, b}), endless(net, {b}),
                                 endless(net, {b})};
  net.run();
  check_vector("T-12", "f1, Gb/s", "flow", in_gigabits(net.rate(flows[0])), 1000.0 / 3, 1e-9);
  for (int i = 1; i < 4; ++i)
    check_vector("T-12", "f2 f3 f4, Gb/s", "flow", in_gigabits(net.rate(flows[i])), 200.0 / 3,
                 1e-9);
}

TEST_CASE("T-13: processor sharing") {
  FlowNetwork net;
  const std::uint32_t path[] = {net.add_link({gigabytes(50), {}})};
  for (const std::int64_t gb : {1, 2, 4}) net.add_flow({{}, {gb * 1'000'000'000}, path, 1, 0, {}});
  net.run();
  const double expected[] = {0.06, 0.1, 0.14};
  for (std::uint32_t flow = 0; flow < 3; ++flow)
    check_vector("T-13", "1, 2, 4 GB on 50 GB/s, s", "flow", seconds(net.left(flow)),
                 expected[flow], 1e-10);
}

TEST_CASE("T-14: the victim of a shared way") {
  FlowNetwork net;
  std::uint32_t link[5];  // s1, s2, up, d1, d2
  for (std::uint32_t& id : link) id = net.add_link({gigabits(400), {}});
  endless(net, {link[0], link[2], link[3]});
  endless(net, {link[1], link[3]});
  endless(net, {link[0], link[2], link[4]});
  net.run();
  for (std::uint32_t flow = 0; flow < 3; ++flow)
    check_vector("T-14", "i1, i2, v, Gb/s", "flow", in_gigabits(net.rate(flow)), 200, 1e-9);
}

TEST_CASE("T-15: fairness is per flow, not per job") {
  FlowNetwork net;
  const std::uint32_t nic = net.add_link({gigabytes(50), {}});
  for (int i = 0; i < 3; ++i) endless(net, {nic});
  net.run();
  check_vector("T-15", "2 ring channels, 1 send, GB/s", "flow", in_gigabytes(net.rate(2)), 50.0 / 3,
               1e-9);
}

TEST_CASE("T-130: two collectives on one NIC, the smaller ends at twice its time alone") {
  FlowNetwork net;
  const std::uint32_t nic[] = {net.add_link({gigabytes(49), {}})};
  const std::uint32_t dp = net.add_flow({{}, mebibytes(768), nic, 1, 0, {}});
  const std::uint32_t ep = net.add_flow({{}, mebibytes(256), nic, 1, 0, {}});
  net.run();
  check_vector("T-130", "EP ends, ms", "flow", seconds(net.left(ep)) * 1e3, 10.957, 1e-4);
  check_vector("T-130", "DP ends, ms", "flow", seconds(net.left(dp)) * 1e3, 21.913, 1e-4);
}

TEST_CASE("T-131: strict priority delays the other by exactly its bytes") {
  FlowNetwork net;
  const std::uint32_t nic[] = {net.add_link({gigabytes(50), {}})};
  const std::uint32_t dp = net.add_flow({{}, {500'000'000}, nic, 1, 0, {}});
  const std::uint32_t pp =
      net.add_flow({Instant{} + microseconds(1'000), {100'000'000}, nic, 1, 1, {}});
  net.run();
  check_vector("T-131", "PP takes its time alone, ms", "flow", seconds(net.left(pp)) * 1e3 - 1, 2,
               1e-9);
  check_vector("T-131", "DP ends late by, ms", "flow", seconds(net.left(dp)) * 1e3 - 10, 2, 1e-9);
}

TEST_CASE("a link that goes down stops its flows, and they go on when it is back") {
  FlowNetwork net;
  const std::uint32_t link = net.add_link({gigabytes(10), nanoseconds(700)});
  const std::uint32_t path[] = {link};
  const std::uint32_t flow = net.add_flow({{}, {10'000'000}, path, 1, 0, {}});  // 1 ms
  net.run_until(Instant{} + microseconds(400));
  net.set_rate(link, {});
  net.run();  // nothing can move
  CHECK_FALSE(net.ended(flow));
  CHECK(net.now() == Instant{} + microseconds(400));
  CHECK(net.sent(flow).count == 4'000'000);
  net.run_until(Instant{} + microseconds(3'000));
  net.set_rate(link, gigabytes(5));
  net.run();
  // 6 MB left at 5 GB/s.
  CHECK(net.left(flow) == Instant{} + microseconds(3'000 + 1'200));
  CHECK(net.arrived(flow) == net.left(flow) + nanoseconds(700));
}

TEST_CASE("flows without links: at once, or at their cap") {
  FlowNetwork net;
  const std::uint32_t free = net.add_flow({Instant{5}, {1'000}, {}, 1, 0, {}});
  const std::uint32_t empty = net.add_flow({Instant{7}, {}, {}, 1, 0, {}});
  const std::uint32_t capped = net.add_flow({Instant{9}, {1'000}, {}, 1, 0, {1'000'000'000}});
  net.run();
  CHECK(net.left(free) == Instant{5});
  CHECK(net.left(empty) == Instant{7});
  CHECK(net.left(capped) == Instant{9} + microseconds(1));
}

TEST_CASE("background that stops half way gives its share back") {
  FlowNetwork net;
  const std::uint32_t path[] = {net.add_link({gigabytes(10), {}})};
  const std::uint32_t noise = net.add_flow({{}, FluidSpec::kEndless, path, 1, 0, {}});
  const std::uint32_t flow = net.add_flow({{}, {10'000'000}, path, 1, 0, {}});
  net.run_until(Instant{} + microseconds(1'000));
  CHECK(net.sent(noise).count == 5'000'000);
  net.stop(noise);
  net.run();
  CHECK(net.left(flow) == Instant{} + microseconds(1'500));
  CHECK(net.sent(noise).count == 5'000'000);
}

TEST_CASE("a flow that follows another starts when it has arrived") {
  FlowNetwork net;
  const std::uint32_t path[] = {net.add_link({gigabytes(1), nanoseconds(300)})};
  std::vector<std::uint32_t> chain = {net.add_flow({{}, {1'000}, path, 1, 0, {}})};
  net.run([&](std::uint32_t flow) {
    if (chain.size() < 4)
      chain.push_back(net.add_flow({net.arrived(flow), {1'000}, path, 1, 0, {}}));
  });
  REQUIRE(chain.size() == 4);
  CHECK(net.arrived(chain.back()) == Instant{} + (microseconds(1) + nanoseconds(300)) * 4);
}

TEST_CASE("a flow that sends again does as a new one, and costs no rates while it goes on") {
  constexpr std::uint32_t senders = 12, messages = 6;
  Random random(7);
  for (int round = 0; round < 30; ++round) {
    FlowNetwork fresh, reused;
    for (int i = 0; i < 5; ++i) {
      const LinkSpec link{{1'000'000'000 + random.below(9) * 1'000'000'000}, nanoseconds(10)};
      fresh.add_link(link), reused.add_link(link);
    }
    std::vector<Links> ways;
    std::vector<std::vector<Bytes>> sizes(senders);
    std::vector<Duration> rests;  // behind a message before the next
    for (std::uint32_t i = 0; i < senders; ++i) {
      ways.push_back({random.below(5)});
      if (random.below(2) == 0) ways.back().push_back((ways.back().front() + 1) % 5);
      for (std::uint32_t m = 0; m < messages; ++m)
        sizes[i].push_back({random.below(4) == 0 ? 0 : 1'000 + random.below(100'000)});
      rests.push_back(random.below(2) == 0 ? Duration{} : nanoseconds(random.below(20'000)));
    }
    using Ends = std::vector<std::vector<std::int64_t>>;
    const auto run = [&](FlowNetwork& net, bool again) {
      Ends ends(senders);
      std::vector<std::uint32_t> sender_of;
      for (std::uint32_t i = 0; i < senders; ++i) {
        net.add_flow({{}, sizes[i][0], ways[i], 1, 0, {}, again});
        sender_of.push_back(i);
      }
      net.run([&](std::uint32_t flow) {
        const std::uint32_t sender = sender_of[flow];
        ends[sender].push_back(net.left(flow).ps);
        const std::size_t next = ends[sender].size();
        if (next == messages) return;
        const Instant start = net.now() + rests[sender];
        if (again) return net.send_again(flow, start, sizes[sender][next]);
        net.add_flow({start, sizes[sender][next], ways[sender], 1, 0, {}});
        sender_of.push_back(sender);
      });
      return ends;
    };
    const Ends one = run(fresh, false), other = run(reused, true);
    for (std::uint32_t i = 0; i < senders; ++i) {
      REQUIRE(one[i].size() == messages);
      REQUIRE(other[i].size() == messages);
      for (std::uint32_t m = 0; m < messages; ++m)  // rates are rounded to 2^-16 B/s
        CHECK(std::abs(one[i][m] - other[i][m]) <= 2 * (m + 1));
    }
    CHECK(reused.shares_computed() < fresh.shares_computed());
    for (std::uint32_t link = 0; link < 5; ++link) CHECK(reused.load(link).bytes_per_s == 0);
  }
}
