// Goal: what is broken slows a collective as much as it must, and messages on a link that is down
// are sent again when InfiniBand does so.
// Method: outages and a chain of two workers by hand; time-outs against 4.096 us x 2^t; then whole
// collectives, whose delay is a whole number of time-outs, and whose pace is the bad part's.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/studies/bench/bench.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "sim/machines/executor.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

constexpr Instant us(std::int64_t t) { return Instant{} + microseconds(t); }

/// One chunk of 1 MB from position 0 to position 1, `count` times.
struct Chunks final : Program {
  std::uint32_t count = 1;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.minor == count) return false;
    ++cursor.minor;
    const std::uint32_t in = role.position == 1 ? 1 : 0;
    primitive = {in, 1 - in, 1, {1'000'000}, {1'000'000}};
    return true;
  }
};

/// Overhead 2 us, copy 1 MB / 200 GB/s = 5 us, link 1 MB / 100 GB/s = 10 us, latency 1 us, sync 0.5
/// us. In good health: sent at 2, there at 13, seen at 13.5, received at 13.5 + 2 + 5 = 20.5 us.
struct Pair {
  Executor<CausalStamp> executor;
  Chunks program;

  void run(const Outage& outage, const Retry& retry) {
    constexpr Bandwidth rate{100'000'000'000};
    const std::uint32_t link = executor.add_link({rate, microseconds(1)});
    const std::uint32_t kind = executor.add_worker_class({{200'000'000'000}, {}});
    executor.add_worker(kind, program, {0, 0});
    executor.add_worker(kind, program, {0, 1});
    executor.connect({0, 1, 4, {&link, 1}, microseconds(2), nanoseconds(500), {}, {}});
    executor.set_outage(link, rate, outage);
    executor.set_retry(retry);
    executor.run();
  }
};

BenchConfig config_of(int nodes, Bytes size, const std::vector<std::string>& faults) {
  BenchConfig config;
  config.topology = "dgx-h100";
  config.nodes = {nodes};
  config.sizes = {size};
  config.version = kNccl2_27_7;
  config.environment.set("NCCL_ALGO=Ring");
  for (const std::string& fault : faults) config.faults.push_back(parse_fault(fault));
  return config;
}

BenchResult run(const BenchConfig& config) { return run_bench(config, load_catalogue()); }

BenchRow row_of(const BenchConfig& config) { return run(config).blocks.front().rows.front(); }

double slowdown(const BenchRow& row) {
  return static_cast<double>(row.result.time.ps) / static_cast<double>(row.healthy->ps);
}

}  // namespace

TEST_CASE("when an outage hits") {
  const Outage once{us(10), microseconds(5), {}};  // 10..15
  CHECK(!once.hits(us(0), microseconds(10)));      // ends as it begins
  CHECK(once.hits(us(0), microseconds(11)));
  CHECK(once.hits(us(14), microseconds(1)));
  CHECK(once.hits(us(10), {}));  // an empty message, too
  CHECK(!once.hits(us(15), microseconds(100)));
  const Outage flap{us(10), microseconds(5), microseconds(20)};  // 10..15, 30..35, 50..55, ...
  CHECK(!flap.hits(us(15), microseconds(15)));
  CHECK(flap.hits(us(15), microseconds(16)));
  CHECK(flap.hits(us(1'000'031), {}));  // 50,001 periods after 10
  CHECK(flap.hits(us(1'000'010), {}));  // 50,000 periods after 10
  CHECK(!flap.hits(us(1'000'015), microseconds(1)));
}

TEST_CASE("a lost message is sent again after each time-out") {
  Pair pair;
  SUBCASE("up in time") {
    // Down 12..20: 2..12 passes untouched.
    pair.run({us(12), microseconds(8), {}}, {microseconds(4), 7});
    CHECK(pair.executor.losses().lost == 0);
    CHECK(pair.executor.makespan().ps == 20'500'000);
  }
  SUBCASE("two tries in vain") {
    // Down 0..10: lost at 2 and at 6; sent again at 10, 8 us late.
    pair.run({us(0), microseconds(10), {}}, {microseconds(4), 7});
    CHECK(pair.executor.losses().lost == 2);
    CHECK(pair.executor.losses().retries_most == 2);
    CHECK(pair.executor.makespan().ps == 28'500'000);
    CHECK(pair.executor.makespan().of(Cause::link) == microseconds(18));
  }
  SUBCASE("what follows comes after it") {
    // Copied 0..7, 7..14: the second enters the link at 9 and is lost, too (down until 10); at 13
    // it does not wait for the first (10..20), which is in front of it all the same.
    pair.program.count = 2;
    pair.run({us(0), microseconds(10), {}}, {microseconds(4), 7});
    CHECK(pair.executor.losses().lost == 3);
    // Received 21.5..28.5; the second is there at 13 + 10 + 1.5 = 24.5; 28.5..35.5.
    CHECK(pair.executor.makespan().ps == 35'500'000);
  }
  SUBCASE("given up") {
    pair.run({us(0), Duration{kNever.ps}, {}}, {microseconds(4), 1});
    const Losses& losses = pair.executor.losses();
    CHECK(losses.gave_up);
    CHECK(losses.lost == 2);
    CHECK(losses.sent == us(2));
    CHECK(losses.given_up == us(10));
    CHECK(losses.handled == 2);
    CHECK(losses.done == 1);  // the sender's
  }
  SUBCASE("no time-out") {
    pair.run({us(0), microseconds(10), {}}, {{}, 7});
    CHECK(pair.executor.losses().gave_up);
    CHECK(pair.executor.losses().given_up == kNever);
  }
}

TEST_CASE("InfiniBand's time-out: 4.096 us x 2^t, 8 tries") {
  const auto retry = [](const char* variable, NcclVersion version) {
    Environment environment;
    if (*variable != '\0') environment.set(variable);
    std::vector<std::string> warnings;
    return ib_retry(environment, version, warnings);
  };
  CHECK(retry("", kNccl2_21_5).timeout == Duration{1'073'741'824'000});
  CHECK(retry("", kNccl2_27_7).timeout == Duration{4'294'967'296'000});
  CHECK(retry("", kNccl2_27_7).patience() == Duration{34'359'738'368'000});
  CHECK(retry("NCCL_IB_TIMEOUT=14", kNccl2_27_7).timeout == Duration{67'108'864'000});
  CHECK(retry("NCCL_IB_TIMEOUT=22", kNccl2_27_7).patience() == Duration{137'438'953'472'000});
  CHECK(retry("NCCL_IB_TIMEOUT=0", kNccl2_27_7).timeout == Duration{});
  CHECK(retry("NCCL_IB_RETRY_CNT=3", kNccl2_27_7).count == 3);
  CHECK(retry("NCCL_IB_RETRY_CNT=9", kNccl2_27_7).count == 7);
}

TEST_CASE("a ring moves at the pace of its slowest part") {
  // 1 GiB on 4 nodes is bound by NICs: one at a share f holds up all by 1 / f.
  for (const auto& [share, times] : {std::pair{"50%", 2.0}, {"80%", 1.25}, {"25%", 4.0}}) {
    const BenchRow row =
        row_of(config_of(4, {1 << 30}, {std::string("nic node1:mlx5_0 rate ") + share}));
    CHECK(slowdown(row) == doctest::Approx(times).epsilon(0.04));
  }
  // The same by the names of its links; only one direction of it matters as much.
  const BenchRow nic = row_of(config_of(4, {1 << 30}, {"nic node1:mlx5_0 rate 50%"}));
  const BenchRow links = row_of(config_of(
      4, {1 << 30},
      {"link node1: mlx5_0 -> leaf0.0 rate 50%", "link leaf0.0 -> node1: mlx5_0 rate 50%"}));
  CHECK(links.result.time == nic.result.time);
  const BenchRow all = row_of(config_of(4, {1 << 30}, {"link node*: mlx5_* rate 50%"}));
  CHECK(slowdown(all) > 1.9);
}

TEST_CASE("all of it left is no fault") {
  const BenchRow row =
      row_of(config_of(2, {1 << 24}, {"nic node0:mlx5_0 rate 100%", "gpu node1:gpu2 speed 100%"}));
  CHECK(row.result.time == *row.healthy);
  BenchConfig config = config_of(2, {1 << 24}, {});
  CHECK(row_of(config).result.digest == row.result.digest);
}

TEST_CASE("faults of one part add up, but a link has one outage") {
  const auto time = [](const std::vector<std::string>& faults) {
    return row_of(config_of(2, {1 << 24}, faults)).result.time;
  };
  CHECK(time({"nic node0:mlx5_0 rate 50%", "nic node0:mlx5_0 rate 50%"}) ==
        time({"nic node0:mlx5_0 rate 25%"}));
  CHECK(time({"gpu node0:gpu0 speed 50%", "gpu node0:gpu0 speed 50%"}) ==
        time({"gpu node0:gpu0 speed 25%"}));
  CHECK(error_text([&] {
          time({"nic node0:mlx5_0 down 1s", "nic node0:mlx5_0 down 1s at 5s"});
        }) ==
        "\"nic node0:mlx5_0 down 1s at 5s\": node0: mlx5_0 -> leaf0.0 (400 Gb/s) is down at "
        "other times already\nhint: one outage for each link");
}

TEST_CASE("a slow GPU holds up all, at most as much as it is slow itself") {
  for (const char* variable : {"NCCL_PROTO=LL", "NCCL_PROTO=LL128", "NCCL_PROTO=Simple"}) {
    BenchConfig config = config_of(1, {1 << 26}, {"gpu node0:gpu3 speed 50%"});
    config.environment.set(variable);
    const double times = slowdown(row_of(config));
    CHECK(times > 1.01);  // Simple hides most of it behind NVLink
    CHECK(times <= 2);
  }
  BenchConfig nvls = config_of(1, {1 << 26}, {"gpu node0:gpu3 speed 50%"});
  nvls.environment.set("NCCL_ALGO=NVLS");
  CHECK(slowdown(row_of(nvls)) > 1.05);
}

TEST_CASE("a link that comes back delays the run by whole time-outs") {
  // Time-outs of 4.295 s: down for D, the delay is D rounded up to one of them.
  const double timeout = 4.294967296;
  for (const auto& [down, retries] : {std::pair{"2s", 1}, {"10s", 3}, {"30s", 7}}) {
    const BenchRow row =
        row_of(config_of(2, {1 << 26}, {std::string("nic node0:mlx5_0 down ") + down}));
    CHECK(row.completes());
    CHECK(row.result.losses.retries_most == retries);
    const double late = static_cast<double>(row.result.time.ps) / 1e12 - timeout * retries;
    CHECK(late > 0);
    // The stalled pipeline fills again: a little more than what was left to do.
    CHECK(late <= static_cast<double>(row.healthy->ps) / 1e12 * 1.1);
  }
  // Longer than 8 time-outs, 34.36 s.
  BenchConfig config = config_of(2, {1 << 26}, {"nic node0:mlx5_0 down 40s"});
  const BenchResult lost = run(config);
  const BenchRow& row = lost.blocks.front().rows.front();
  CHECK(!row.completes());
  CHECK(row.busbw() == 0);
  CHECK_FALSE(lost.completes());
  CHECK(row.result.losses.done > 0);
  CHECK(row.result.losses.done < row.result.losses.handled);
  CHECK(std::ranges::any_of(lost.notes, [](const std::string& note) {
    return note.find("error 12") != std::string::npos &&
           note.find("after 34.36 s") != std::string::npos;
  }));
  // Four times the time-out outlives it: 40 s are 3 x 17.18 s.
  config.environment.set("NCCL_IB_TIMEOUT=22");
  CHECK(row_of(config).result.losses.retries_most == 3);
}

TEST_CASE("a link that flaps, and one that is down for a moment only") {
  // Up for 9 ms of every 10: a run of a few hundred us sees nothing of it, unless it is told to.
  const BenchRow lucky = row_of(config_of(2, {1 << 24}, {"nic node0:mlx5_0 flap 10ms 90%"}));
  CHECK(lucky.result.losses.lost == 0);
  CHECK(slowdown(lucky) == doctest::Approx(1).epsilon(0.01));
  const BenchRow hit = row_of(config_of(2, {1 << 24}, {"nic node0:mlx5_0 flap 10ms 90% at 50us"}));
  CHECK(hit.result.losses.lost > 0);
  CHECK(hit.result.time.ps > 4'294'967'296'000);
}

TEST_CASE("a timeline shows the wait for what is sent again") {
  BenchConfig config = config_of(2, {1 << 22}, {"nic node0:mlx5_0 down 2s"});
  config.trace = TimelineFilter{};
  const BenchRow row = row_of(config);
  Instant end, longest;
  for (const TimelineSpan& span : row.timeline->spans) {
    end = std::max(end, span.end);
    if (span.kind == TimelineSpan::Kind::link)
      longest = std::max(longest, Instant{} + (span.end - span.start));
  }
  CHECK(end - Instant{} == row.result.time - row.result.launch);
  CHECK(longest - Instant{} > microseconds(4'290'000));
}

TEST_CASE("sends and receives: what is lost comes one time-out later") {
  BenchConfig config = config_of(2, {4096}, {"nic node0:mlx5_0 down 2s"});
  config.gpus_per_node = 1;
  config.explain = true;
  config.collectives = {Collective::sendrecv};
  // One chunk each way, both lost once, both sent again after 4.096 us x 2^20.
  const BenchRow once = row_of(config);
  CHECK(once.result.time - *once.healthy == Duration{4'294'967'296'000});
  CHECK(once.result.losses.lost == 2);
  CHECK(once.result.losses.retries_most == 1);
  Duration sum;
  for (const Duration part : once.result.causes) sum += part;
  CHECK(sum + once.result.launch == once.result.time);
  // Of 134 ms each, 15 would be needed; there are 7.
  config.environment.set("NCCL_IB_TIMEOUT=15");
  const BenchResult lost = run(config);
  const BenchRow& row = lost.blocks.front().rows.front();
  CHECK_FALSE(row.completes());
  CHECK(row.result.losses.given_up - row.result.losses.sent ==
        Duration{8 * 4'096'000 * std::int64_t{32'768}});
  CHECK(std::ranges::any_of(lost.notes, [](const std::string& note) {
    return note.find("error 12") != std::string::npos &&
           note.find("after 1.07 s") != std::string::npos;
  }));
  // Of 268 ms each, 8 would be; of 537 ms, 4 are enough.
  config.environment.set("NCCL_IB_TIMEOUT=17");
  CHECK(row_of(config).result.losses.retries_most == 4);
}

TEST_CASE("sends and receives: a flapping link delays by whole time-outs, or not at all") {
  const auto row = [](const char* fault, Collective collective) {
    BenchConfig config = config_of(2, {1 << 22}, {fault});
    config.collectives = {collective};
    return row_of(config);
  };
  for (const Collective collective :
       {Collective::alltoall, Collective::gather, Collective::scatter, Collective::sendrecv}) {
    CAPTURE(to_text(collective));
    const BenchRow lucky = row("nic node0:mlx5_0 flap 10ms 90%", collective);
    CHECK(lucky.result.losses.lost == 0);
    CHECK(slowdown(lucky) == doctest::Approx(1).epsilon(0.01));
    const BenchRow down = row("link node*: mlx5_0 -> leaf* down 10ms", collective);
    CHECK(down.result.losses.retries_most == 1);
    CHECK(down.result.time.ps > 4'294'967'296'000);
    CHECK(down.result.time.ps < 4'294'967'296'000 + 3 * down.healthy->ps);
  }
}

TEST_CASE("a slow GPU holds up sends and receives: what it copies, and what it does per chunk") {
  const auto slow = [](Collective collective, std::int64_t bytes,
                       const std::vector<std::string>& faults) {
    BenchConfig config = config_of(1, {bytes}, faults);
    config.collectives = {collective};
    return slowdown(row_of(config));
  };
  std::vector<std::string> all;
  for (int gpu = 0; gpu < 8; ++gpu) all.push_back(fmt::format("gpu node0:gpu{} speed 50%", gpu));
  // To one peer the blocks' copies are what takes time: half the speed, twice the time. To seven at
  // once NVLink is the limit of healthy GPUs, 369 GB/s; half of what 28 blocks copy, 22 GB/s each,
  // is 310.
  CHECK(slow(Collective::sendrecv, 64 << 20, {all[3]}) == doctest::Approx(2).epsilon(0.05));
  const double one = slow(Collective::alltoall, 256 << 20, {all[3]});
  CHECK(one > 1.15);
  CHECK(slow(Collective::alltoall, 256 << 20, all) >= one);
  CHECK(slow(Collective::alltoall, 256 << 20, all) < 2);
  // A launch takes as long as before, and of the smallest only the fixed cost of its ends is added:
  // half of LL's 0.48 us, of 7.4.
  CHECK(slow(Collective::alltoall, 64 << 10, {all[3]}) > 1.005);
  CHECK(slow(Collective::alltoall, 64 << 10, {all[3]}) < 1.5);
  CHECK(slow(Collective::alltoall, 128, {all[3]}) ==
        doctest::Approx(1 + 0.24 / 7.4).epsilon(0.005));
}

TEST_CASE("a node without GPUDirect RDMA") {
  const auto row = [](int nodes, std::vector<std::string> faults, const char* level = nullptr) {
    BenchConfig config = config_of(nodes, {16 << 20}, faults);
    if (level != nullptr) config.environment.set("NCCL_NET_GDR_LEVEL", level);
    return row_of(config);
  };
  const BenchRow one = row(2, {"node node1 gdr off"});
  const BenchRow both = row(2, {"node node0 gdr off", "node node1 gdr off"});
  const BenchRow plain = row(2, {}), none = row(2, {}, "LOC");
  // Without it anywhere it is what the variable says of all. NCCL decides for all as for the node
  // that lacks it; the other one's GPUs still send and receive past host memory.
  CHECK(both.result.time == none.result.time);
  CHECK(one.decided.run.channels == none.decided.run.channels);
  CHECK(one.decided.run.protocol == none.decided.run.protocol);
  CHECK(one.result.time < none.result.time);
  CHECK(one.result.time > plain.result.time);
  // Without the fault NCCL would have decided otherwise.
  CHECK(*one.healthy == plain.group_time());
  // Such a node is like no other: nothing is folded.
  BenchConfig whole = config_of(4, {16 << 20}, {"node node2 gdr off"});
  const BenchRow folded = row_of(whole);
  whole.fold = false;
  CHECK(folded.result.time == row_of(whole).result.time);
  CHECK(folded.result.time == row(4, {"node node1 gdr off"}).result.time);
  const auto refused = [&](const char* fault, Collective collective) {
    BenchConfig config = config_of(2, {16 << 20}, {fault});
    config.collectives = {collective};
    return error_text([&] { run(config); });
  };
  CHECK(refused("node node1 gdr off", Collective::alltoall) ==
        "sends and receives are not simulated where some nodes have no GPUDirect RDMA\n"
        "hint: NCCL_NET_GDR_LEVEL=LOC takes it from all of them");
  CHECK(refused("node node2 gdr off", Collective::all_reduce) ==
        "\"node node2 gdr off\": there is no node2: there are 2 (node0..node1)");
  CHECK(refused("node mlx5_0 gdr off", Collective::all_reduce)
            .starts_with("\"node mlx5_0 gdr off\": \"mlx5_0\" is no node\n"));
}

TEST_CASE("faults that are none") {
  const auto parse = [](const char* text) { return error_text([&] { parse_fault(text); }); };
  const std::string grammar =
      "\nhint: write: link NAME rate 50%, nic node3:mlx5_0 down 2s, link NAME flap 10s 90%, "
      "gpu node0:gpu3 speed 80%, node node1 gdr off";
  CHECK(parse("nic") == "\"nic\" is no fault" + grammar);
  CHECK(parse("nick node0:mlx5_0 down") == "\"nick\" is no part\nhint: did you mean \"nic\"?");
  CHECK(parse("nic node0:mlx5_0 broken") ==
        "\"nic node0:mlx5_0 broken\": what is wrong with it?" + grammar);
  CHECK(parse("nic node0:mlx5_0 rate") ==
        "\"nic node0:mlx5_0 rate\": a share like 50% is missing" + grammar);
  CHECK(parse("nic node0:mlx5_0 rate 0%") ==
        "\"0%\" is no share from 0.001 % to 100 %\nhint: write it like 5%");
  CHECK(parse("nic node0:mlx5_0 rate 0.0009%") ==
        "\"0.0009%\" is no share from 0.001 % to 100 %\nhint: write it like 5%");
  CHECK(parse("nic node0:mlx5_0 rate 150%") ==
        "\"150%\" is no share from 0.001 % to 100 %\nhint: write it like 5%");
  CHECK(parse("nic node0:mlx5_0 rate 50") ==
        "\"50\" is no share from 0.001 % to 100 %\nhint: write it like 50%");
  CHECK(parse("nic node0:mlx5_0 flap 10s 100%") ==
        "\"nic node0:mlx5_0 flap 10s 100%\": it is never down");
  CHECK(parse("node node0 gdr on").starts_with("\"node node0 gdr on\": gdr is off, not \"on\"\n"));
  CHECK(parse("gpu node0:gpu1 gdr off")
            .starts_with("\"gpu node0:gpu1 gdr off\": a GPU has a speed; links and NICs have a "
                         "rate, are down or flap; of a node gdr is off\n"));
  CHECK(parse("nic node0:mlx5_0 down 2s sharp") ==
        "\"nic node0:mlx5_0 down 2s sharp\": unexpected \"sharp\"" + grammar);
  CHECK(parse("gpu node0:gpu3 down")
            .starts_with("\"gpu node0:gpu3 down\": a GPU has a speed; links and NICs have a rate"));
  const auto error = [](const char* fault, int nodes = 2) {
    return error_text([&] { run(config_of(nodes, {1 << 20}, {fault})); });
  };
  CHECK(error("nic node2:mlx5_0 down") ==
        "\"nic node2:mlx5_0 down\": there is no node2: there are 2 (node0..node1)");
  CHECK(
      error("nic node1:mlx5_99 down")
          .starts_with(
              "\"nic node1:mlx5_99 down\": \"mlx5_99\" is no NIC\nhint: did you mean \"mlx5_9\"?"));
  CHECK(error("nic mlx5_0 down") ==
        "\"nic mlx5_0 down\": \"mlx5_0\" names no device of a node\n"
        "hint: write it like node0:mlx5_0 or node0:gpu3");
  CHECK(error("gpu node1:gpu8 speed 50%")
            .starts_with("\"gpu node1:gpu8 speed 50%\": \"gpu8\" is no GPU that takes part"));
  CHECK(error("link node1: mlx5_0 -> leaf0.7 rate 50%") ==
        "no link is named \"node1: mlx5_0 -> leaf0.7\"\n"
        "hint: did you mean \"node1: mlx5_0 -> leaf0.0\"?");
  CHECK(error("link node0: gpu0 -> nvswitch down").find("is inside a node") != std::string::npos);
  BenchConfig exchange = config_of(2, {1 << 24}, {"nic node0:mlx5_0 rate 50%"});
  exchange.collectives = {Collective::alltoall};
  CHECK(slowdown(row_of(exchange)) > 1.2);
  CHECK(error("nic node0:mlx5_0 down", 1) ==
        "\"nic node0:mlx5_0 down\": one node alone does not use its NICs\n"
        "hint: ask for more --nodes");
}
