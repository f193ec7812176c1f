// Goal: connections that share: who comes to a link or a thread in one round of an instant shares
// it, and numbers decide nothing. Method: closed forms; random machines built in another order, or
// with one connection that stands for several, must end at the same picosecond.

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/machines/executor.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr Bandwidth kLinkRate{100'000'000'000};  // 1 MB in 10 us

/// A sender (lane 1) or receiver (lane 0) of so many chunks; position: bytes.
struct Stream final : Program {
  std::uint32_t chunks = 1;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.minor == chunks) return false;
    ++cursor.minor;
    const Bytes chunk{role.position};
    primitive = {1 - role.lane, role.lane, 1, chunk, chunk};
    return true;
  }
};

/// One stream over some links.
struct Flow {
  std::uint32_t bytes = 0;
  std::vector<std::uint32_t> path;
  std::uint32_t copies = 1;
  bool relayed = false;
};

/// Ends of the flows' receivers, by flow, and what the links carried. They are built in `order`.
struct Outcome {
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> carried;

  bool operator==(const Outcome&) const = default;
};

template <class Stamp = PlainStamp>
Outcome run(const std::vector<Flow>& flows, const std::vector<LinkSpec>& links,
            const std::vector<std::size_t>& order, std::uint32_t chunks = 1) {
  Stream program;
  program.chunks = chunks;
  Executor<Stamp> executor;
  const std::uint32_t kind = executor.add_worker_class({{200'000'000'000}, {}});
  const std::uint32_t post = executor.add_relay_class({{microseconds(1)}, {}});
  for (const LinkSpec& link : links) executor.add_link(link);
  const std::uint32_t thread = executor.add_thread();
  std::vector<std::uint32_t> receivers(flows.size());
  for (const std::size_t i : order) {
    const Flow& flow = flows[i];
    const std::uint32_t sender = executor.add_worker(kind, program, {1, flow.bytes});
    receivers[i] = executor.add_worker(kind, program, {0, flow.bytes});
    ConnectionSpec spec;
    spec.from = sender;
    spec.to = receivers[i];
    spec.slots = 2;
    spec.shares = true;
    spec.copies = flow.copies;
    if (flow.relayed) {
      spec.to = executor.add_relay(post, thread, flow.copies);
      executor.connect(spec);
      spec.from = spec.to;
      spec.to = receivers[i];
    }
    spec.path = flow.path;
    executor.connect(spec);
  }
  executor.run();
  Outcome out;
  for (const std::uint32_t id : receivers) out.ends.push_back(executor.finished(id).ps);
  for (std::uint32_t id = 0; id < links.size(); ++id)
    out.carried.push_back(executor.carried(id).count);
  return out;
}

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// Flows over one to three of five links, in ascending order, some through the thread.
std::vector<Flow> random_flows(Dice& random, std::size_t count) {
  std::vector<Flow> out(count);
  for (Flow& flow : out) {
    flow.bytes = static_cast<std::uint32_t>(random.pick(1, 4)) * 250'000;
    for (std::uint32_t link = 0; link < 5; ++link)
      if (random.pick(0, 1) == 0) flow.path.push_back(link);
    if (flow.path.empty()) flow.path = {0};
    flow.relayed = random.pick(0, 2) == 0;
  }
  return out;
}

std::vector<LinkSpec> five_links(Dice& random) {
  std::vector<LinkSpec> out;
  for (int i = 0; i < 5; ++i)
    out.push_back({{random.pick(1, 3) * 25'000'000'000}, microseconds(random.pick(0, 2))});
  return out;
}

}  // namespace

TEST_CASE("shares of a link: each waits for half of the others") {
  // 10, 20 and 30 us of bytes on one link: they are through 25, 20 and 15 us later
  // than alone. Receivers copy 1 MB in 5 us.
  const std::vector<Flow> flows = {{1'000'000, {0}}, {2'000'000, {0}}, {3'000'000, {0}}};
  const Outcome got = run(flows, {{kLinkRate, {}}}, in_order(3));
  CHECK(got.ends == std::vector<std::int64_t>{microseconds(25 + 10 + 5).ps,
                                              microseconds(20 + 20 + 10).ps,
                                              microseconds(15 + 30 + 15).ps});
  CHECK(got.carried == std::vector<std::int64_t>{6'000'000});
}

TEST_CASE("what comes after them waits until the link has served all") {
  // Two chunks of 10 us each, a sender copies one in 5 us: the second ones come at 5 us, when the
  // link is busy with the first ones until 20. Both are through 15 us later.
  const Outcome got = run({{1'000'000, {0}}, {1'000'000, {0}}}, {{kLinkRate, {}}}, in_order(2), 2);
  const std::int64_t end = microseconds(20 + 15 + 5).ps;
  CHECK(got.ends == std::vector<std::int64_t>{end, end});
}

TEST_CASE("shares of a thread: each waits for half of the others") {
  // Posts of 1 us, two at once: done after 1.5 us. The bytes, 10 us each, are 15 us on the link.
  const std::vector<Flow> flows = {{1'000'000, {0}, 1, true}, {1'000'000, {0}, 1, true}};
  const Outcome got = run(flows, {{kLinkRate, {}}}, in_order(2));
  const std::int64_t end = 5'000'000 + 1'500'000 + microseconds(15 + 5).ps;
  CHECK(got.ends == std::vector<std::int64_t>{end, end});
}

TEST_CASE("a link that stands several times in one step is shared by all of them") {
  // 1 MB to three places through one link: each waits 10 us.
  const std::vector<std::uint32_t> wide = {0, 0 | kBeside, 0 | kBeside};
  const Outcome got = run({{1'000'000, wide}}, {{kLinkRate, {}}}, in_order(1));
  CHECK(got.ends.front() == microseconds(10 + 10 + 5).ps);
  CHECK(got.carried.front() == 3'000'000);
}

TEST_CASE("in what order a machine was built decides nothing") {
  Dice random(51);
  int shared = 0;
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    const std::vector<Flow> flows =
        random_flows(random, static_cast<std::size_t>(random.pick(2, 9)));
    const std::vector<LinkSpec> links = five_links(random);
    std::vector<std::size_t> order = in_order(flows.size());
    const Outcome first = run(flows, links, order, 4);
    for (std::size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1],
                order[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(k) - 1))]);
    CHECK(run(flows, links, order, 4) == first);
    shared += run({flows.front()}, links, {0}, 4).ends.front() != first.ends.front();
  }
  CHECK(shared > 100);
}

TEST_CASE("a connection that stands for several is as several") {
  Dice random(52);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    std::vector<Flow> one = random_flows(random, static_cast<std::size_t>(random.pick(1, 5))), all;
    const std::vector<LinkSpec> links = five_links(random);
    std::vector<std::size_t> first;
    for (Flow& flow : one) {
      flow.copies = static_cast<std::uint32_t>(random.pick(1, 4));
      first.push_back(all.size());
      for (std::uint32_t k = 0; k < flow.copies; ++k) {
        all.push_back(flow);
        all.back().copies = 1;
      }
    }
    const Outcome got = run(one, links, in_order(one.size()), 4),
                  full = run(all, links, in_order(all.size()), 4);
    CHECK(got.carried == full.carried);
    for (std::size_t k = 0; k < one.size(); ++k) CHECK(got.ends[k] == full.ends[first[k]]);
  }
}

