// Who waits for whom: calls of ranks that meet, or do not.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "models/studies/hang/hang_layout.hpp"
#include "models/studies/hang/read_call_trace.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/training/training_cases.hpp"

namespace fabricast {
namespace {

HangResult walked(const std::string& lines) {
  return find_hang(parse_call_trace(lines, "t.jsonl"));
}

std::string call(int rank, const std::string& rest) {
  return "{\"rank\": " + std::to_string(rank) + ", " + rest + "}\n";
}

const std::string kReduce = "\"call\": \"all_reduce\"";

}  // namespace

TEST_CASE("hang: calls that meet") {
  const HangResult result = walked(call(0, kReduce) + call(1, kReduce) + call(1, kReduce) +
                                   call(0, kReduce) + call(0, "\"call\": \"send\", \"peer\": 1") +
                                   call(1, "\"call\": \"recv\", \"peer\": 0"));
  CHECK_FALSE(result.hangs());
  CHECK(result.met == 3);
  CHECK(hang_text(result, 600) == "fabricast hang: 2 ranks, 6 calls: all 3 meet, nobody waits\n");
}

TEST_CASE("hang: a rank that ended is waited for, and nobody else is to blame") {
  const HangResult result =
      walked(call(0, kReduce) + call(1, kReduce) + call(2, kReduce) +
             call(1, "\"end\": \"out of memory\"") + call(0, kReduce) + call(2, kReduce));
  CHECK(result.met == 1);
  REQUIRE(result.stuck.size() == 2);
  CHECK(result.stuck[0].rank == 0);
  CHECK(result.stuck[0].sequence == 2);
  CHECK(result.of(result.stuck[0]).missing == std::vector{1});
  CHECK(result.of(result.stuck[0]).there == std::vector{0, 2});
  REQUIRE(result.ended.size() == 1);
  CHECK(result.ended[0].rank == 1);
  CHECK(result.ended[0].why == "out of memory");
  CHECK(result.cycle.empty());
}

TEST_CASE("hang: communicators in a different order wait in a cycle") {
  const auto on = [](const char* group, const char* ranks) {
    return kReduce + ", \"group\": \"" + group + "\", \"ranks\": " + ranks;
  };
  // 0 waits for 1 in a, 1 for 2 in b, 2 for 0 in c.
  const HangResult result =
      walked(call(0, on("a", "[0, 1]")) + call(0, on("c", "[0, 2]")) + call(1, on("b", "[1, 2]")) +
             call(1, on("a", "[0, 1]")) + call(2, on("c", "[0, 2]")) + call(2, on("b", "[1, 2]")));
  CHECK(result.met == 0);
  CHECK(result.cycle == std::vector{0, 1, 2});
  CHECK(result.ended.empty());
}

TEST_CASE("hang: calls that meet and do not fit") {
  const HangResult sizes =
      walked(call(0, kReduce + ", \"elements\": 8") + call(1, kReduce + ", \"elements\": 9"));
  REQUIRE(sizes.mismatches.size() == 1);
  CHECK(sizes.mismatches[0].one.line == 1);
  CHECK(sizes.mismatches[0].other.line == 2);
  const HangResult words = walked(call(0, kReduce) + call(1, "\"call\": \"all_gather\""));
  CHECK(words.mismatches.size() == 1);
  const HangResult sends = walked(call(0, "\"call\": \"send\", \"peer\": 1") +
                                  call(1, "\"call\": \"send\", \"peer\": 0"));
  CHECK(sends.cycle == std::vector{0, 1});
}

TEST_CASE("hang: any order of the ranks' lines gives the same; a dropped call stops its members") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    // Calls on pairs and on all, in one order that all ranks keep: no hang.
    std::vector<std::vector<std::string>> lines(4);
    for (int i = 0; i < 30; ++i) {
      const int a = static_cast<int>(random() % 4),
                b = (a + 1 + static_cast<int>(random() % 3)) % 4;
      const bool all = random() % 3 == 0;
      const std::string group = all ? "\"group\": \"w\", \"ranks\": [0, 1, 2, 3]"
                                    : "\"group\": \"" + std::to_string(std::min(a, b)) +
                                          std::to_string(std::max(a, b)) + "\", \"ranks\": [" +
                                          std::to_string(a) + ", " + std::to_string(b) + "]";
      for (int rank = 0; rank < 4; ++rank) {
        if (all || rank == a || rank == b)
          lines[static_cast<std::size_t>(rank)].push_back(call(rank, kReduce + ", " + group));
      }
    }
    const auto mixed = [&] {
      std::string out;
      auto left = lines;
      for (std::size_t rank = random() % 4;; rank = random() % 4) {
        bool any = false;
        for (const auto& queue : left) any = any || !queue.empty();
        if (!any) return out;
        if (left[rank].empty()) continue;
        out += left[rank].front();
        left[rank].erase(left[rank].begin());
      }
    };
    const HangResult result = walked(mixed());
    CHECK_FALSE(result.hangs());
    CHECK(result.met == 30);
    CHECK(walked(mixed()).met == 30);
    lines[0].pop_back();
    CHECK(walked(mixed()).hangs());
  }
}

