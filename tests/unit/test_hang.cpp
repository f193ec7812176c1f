// Who waits for whom: calls of ranks that meet, or do not.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "models/io/read_call_trace.hpp"
#include "tests/unit/error_text.hpp"

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
  CHECK(result.stuck[0].waits_for == std::vector{1});
  CHECK(result.stuck[0].there == std::vector{0, 2});
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
        "t.jsonl:1: peer: is missing: send and recv name one");
  CHECK(error("{\"rank\": 0, \"call\": \"all_reduce\", \"peers\": 1}") ==
        "t.jsonl:1: unknown key \"peers\"\nhint: did you mean \"peer\"?");
  CHECK(error("{\"rank\": 0, \"call\": \"all_reduce\", \"ranks\": [1, 2]}") ==
        "t.jsonl:1: ranks: is without rank 0, which makes the call");
  CHECK(error("{\"rank\": -1, \"call\": \"all_reduce\"}") == "t.jsonl:1: rank: is no rank");
  CHECK(error("\n\n[1]").starts_with("t.jsonl:3: is no JSON object"));
  CHECK(error("") == "t.jsonl: no call is in it");
}

}  // namespace fabricast
