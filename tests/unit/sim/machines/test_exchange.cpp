// Goal: the exchange keeps its timing rules to the picosecond. Method: hand-made schedules of a few
// blocks with closed forms: slots, credits, clear-to-send, threads, batches, shared send buffers.

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/sim/machines/lone_exchange.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr std::int64_t kChunk = 1000;
constexpr std::int64_t kChunkPs = 10'000;  // at kRate
constexpr Bandwidth kRate{100'000'000'000};

/// Batches by block, one way for all.
struct HandMade final : ExchangeSchedule {
  std::vector<std::vector<ExchangeBatch>> batches;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ExchangeWay> ways;

  explicit HandMade(std::size_t blocks) : batches(blocks) {}

  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override {
    if (cursor == batches[block].size()) return false;
    batch = batches[block][cursor++];
    return true;
  }
  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override {
    way = ways.at({from, lane.peer});
  }
  /// A message in batches of their own at both ends.
  void add(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t slots,
           const ExchangeWay& way) {
    ExchangeLane lane{to, {bytes}, {kChunk}, 0, slots, {}, {}};
    batches[from].push_back({{lane}, {}, {}, true});
    lane.peer = from;
    batches[to].push_back({{}, {lane}, {}, true});
    ways[{from, to}] = way;
  }
};

ExchangeWay direct(std::vector<std::uint32_t> links) {
  ExchangeWay way;
  way.near = std::move(links);
  return way;
}

/// Through threads 0 and 1.
ExchangeWay relayed(std::vector<std::uint32_t> links) {
  ExchangeWay way;
  way.relayed = true;
  way.far = std::move(links);
  way.send_thread = 0;
  way.receive_thread = 1;
  return way;
}

std::int64_t run_ps(LoneExchange<PlainStamp>& machine, const MessageKind& kind = {}) {
  machine.add_kind(kind);
  machine.run();
  return machine.makespan().ps;
}

}  // namespace

TEST_CASE("direct: chunks follow each other over the link") {
  HandMade schedule(2);
  schedule.add(0, 1, 10 * kChunk, 8, direct({0}));
  LoneExchange<PlainStamp> machine(schedule, 2, 0);
  machine.add_link({kRate, {500}});
  CHECK(run_ps(machine) == 10 * kChunkPs + 500);
  CHECK(machine.carried(0).count == 10 * kChunk);
  CHECK(machine.messages() == 1);
  CHECK(machine.chunks() == 10);
}

TEST_CASE("a block that sends to itself opens both ends of a message in one batch") {
  const ExchangeLane lane{0, {10 * kChunk}, {kChunk}, 0, 8, {}, {}};
  HandMade schedule(1);
  schedule.batches[0] = {{{lane}, {lane}, {}, true}, {{lane}, {lane}, {}, true}};
  schedule.ways[{0, 0}] = direct({0});
  LoneExchange<PlainStamp> machine(schedule, 1, 0);
  machine.add_link({kRate, {500}});
  CHECK(run_ps(machine) == 2 * (10 * kChunkPs + 500));
  CHECK(machine.messages() == 2);
}