TEST_CASE("hang: what a trace must say") {
  const auto error = [](const std::string& line) {
    return error_text([&] { parse_call_trace(line, "t.jsonl"); });
  };
  CHECK(error("{\"rank\": 0, \"call\": \"send\"}") ==
        "t.jsonl:1: peer: is missing: send, isend and recv name one");
  CHECK(error("{\"rank\": 0, \"call\": \"all_reduce\", \"peers\": 1}") ==
        "t.jsonl:1: unknown key \"peers\"\nhint: did you mean \"peer\"?");
  CHECK(error("{\"rank\": 0, \"call\": \"all_reduce\", \"ranks\": [1, 2]}") ==
        "t.jsonl:1: ranks: is without rank 0, which makes the call");
  CHECK(error("{\"rank\": -1, \"call\": \"all_reduce\"}") == "t.jsonl:1: rank: is no rank");
  CHECK(error("\n\n[1]").starts_with("t.jsonl:3: is no JSON object"));
  CHECK(error("") == "t.jsonl: no call is in it");
}

TEST_CASE("hang: a posted send waits for nobody, its receive for it") {
  const auto to = [](const char* op, int peer) {
    return std::string("\"call\": \"") + op + "\", \"peer\": " + std::to_string(peer);
  };
  // Each sends first: with isend both go on.
  const auto crossing = [&](const char* op) {
    return call(0, to(op, 1)) + call(0, to("recv", 1)) + call(1, to(op, 0)) +
           call(1, to("recv", 0));
  };
  CHECK(walked(crossing("send")).hangs());
  CHECK_FALSE(walked(crossing("isend")).hangs());
  CHECK(walked(crossing("isend")).met == 2);
  const HangResult never = walked(call(0, to("recv", 1)) + call(1, kReduce) + call(0, kReduce));
  REQUIRE(never.stuck.size() == 2);
  CHECK(never.of(never.stuck[0]).missing == std::vector{1});
}

namespace {

StepResult step_of(const Layout& layout) {
  StepResult out;
  out.config.model = test::gpt(8, 1024, 16);
  out.config.layout = layout;
  out.step.time = microseconds(1000);
  return out;
}

std::vector<RankCall> calls_with(const Layout& layout, const std::string& fault) {
  std::vector<RankCall> calls = calls_of(step_of(layout));
  if (!fault.empty()) inject(parse_hang_fault(fault), calls);
  return calls;
}

}  // namespace

TEST_CASE("hang: the calls of a step meet, whatever the layout") {
  int drawn = 0;
  for (const int tensor : {1, 2}) {
    for (const int pipeline : {1, 2, 4}) {
      for (const int chunks : {1, 2}) {
        for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::fsdp}) {
          for (const Schedule schedule :
               {Schedule::gpipe, Schedule::one_f_one_b, Schedule::zero_bubble}) {
            if (chunks > 1 && (pipeline == 1 || schedule != Schedule::one_f_one_b)) continue;
            if (kSanitized && ++drawn % 12 != 0) continue;
            Layout layout = test::layout(16, tensor, pipeline, chunks, 1, 64);
            layout.sharding = sharding;
            if (chunks == 1) layout.schedule = schedule;
            layout.recompute = tensor == 2 ? Recompute::full : Recompute::none;
            layout.sequence_parallel = pipeline != 2;
            const std::vector<RankCall> calls = calls_with(layout, "");
            const HangResult result = find_hang(calls);
            CHECK_FALSE(result.hangs());
            CHECK(result.ranks == 16);
            // The written trace says the same.
            const HangResult again = find_hang(parse_call_trace(call_trace_text(calls), "t"));
            CHECK(again.met == result.met);
          }
        }
      }
    }
  }
}

TEST_CASE("hang: faults of a layout end as they should") {
  Layout fsdp = test::layout(8, 1, 1, 1, 1, 8);
  fsdp.sharding = Sharding::fsdp;
  Layout ddp = test::layout(8, 2, 1, 1, 1, 4);
  const auto found = [](const Layout& layout, const std::string& fault) {
    return find_hang(calls_with(layout, fault));
  };
  const HangResult dead = found(fsdp, "rank 5 dead at call 3");
  CHECK(is_as_expected(dead, "ended"));
  REQUIRE(dead.ended.size() == 1);
  CHECK(dead.ended[0].rank == 5);
  CHECK(dead.ended[0].calls == 2);
  CHECK(dead.stuck.size() == 7);
  CHECK(is_as_expected(found(fsdp, "rank 5 dead at call 1"), "ended"));
  CHECK(is_as_expected(found(fsdp, "rank 5 interleaves at call 9"), "mismatch"));
  CHECK(is_as_expected(found(ddp, "rank 5 skips call 2"), "mismatch"));
  const HangResult cycle = found(ddp, "rank 5 reorders at call 30");
  CHECK(is_as_expected(cycle, "cycle"));
  CHECK(std::ranges::find(cycle.cycle, 5) != cycle.cycle.end());
  CHECK_FALSE(is_as_expected(cycle, "ended"));
}

TEST_CASE("hang: faults that cannot be are refused") {
  const Layout layout = test::layout(8, 2, 1, 1, 1, 4);
  const auto error = [&](const std::string& fault) {
    return error_text([&] { calls_with(layout, fault); });
  };
  CHECK(error("rank 5 sleeps at call 3").starts_with("\"rank 5 sleeps at call 3\" is no fault"));
  CHECK(error("rank 8 dead at call 1") == "\"rank 8 dead at call 1\": there is no rank 8");
  CHECK(error("rank 5 dead at call 0").find("is no fault") != std::string::npos);
  CHECK(error("rank 5 dead at call 9999").find("rank 5 makes ") != std::string::npos);
  CHECK(error("rank 5 interleaves at call 1") ==
        "\"rank 5 interleaves at call 1\": rank 5 has no two calls in a row that gather one unit "
        "and scatter another from call 1 on");
}

}  // namespace fabricast
