// Records of jobs that hang, walked: who is missing, what does not fit, what does not end.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "models/studies/hang/ras_calls.hpp"
#include "models/studies/hang/recorded_files.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

void one_by_one(std::size_t count, const std::function<void(std::size_t)>& one) {
  for (std::size_t i = 0; i < count; ++i) one(i);
}

HangResult hang_of(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(FABRICAST_TEST_DATA "/records/" + name);
  CHECK(are_records(paths));
  const RecordedCalls read = read_records(paths, one_by_one);
  return find_hang(read.calls, read.job);
}

RankCall recorded(int rank, const std::string& group, long long sequence, CallState state,
                  const std::string& op = "all_reduce") {
  RankCall out;
  out.rank = rank;
  out.group = group;
  out.sequence = sequence;
  out.state = state;
  out.op = op;
  return out;
}

}  // namespace

TEST_CASE("recorded hang: a rank that makes one call less") {
  const HangResult result = hang_of({"flight-missing"});
  CHECK(result.ranks == 2);
  CHECK(result.calls == 9);
  CHECK(result.met == 4);
  REQUIRE(result.stuck.size() == 1);
  CHECK(result.stuck[0].rank == 0);
  CHECK(result.stuck[0].sequence == 5);
  CHECK(result.of(result.stuck[0]).missing == std::vector{1});
  REQUIRE(result.ended.size() == 1);
  CHECK(result.ended[0].rank == 1);
  REQUIRE(result.ended[0].last);
  CHECK(result.ended[0].last->sequence == 4);
  CHECK(result.ended[0].last->where == "crash.py:30 in <module>");
  const std::string text = hang_text(result, 600);
  CHECK(text.find("rank 0 waits in all_reduce on default_pg (12 elements of Float, sequence 5) "
                  "at crash.py:44 in <module> for 1") != std::string::npos);
  CHECK(text.find("Watchdog") == std::string::npos);  // it fired long ago
}

TEST_CASE("recorded hang: sizes, types and operations that do not fit, by sides") {
  const HangResult result = hang_of({"flight-misfit"});
  REQUIRE(result.mismatches.size() == 2);
  CHECK(result.mismatches[0].ranks == std::vector{0, 1});
  CHECK(result.mismatches[0].other_ranks == std::vector{2});
  CHECK(result.mismatches[0].what == "elements and type");
  CHECK(result.mismatches[1].other_ranks == std::vector{3});
  CHECK(result.mismatches[1].what == "operation");
}

TEST_CASE("recorded hang: groups in another order; dumps that are cut, refused and missing") {
  const HangResult result = hang_of({"flight-order"});
  CHECK(result.cycle == std::vector{0, 1});
  CHECK(result.ranks == 3);
  REQUIRE(result.notes.size() == 3);
  CHECK(result.notes[0].find("nccl_trace_rank_3: byte ") != std::string::npos);
  CHECK(result.notes[1].find("GLOBAL of posix.system is refused") != std::string::npos);
  CHECK(result.notes[2] == "no dump of rank 5");
}

TEST_CASE("recorded hang: one rank is left in a call that ended for the others") {
  const HangResult result = hang_of({"flight-behind"});
  const auto left = std::ranges::find(result.stuck, 1, &StuckRank::rank);
  REQUIRE(left != result.stuck.end());
  CHECK(left->sequence == 3);
  CHECK(result.of(*left).past == std::vector{0, 2, 3});
  CHECK(result.of(*left).is_unfinished());
  // The others wait for it at the next call.
  CHECK(result.stuck[0].sequence == 4);
  CHECK(result.of(result.stuck[0]).missing == std::vector{1});
  CHECK(result.ended.empty());
}

TEST_CASE("recorded hang: all are there, and it does not end") {
  const HangResult result = hang_of({"flight-unfinished"});
  REQUIRE(result.stuck.size() == 2);
  CHECK(result.of(result.stuck[0]).is_unfinished());
  CHECK(result.mismatches.empty());
  CHECK(hang_text(result, 600).find("all 2 are there (started), and it does not end") !=
        std::string::npos);
}

TEST_CASE("recorded hang: each group has a stream of its own") {
  // Rank 0 enqueued a, then b; both are open. Rank 1 is in b only: it waits for nobody there.
  RecordedJob job;
  job.groups = {{"a", {0, 1}}, {"b", {0, 1}}};
  const HangResult result = find_hang(
      {recorded(0, "a", 1, CallState::scheduled), recorded(0, "b", 1, CallState::scheduled),
       recorded(1, "b", 1, CallState::scheduled)},
      job);
  REQUIRE(result.stuck.size() == 3);
  CHECK(result.stuck[0].call.group == "a");
  CHECK(result.of(result.stuck[0]).missing == std::vector{1});
  CHECK(result.of(result.stuck[1]).missing.empty());
  CHECK(result.of(result.stuck[2]).is_unfinished());
}

