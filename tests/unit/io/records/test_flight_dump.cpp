// Dumps of PyTorch's Flight Recorder and answers of NCCL's RAS, as they are read.

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "models/io/records/flight_dump.hpp"
#include "models/io/records/ras_report.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

std::string record(const std::string& name) {
  std::ifstream in(FABRICAST_TEST_DATA "/records/" + name, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  REQUIRE(!out.str().empty());
  return out.str();
}

const std::string& word(const FlightDump& dump, std::uint32_t number) { return dump.words[number]; }

}  // namespace

TEST_CASE("flight recorder: a dump as pickle") {
  const FlightDump dump = read_flight_dump(record("flight-missing/nccl_trace_rank_0"), "f");
  CHECK(dump.version == "2.5");
  REQUIRE(dump.groups.size() == 1);
  CHECK(dump.groups[0] == FlightGroup{"0", "default_pg", {0, 1}});
  REQUIRE(dump.entries.size() == 5);
  const FlightEntry& last = dump.entries.back();
  CHECK(last.sequence == 5);
  CHECK(word(dump, last.op) == "all_reduce");
  CHECK(word(dump, last.dtype) == "Float");
  CHECK(last.elements == 12);
  CHECK(last.state == FlightEntry::State::scheduled);
  CHECK(word(dump, last.where) == "crash.py:44 in <module>");
  CHECK(dump.entries.front().state == FlightEntry::State::completed);
  CHECK(dump.entries.front().where == 0);
}

TEST_CASE("flight recorder: the JSON form says the same") {
  const FlightDump dump = read_flight_dump(record("flight-misfit/nccl_trace_rank_3.json"), "f");
  REQUIRE(dump.entries.size() == 2);
  CHECK(word(dump, dump.entries[1].op) == "all_gather");
  CHECK(dump.entries[1].elements == 16);
}

TEST_CASE("flight recorder: messages, coalesced calls, old keys") {
  const FlightDump dump = read_flight_dump(
      R"({"version": "1.0", "entries": [
        {"record_id": 4, "process_group": ["7", "pp"], "seq_id": 3, "profiling_name": "nccl:recv 1<-0",
         "input_sizes": [], "output_sizes": [[2, 5]], "output_dtypes": ["Half"], "state": "scheduled"},
        {"record_id": 3, "process_group": ["7", "pp"], "seq_id": 3, "profiling_name": "nccl:send 1->2",
         "input_sizes": [[4]], "input_dtypes": ["Half"], "state": "scheduled",
         "time_created_us": 5},
        {"record_id": 5, "process_group": ["7", "pp"], "seq_id": 3, "profiling_name": "nccl:coalesced",
         "state": "completed"},
        {"record_id": 6, "pg_id": 9, "collective_seq_id": "8", "profiling_name": "nccl:all_to_all",
         "input_sizes": [[4]], "state": "started"},
        {"record_id": 7}]})",
      "f");
  REQUIRE(dump.entries.size() == 3);  // in the order of their records, without "coalesced"
  CHECK(dump.passed_over == 1);
  CHECK(word(dump, dump.entries[0].op) == "send");
  CHECK(dump.entries[0].from == 1);
  CHECK(dump.entries[0].to == 2);
  CHECK(dump.entries[0].created_ns == 5000);
  CHECK(dump.entries[0].state == FlightEntry::State::completed);  // as the coalesced one is
  CHECK(dump.entries[1].from == 0);
  CHECK(dump.entries[1].to == 1);
  CHECK(dump.entries[1].elements == 10);
  CHECK(word(dump, dump.entries[2].op) == "alltoall");
  CHECK(dump.entries[2].sequence == 8);
  CHECK(dump.entries[2].elements == -1);  // each rank may send as it likes
  REQUIRE(dump.groups.size() == 2);
  CHECK(dump.groups[0].description == "pp");
  CHECK(dump.groups[1].name == "group 9");
}

TEST_CASE("flight recorder: what is no dump") {
  const auto error = [](const std::string& text) {
    return error_text([&] { read_flight_dump(text, "f"); });
  };
  CHECK(error("") == "f: is empty");
  CHECK(error("hello") == "f: is no dump of the Flight Recorder");
  CHECK(error(R"({"entries": 1})") ==
        "f: has neither entries nor pg_config: no dump of the Flight Recorder");
  CHECK(error(record("flight-order/nccl_trace_rank_3")).ends_with("it was cut off"));
  CHECK(error(record("flight-order/nccl_trace_rank_4")).find("GLOBAL of posix.system") !=
        std::string::npos);
}

TEST_CASE("flight recorder: the rank in a file's name") {
  CHECK(rank_of_dump("/tmp/job7/nccl_trace_rank_12") == 12);
  CHECK(rank_of_dump("rank3.json") == 3);
  CHECK(rank_of_dump("trace_0.pickle") == 0);
  CHECK(rank_of_dump("/a1/notes") == -1);
  CHECK(rank_of_dump("rank99999999999") == -1);
}

TEST_CASE("flight recorder: PyTorch's words") {
  CHECK(collective_of_torch("nccl:_all_gather_base") == "all_gather");
  CHECK(collective_of_torch("nccl:allreduce_") == "all_reduce");
  CHECK(collective_of_torch("gloo:broadcast") == "broadcast");
  CHECK(collective_of_torch("xccl:something_new") == "something_new");
}

TEST_CASE("RAS: counts by rank, and the comma that NCCL 2.28.9 leaves out") {
  const RasReport good = read_ras_report(record("ras/mismatch.json"), "f");
  CHECK(good.nccl == "2.28.9");
  CHECK(good.commas_added == 0);
  REQUIRE(good.communicators.size() == 1);
  REQUIRE(good.communicators[0].ranks.size() == 4);
  CHECK(good.communicators[0].ranks[1].counts.at("AllReduce") == 100);
  const RasReport mended = read_ras_report(record("ras/no-comma.json"), "f");
  CHECK(mended.commas_added == 1);
  const std::vector<RasRank>& ranks = mended.communicators.at(0).ranks;
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[1].answers == false);
  CHECK(ranks[1].trouble == "does not answer RAS");
  CHECK(ranks[1].host == "192.0.2.84");
}

TEST_CASE("RAS: what is no report") {
  const auto error = [](const std::string& text) {
    return error_text([&] { read_ras_report(text, "f"); });
  };
  CHECK(error(R"({"communicators": 3})") ==
        "f: communicators: is no list: no report of RAS\nhint: ncclras -f json writes one");
  CHECK(error(R"({"communicators": [{"ranks": [{"host": "a"}]}]})") == "f: a rank in it is none");
  CHECK(error(record("ras/mismatch.json").substr(0, 900)).starts_with("f: this JSON ends"));
}

}  // namespace fabricast