TEST_CASE("equal slices of one round share links as slices that are not equal do") {
  // Two of 1 MB and two of 2 MB, 10 and 20 us each: of 60 us in all they wait for half of the
  // others, 25 and 20 us.
  const Flow small{1'000'000, {0}}, large{2'000'000, {0}};
  const Outcome got = run({small, large, small, large}, {{kLinkRate, {}}}, in_order(4));
  const std::int64_t first = microseconds(25 + 10 + 5).ps, last = microseconds(20 + 20 + 10).ps;
  CHECK(got.ends == std::vector<std::int64_t>{first, last, first, last});
  CHECK(got.carried == std::vector<std::int64_t>{6'000'000});
}

TEST_CASE("equal slices of one round end as they do where each goes for itself") {
  // With a CausalStamp each does.
  Dice random(53);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    std::vector<Flow> flows = random_flows(random, static_cast<std::size_t>(random.pick(1, 4)));
    for (std::int64_t more = random.pick(1, 6); more > 0; --more)
      flows.push_back(flows[static_cast<std::size_t>(random.pick(0, std::ssize(flows) - 1))]);
    const std::vector<LinkSpec> links = five_links(random);
    CHECK(run(flows, links, in_order(flows.size()), 4) ==
          run<CausalStamp>(flows, links, in_order(flows.size()), 4));
  }
}