TEST_CASE("recorded hang: a broadcast may end for its root alone") {
  RecordedJob job;
  job.groups = {{"a", {0, 1, 2}}};
  const HangResult result = find_hang({recorded(0, "a", 1, CallState::completed, "broadcast"),
                                       recorded(1, "a", 1, CallState::started, "broadcast")},
                                      job);
  REQUIRE(result.stuck.size() == 1);
  CHECK(result.of(result.stuck[0]).past == std::vector{0});
  CHECK(result.of(result.stuck[0]).missing == std::vector{2});
}

TEST_CASE("recorded hang: calls that ended are compared, too; groups by their ranks") {
  FlightCalls calls;
  for (int rank = 0; rank < 3; ++rank) {
    FlightDump dump;
    dump.words = {"", "all_reduce", "Float", "Half"};
    // Two groups of one name on disjoint ranks, and one that rank 2 disputes.
    dump.groups = {{"0", "default_pg", {0, 1, 2}},
                   {"5", "tp", rank < 2 ? std::vector{0, 1} : std::vector{2}}};
    FlightEntry entry;
    entry.sequence = 1;
    entry.op = 1;
    entry.dtype = rank == 1 ? 3 : 2;
    entry.state = FlightEntry::State::completed;
    dump.entries = {entry};
    entry.group = 1;
    entry.record = 1;
    entry.dtype = 2;
    entry.state = FlightEntry::State::scheduled;
    dump.entries.push_back(entry);
    calls.add(rank, dump);
  }
  const RecordedCalls read = calls.finish();
  REQUIRE(read.job.mismatches.size() == 1);
  CHECK(read.job.mismatches[0].ranks == std::vector{0, 2});
  CHECK(read.job.mismatches[0].other_ranks == std::vector{1});
  CHECK(read.job.mismatches[0].what == "type");
  CHECK(read.job.groups.contains("tp of 0"));
  CHECK(read.job.groups.contains("tp of 2"));
}

TEST_CASE("recorded hang: a group whose ranks are not the same for all") {
  FlightCalls calls;
  for (int rank = 0; rank < 2; ++rank) {
    FlightDump dump;
    dump.words = {"", "all_reduce"};
    dump.groups = {{"5", "tp", rank == 0 ? std::vector{0, 1} : std::vector{0, 1, 2}}};
    FlightEntry entry;
    entry.sequence = 1;
    entry.op = 1;
    dump.entries = {entry};
    calls.add(rank, dump);
  }
  const RecordedCalls read = calls.finish();
  const HangResult result = find_hang(read.calls, read.job);
  REQUIRE(!result.mismatches.empty());
  CHECK(result.mismatches[0].what == "members");
}

TEST_CASE("recorded hang: answers of RAS") {
  const HangResult behind = hang_of({"ras/mismatch.json"});
  CHECK(behind.ranks == 4);
  CHECK(behind.met == 100);
  REQUIRE(behind.stuck.size() == 3);
  CHECK(behind.of(behind.stuck[0]).missing == std::vector{1});
  CHECK(behind.stuck[0].call.where == "number 101");
  REQUIRE(behind.ended.size() == 1);
  CHECK(behind.ended[0].why ==
        "made 100 calls of all_reduce, others 101 (192.0.2.86 pid 6300, GPU 0)");
  const HangResult gone = hang_of({"ras/no-comma.json"});
  REQUIRE(gone.ended.size() == 1);
  CHECK(gone.ended[0].why == "does not answer RAS (192.0.2.84 pid 10017, GPU 1)");
  CHECK(gone.notes[0].starts_with("1 comma is missing in this JSON and added"));
}

TEST_CASE("recorded hang: a rank that went on between two answers of RAS is not stuck") {
  const auto report = [](const std::string& time, std::int64_t behind) {
    RasReport out;
    out.timestamp = time;
    RasCommunicator& one = out.communicators.emplace_back();
    one.hash = "0x1";
    one.size = 2;
    for (int rank = 0; rank < 2; ++rank) {
      RasRank& added = one.ranks.emplace_back();
      added.rank = rank;
      added.pid = rank;
      added.counts["AllReduce"] = rank == 0 ? 20 : behind;
    }
    return out;
  };
  const auto stuck = [](const std::vector<RasReport>& reports) {
    const RecordedCalls read = calls_of_ras(reports);
    return find_hang(read.calls, read.job).stuck.size();
  };
  CHECK(stuck({report("1", 12), report("2", 12)}) == 1);
  CHECK(stuck({report("1", 10), report("2", 12)}) == 0);
}

TEST_CASE("recorded hang: nothing to read") {
  const std::string folder = FABRICAST_TEST_DATA "/logs";
  CHECK(error_text([&] {
          read_records({folder}, one_by_one);
        }).find("no dump of the Flight Recorder and no answer of RAS") != std::string::npos);
  const std::string refused = FABRICAST_TEST_DATA "/records/flight-order/nccl_trace_rank_4";
  CHECK(error_text([&] { read_records({refused}, one_by_one); }).find("GLOBAL") !=
        std::string::npos);
}

}  // namespace fabricast