TEST_CASE("direct: one slot is one chunk per round trip") {
  HandMade schedule(2);
  schedule.add(0, 1, 5 * kChunk, 1, direct({0}));
  LoneExchange<PlainStamp> machine(schedule, 2, 0);
  machine.add_link({kRate, {70'000}});
  CHECK(run_ps(machine) == 5 * (kChunkPs + 2 * 70'000) - 70'000);
}

TEST_CASE("direct: overhead and copying at both ends add up for one chunk") {
  HandMade schedule(2);
  ExchangeLane lane{1, {kChunk}, {kChunk}, 0, 8, {50'000'000'000}, {}};  // 20 ns a chunk
  lane.extra = {40};
  schedule.batches[0].push_back({{lane}, {}, {}, true});
  lane.peer = 0;
  lane.extra = {9};
  schedule.batches[1].push_back({{}, {lane}, {}, true});
  schedule.ways[{0, 1}] = direct({0});
  LoneExchange<PlainStamp> machine(schedule, 2, 0);
  machine.add_link({kRate, {500}});
  MessageKind kind;
  kind.overhead = {3'000};
  kind.sync = {70};
  // The link (10 ns) hides behind the sender's copy (20 ns).
  CHECK(run_ps(machine, kind) == 3'040 + 20'000 + 500 + 70 + 3'009 + 20'000);
}

TEST_CASE("relayed: a clear-to-send for every chunk, two posts, and the way back and forth") {
  constexpr std::int64_t latency = 2'000, post = 300;
  HandMade schedule(2);
  schedule.add(0, 1, 6 * kChunk, 1, relayed({0}));
  LoneExchange<PlainStamp> machine(schedule, 2, 2);
  machine.add_link({kRate, {latency}});
  MessageKind kind;
  kind.cost.post = {post};
  kind.receipt.post = {post};
  CHECK(run_ps(machine, kind) == 6 * (2 * post + 2 * latency + kChunkPs));
}

TEST_CASE("relayed: with slots enough only the first chunk pays for the rendezvous") {
  constexpr std::int64_t latency = 2'000, post = 300;
  HandMade schedule(2);
  schedule.add(0, 1, 6 * kChunk, 8, relayed({0}));
  LoneExchange<PlainStamp> machine(schedule, 2, 2);
  machine.add_link({kRate, {latency}});
  MessageKind kind;
  kind.cost.post = {post};
  kind.receipt.post = {post};
  CHECK(run_ps(machine, kind) == 2 * post + 2 * latency + 6 * kChunkPs);
}

TEST_CASE("told ahead: the first slots of a block's first batch are known as they are posted") {
  constexpr std::int64_t latency = 2'000, post = 300;
  MessageKind kind;
  kind.cost.post = {post};
  kind.receipt.post = {post};
  kind.told_ahead = true;
  const auto run = [&](std::uint32_t slots, int batches) {
    HandMade schedule(2);
    for (int i = 0; i < batches; ++i) schedule.add(0, 1, 6 * kChunk, slots, relayed({0}));
    LoneExchange<PlainStamp> machine(schedule, 2, 2);
    machine.add_link({kRate, {latency}});
    return run_ps(machine, kind);
  };
  CHECK(run(8, 1) == 2 * post + latency + 6 * kChunkPs);
  // With one slot it is the first chunk alone.
  CHECK(run(1, 1) == 6 * (2 * post + 2 * latency + kChunkPs) - latency);
  CHECK(run(8, 2) > run(8, 1) + 2 * post + 2 * latency + 6 * kChunkPs - 1);
}

TEST_CASE("unasked: what is sent does not wait for a post, and its receiver is busy afterwards") {
  constexpr std::int64_t latency = 2'000, post = 300, receipt = 700;
  MessageKind kind;
  kind.cost.post = {post};
  kind.receipt.post = {receipt};
  kind.unasked = true;
  const auto six = [&](std::uint32_t slots) {
    HandMade schedule(2);
    schedule.add(0, 1, 6 * kChunk, slots, relayed({0}));
    LoneExchange<PlainStamp> machine(schedule, 2, 2);
    machine.add_link({kRate, {latency}});
    return run_ps(machine, kind);
  };
  // One slot: the sender's is free again once the receiver's acknowledgement is there.
  CHECK(six(1) == 6 * (post + latency + kChunkPs) + 5 * latency + receipt);
  CHECK(six(8) == post + latency + 6 * kChunkPs + receipt);

  // Two senders, one receiving thread, whose work is what takes time.
  HandMade schedule(3);
  schedule.add(0, 2, kChunk, 8, relayed({0}));
  schedule.add(1, 2, kChunk, 8, relayed({1}));
  schedule.batches[2] = {
      {{}, {schedule.batches[2][0].receives[0], schedule.batches[2][1].receives[0]}, {}, true}};
  schedule.ways[{1, 2}].send_thread = 2;
  LoneExchange<PlainStamp> machine(schedule, 3, 3);
  machine.add_link({kRate, {latency}});
  machine.add_link({kRate, {latency}});
  kind.receipt.post = {50'000};
  CHECK(run_ps(machine, kind) == post + latency + kChunkPs + 2 * 50'000);

  // An idle thread begins before the bytes are there.
  kind.receipt.post = {receipt};
  kind.receipt.ahead = {200};
  CHECK(six(1) == 6 * (post + latency + kChunkPs) + 5 * latency + receipt - 200);
  CHECK(six(8) == post + latency + 6 * kChunkPs + receipt - 200);
}

TEST_CASE("relayed: flags are paid on both sides, and hide behind data that go the same way") {
  HandMade schedule(2);
  ExchangeWay way = relayed({1});
  way.near = {0};
  way.sender_flag = {900};
  way.receiver_flag = {100};
  schedule.add(0, 1, kChunk, 8, way);
  LoneExchange<PlainStamp> machine(schedule, 2, 2);
  machine.add_link({kRate, {400}});
  machine.add_link({kRate, {2'000}});
  CHECK(run_ps(machine) == kChunkPs + 900 + kChunkPs + 2'000);
}

TEST_CASE("an empty message synchronises, and occupies no link") {
  HandMade schedule(2);
  schedule.add(0, 1, 0, 8, relayed({0}));
  LoneExchange<PlainStamp> machine(schedule, 2, 2);
  machine.add_link({kRate, {2'000}});
  CHECK(run_ps(machine) == 2 * 2'000);
  CHECK(machine.carried(0).count == 0);
  CHECK(machine.messages() == 1);
}

TEST_CASE("a thread serves one post after another") {
  constexpr std::int64_t post = 50'000;
  HandMade schedule(3);
  schedule.add(0, 2, kChunk, 8, relayed({0}));
  schedule.add(1, 2, kChunk, 8, relayed({1}));
  // Both receives in one batch: their slots are posted one after the other.
  schedule.batches[2] = {
      {{}, {schedule.batches[2][0].receives[0], schedule.batches[2][1].receives[0]}, {}, true}};
  schedule.ways[{1, 2}].send_thread = 2;
  LoneExchange<PlainStamp> machine(schedule, 3, 3);
  machine.add_link({kRate, {0}});
  machine.add_link({kRate, {0}});
  MessageKind kind;
  kind.cost.post = {post};
  kind.receipt.post = {post};
  CHECK(run_ps(machine, kind) == 2 * post + post + kChunkPs);
}

TEST_CASE("a thread looks at all that is under way, and half a loop passes until it comes round") {
  constexpr std::int64_t poll = 1'000, latency = 2'000, post = 600;
  constexpr std::int64_t there_and_back = 2 * latency + kChunkPs;
  HandMade schedule(3);
  schedule.add(0, 2, kChunk, 8, relayed({0}));
  schedule.add(1, 2, kChunk, 8, relayed({1}));
  schedule.ways[{1, 2}].send_thread = 2;
  MessageKind kind;
  kind.poll = {poll};
  const auto run = [&] {
    LoneExchange<PlainStamp> machine(schedule, 3, 3);
    machine.add_link({kRate, {latency}});
    machine.add_link({kRate, {latency}});
    return run_ps(machine, kind);
  };
  // The receiver's thread offers the slot and sees the chunk, the sender's posts it.
  const std::int64_t alone = 3 * poll / 2 + there_and_back;
  SUBCASE("one after the other: one message at a time") { CHECK(run() == 2 * alone); }
  schedule.batches[2] = {
      {{}, {schedule.batches[2][0].receives[0], schedule.batches[2][1].receives[0]}, {}, true}};
  SUBCASE("two at a time: the receiver's loop is twice as long") {
    CHECK(run() == poll + poll / 2 + there_and_back + poll);
  }
  SUBCASE("posted together: one look, one post") {
    for (ExchangeLane& lane : schedule.batches[2][0].receives) lane.joint = 2;
    CHECK(run() == alone);
    kind.cost.post = {post};
    kind.receipt.post = {post};
    CHECK(run() == alone + post + post);  // both slots, and the later message's sender
  }
}

TEST_CASE(
    "flush: the receiver's thread posts a read for each message, or for those that go together") {
  constexpr std::int64_t latency = 2'000, post = 600, flush = 400, there = 700;
  HandMade schedule(3);
  schedule.add(0, 2, kChunk, 8, relayed({0}));
  schedule.add(1, 2, kChunk, 8, relayed({1}));
  schedule.ways[{1, 2}].send_thread = 2;
  for (auto& [ends, way] : schedule.ways) way.flush = {there};
  schedule.batches[2] = {
      {{}, {schedule.batches[2][0].receives[0], schedule.batches[2][1].receives[0]}, {}, true}};
  MessageKind kind;
  kind.receipt.post = {post};
  kind.cost.receipt = {flush};
  const auto run = [&] {
    LoneExchange<PlainStamp> machine(schedule, 3, 3);
    machine.add_link({kRate, {latency}});
    machine.add_link({kRate, {latency}});
    return run_ps(machine, kind);
  };
  CHECK(run() == 2 * (post + flush) + 2 * latency + kChunkPs + there);
  for (ExchangeLane& lane : schedule.batches[2][0].receives) lane.joint = 2;
  CHECK(run() == post + flush + 2 * latency + kChunkPs + there);
}

TEST_CASE("batches run one after another, lanes side by side") {
  HandMade schedule(3);
  schedule.add(0, 1, kChunk, 8, direct({0}));
  schedule.add(0, 2, kChunk, 8, direct({1}));
  SUBCASE("two batches: the second begins when the lane of the first is free") {
    schedule.batches[0][0].sends[0].rate = kRate;
    schedule.batches[0][1].sends[0].rate = kRate;
    LoneExchange<PlainStamp> machine(schedule, 3, 0);
    machine.add_link({kRate, {0}});
    machine.add_link({kRate, {0}});
    CHECK(run_ps(machine) == 2 * kChunkPs);
  }
  SUBCASE("one batch") {
    schedule.batches[0][0].sends.push_back(schedule.batches[0][1].sends[0]);
    schedule.batches[0].pop_back();
    LoneExchange<PlainStamp> machine(schedule, 3, 0);
    machine.add_link({kRate, {0}});
    machine.add_link({kRate, {0}});
    CHECK(run_ps(machine) == kChunkPs);
  }
}

TEST_CASE("the send buffers of a batch are free when all of it has been acknowledged") {
  constexpr std::int64_t latency = 40'000;
  for (const bool pooled : {true, false}) {
    HandMade schedule(3);
    schedule.add(0, 1, kChunk, 8, relayed({0}));
    schedule.add(0, 2, kChunk, 8, relayed({1}));
    for (ExchangeBatch& batch : schedule.batches[0]) batch.pooled = pooled;
    LoneExchange<PlainStamp> machine(schedule, 3, 2);
    machine.add_link({kRate, {latency}});
    machine.add_link({kRate, {latency}});
    const std::int64_t alone = 2 * latency + kChunkPs;
    // Acknowledged one latency after the arrival; its own clear-to-send has long been there.
    CHECK(run_ps(machine) == (pooled ? alone + latency + kChunkPs + latency : alone));
  }
}

TEST_CASE("ways of different latency join in order of arrival") {
  // Block 0 is far from the shared link 2, block 1 is near: its later chunk comes first.
  HandMade schedule(4);
  schedule.add(0, 2, kChunk, 8, direct({0, 2}));
  schedule.add(1, 3, kChunk, 8, direct({1, 2}));
  schedule.batches[1].insert(schedule.batches[1].begin(),
                             {{}, {}, {{{kChunk}, kRate}}, true});  // starts 10 ns later
  LoneExchange<PlainStamp> machine(schedule, 4, 0);
  machine.add_link({kRate, {50'000}});
  machine.add_link({kRate, {0}});
  machine.add_link({kRate, {0}});
  CHECK(run_ps(machine) == 50'000 + kChunkPs);
  CHECK(machine.finished(3).ps == 2 * kChunkPs);
}

TEST_CASE("who waited before a link where senders meet does not hold its place there") {
  // Block 0 sends a chunk to block 3 over link 0 and one to block 2 over links 0 and 2, where block
  // 1's second comes over link 1; its first has a link of its own. All leave at once, block 0's
  // second before block 1's, and waits for block 0's first.
  for (const bool gathers : {false, true}) {
    HandMade schedule(5);
    const auto with = [&](std::uint32_t peer) {
      return ExchangeLane{peer, {kChunk}, {kChunk}, 0, 8, {}, {}};
    };
    schedule.batches[0] = {{{with(3), with(2)}, {}, {}, true}};
    schedule.batches[1] = {{{with(4), with(2)}, {}, {}, true}};
    schedule.batches[2] = {{{}, {with(0), with(1)}, {}, true}};
    schedule.batches[3] = {{{}, {with(0)}, {}, true}};
    schedule.batches[4] = {{{}, {with(1)}, {}, true}};
    schedule.ways[{0, 3}] = direct({0});
    schedule.ways[{0, 2}] = direct({0, 2});
    schedule.ways[{1, 4}] = direct({3});
    schedule.ways[{1, 2}] = direct({1, 2});
    LoneExchange<PlainStamp> machine(schedule, 5, 0);
    for (int link = 0; link < 4; ++link)
      machine.add_link({kRate, {link == 2 ? 300 : 500}, 1, gathers && link == 2});
    // Booked ahead, link 2 is idle until block 0's chunk comes, and block 1's follows it.
    const std::int64_t last = gathers ? 2 * kChunkPs : 3 * kChunkPs;
    CHECK(run_ps(machine) == last + 500 + 300);
  }
}

TEST_CASE("links behind a joint") {
  // As above, with links behind the joint, each reached from the one before alone: all are joints,
  // as far and near senders reach them at different times, and each is an event.
  const auto run = [](std::vector<std::uint32_t> behind) {
    HandMade schedule(4);
    std::vector<std::uint32_t> far{0}, near{1};
    far.insert(far.end(), behind.begin(), behind.end());
    near.insert(near.end(), behind.begin(), behind.end());
    schedule.add(0, 2, kChunk, 8, direct(far));
    schedule.add(1, 3, kChunk, 8, direct(near));
    schedule.batches[1].insert(schedule.batches[1].begin(), {{}, {}, {{{kChunk}, kRate}}, true});
    LoneExchange<PlainStamp> machine(schedule, 4, 0);
    machine.add_link({kRate, {50'000}});
    for (int link = 1; link <= 4; ++link) machine.add_link({kRate, {link > 1 ? 2'000 : 0}});
    const std::int64_t end = run_ps(machine);
    for (const std::uint32_t link : behind) CHECK(machine.carried(link).count == 2 * kChunk);
    return std::tuple(end, machine.finished(3).ps, machine.events());
  };
  const auto [one, one_near, one_events] = run({2});
  const auto [two, two_near, two_events] = run({2, 3});
  const auto [three, three_near, three_events] = run({2, 3, 4});
  CHECK(one == 50'000 + kChunkPs + 2'000);
  CHECK(three == one + 2 * 2'000);
  CHECK(three_near == one_near + 2 * 2'000);
  CHECK(two == one + 2'000);
  CHECK(two_near == one_near + 2'000);
  CHECK(two_events == one_events + 2);
  CHECK(three_events == two_events + 2);
}

TEST_CASE("a link that is reached from elsewhere, too, is booked when the first byte comes") {
  // Block 0 comes to link 3 over the joint 2, block 1 directly and earlier, though it begins later.
  HandMade schedule(6);
  schedule.add(0, 3, kChunk, 8, direct({0, 2, 3}));
  schedule.add(1, 4, kChunk, 8, direct({1, 2, 3}));
  schedule.add(2, 5, kChunk, 8, direct({3}));
  schedule.batches[2].insert(schedule.batches[2].begin(),
                             {{}, {}, {{{4 * kChunk}, kRate}}, true});  // starts 40 ns later
  LoneExchange<PlainStamp> machine(schedule, 6, 0);
  machine.add_link({kRate, {50'000}});
  machine.add_link({kRate, {0}});
  machine.add_link({kRate, {0}});
  machine.add_link({kRate, {0}});
  run_ps(machine);
  CHECK(machine.finished(4).ps == kChunkPs);
  CHECK(machine.finished(5).ps == 5 * kChunkPs);
  CHECK(machine.finished(3).ps == 50'000 + kChunkPs);
}

TEST_CASE("both kinds of stamps agree, and the parts sum up") {
  HandMade schedule(2);
  schedule.add(0, 1, 20 * kChunk, 2, relayed({0}));
  schedule.batches[0][0].sends[0].rate = kRate;
  LoneExchange<PlainStamp> plain(schedule, 2, 2);
  LoneExchange<CausalStamp> causal(schedule, 2, 2);
  MessageKind kind;
  kind.overhead = {1'234};
  kind.cost.post = {567};
  kind.receipt.post = {567};
  plain.add_link({kRate, {8'901}});
  causal.add_link({kRate, {8'901}});
  plain.add_kind(kind);
  causal.add_kind(kind);
  plain.run();
  causal.run();
  CHECK(plain.makespan().ps == causal.makespan().ps);
  CHECK(plain.digest() == causal.digest());
  std::int64_t sum = 0;
  for (const std::int64_t part : causal.makespan().parts) sum += part;
  CHECK(sum == causal.makespan().ps);
}

TEST_CASE("a link that is down: chunks are sent again, in order") {
  HandMade schedule(4);
  schedule.add(0, 1, 3 * kChunk, 8, direct({0}));
  schedule.add(2, 3, kChunk, 8, direct({0}));
  schedule.batches[2].insert(schedule.batches[2].begin(),
                             {{}, {}, {{{1'500}, kRate}}, true});  // sends at 15 ns
  LoneExchange<CausalStamp> machine(schedule, 4, 0);
  machine.add_link({kRate, {500}});
  machine.add_kind({});
  SUBCASE("until they pass") {
    // Down until 15 ns: the first chunk is lost at 0 and 8, and passes 16..26; the two behind it
    // follow. Another's message at 15 finds a free link.
    machine.set_outage(0, kRate, {{}, {15'000}, {}});
    machine.set_retry({{8'000}, 7});
    machine.run();
    CHECK(machine.finished(1).ps == 16'000 + 3 * kChunkPs + 500);
    CHECK(machine.finished(3).ps == 15'000 + kChunkPs + 500);
    CHECK(machine.losses().lost == 2);
    CHECK(machine.losses().retries_most == 2);
    CHECK_FALSE(machine.losses().gave_up);
    CHECK(machine.carried(0).count == 4 * kChunk);
    CHECK(machine.finished(1).of(Cause::link) == Duration{16'000 + 3 * kChunkPs});
  }
  SUBCASE("or are given up") {
    machine.set_outage(0, kRate, {});
    machine.set_retry({{8'000}, 1});
    machine.run();
    CHECK(machine.losses().gave_up);
    CHECK(machine.losses().lost == 4);
    CHECK(machine.losses().sent.ps == 0);
    CHECK(machine.losses().given_up.ps == 16'000);
    CHECK(machine.losses().handled == 8);
    CHECK(machine.losses().done == 4);  // the senders'
  }
}

TEST_CASE("behind a link that is down, others do not wait for what is lost") {
  // Lost at 0, passes at 20 ns; the other message crosses the second link at 5..15.
  HandMade schedule(4);
  schedule.add(0, 1, kChunk, 8, direct({0, 1}));
  schedule.add(2, 3, kChunk, 8, direct({1}));
  schedule.batches[2].insert(schedule.batches[2].begin(), {{}, {}, {{{500}, kRate}}, true});
  LoneExchange<CausalStamp> machine(schedule, 4, 0);
  machine.add_link({kRate, {0}});
  machine.add_link({kRate, {0}});
  machine.add_kind({});
  machine.set_outage(0, kRate, {{}, {3'000}, {}});
  machine.set_retry({{20'000}, 7});
  machine.run();
  CHECK(machine.finished(3).ps == 5'000 + kChunkPs);
  CHECK(machine.finished(1).ps == 20'000 + kChunkPs);
}

TEST_CASE("a message with one end is named") {
  HandMade schedule(2);
  schedule.add(0, 1, kChunk, 8, direct({0}));
  schedule.batches[1].clear();
  LoneExchange<PlainStamp> machine(schedule, 2, 0);
  machine.add_link({kRate, {0}});
  machine.add_kind({});
  CHECK_THROWS_WITH_AS(machine.run(),
                       "the schedule came to a halt: the message of block 0 to block 1 does not "
                       "come to an end",
                       std::logic_error);
}
