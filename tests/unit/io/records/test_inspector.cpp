// What NCCL's Inspector writes: JSON of several formats, text for Prometheus.

#include <doctest/doctest.h>

#include "models/io/records/inspector.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

struct Read {
  std::vector<InspectorCall> calls;
  InspectorNotes notes;
};

Read json(const std::string& text) {
  Read out;
  out.notes =
      read_inspector_json(text, [&](InspectorCall call) { out.calls.push_back(std::move(call)); });
  return out;
}
Read file(const std::string& name) {
  Read out;
  out.notes =
      read_inspector_file(FABRICAST_TEST_DATA "/records/inspector/" + name,
                          [&](InspectorCall call) { out.calls.push_back(std::move(call)); });
  return out;
}
Read metrics(const std::string& text) {
  Read out;
  out.notes = read_inspector_metrics(
      text, [&](InspectorCall call) { out.calls.push_back(std::move(call)); });
  return out;
}

}  // namespace

TEST_CASE("inspector: a real line of format 4.0") {
  const Read read = file("v4.0-real-line.log");
  REQUIRE(read.calls.size() == 1);
  const InspectorCall& call = read.calls[0];
  CHECK(call.communicator == "0xad56c683b0c4ef");
  CHECK(call.rank == 1);
  CHECK(call.ranks == 3);
  CHECK(call.nodes == 3);
  CHECK(call.host == "test-worker-0");
  CHECK(call.collective == "AllReduce");
  CHECK(call.sequence == 8995);
  CHECK(call.bytes_low == 2360832);
  CHECK(call.time_us == 5663);
  // 2360832 B / 5663 us x 2 (3 - 1) / 3
  CHECK(call.busbw_GBps == doctest::Approx(2360832 / 5663e-6 / 1e9 * 4 / 3).epsilon(1e-5));
  CHECK(call.on_gpu);
  CHECK(read.notes.version == "v4.0");
}

TEST_CASE("inspector: since format 4.3 the header stands once") {
  const Read read = file("v4.3-header-once.log");
  REQUIRE(read.calls.size() == 2);
  CHECK(read.calls[0].rank == 2);
  CHECK(read.calls[0].algorithm == "RING");
  CHECK(read.calls[0].protocol == "LL");
  CHECK(read.calls[1].communicator == "0x7f8c496ae9f661");
  CHECK(read.notes.dropped == 512);
  CHECK(read.notes.messages == 1);
  CHECK(read.notes.broken == 0);
}

TEST_CASE("inspector: objects over several lines; one that is cut takes none with it") {
  const Read read = file("v4.0-pretty-and-cut.log");
  REQUIRE(read.calls.size() == 2);
  CHECK_FALSE(read.calls[0].on_gpu);
  CHECK(read.calls[1].sequence == 1233);
  CHECK(read.notes.broken == 1);
  CHECK(read.notes.first_broken == 23);
}

TEST_CASE("inspector: what is no record is counted") {
  CHECK(json("").calls.empty());
  CHECK(json("hello\n").notes.trouble.starts_with(": is no JSON") == false);
  CHECK(json("hello\n").notes.broken == 1);
  CHECK(json("[1]\n").notes.trouble == "is no JSON object");
  CHECK(json(R"({"coll_perf": {"coll": "AllReduce"}})").notes.trouble ==
        "a record stands before any header");
  CHECK(json(R"({"header": {"id": "0x1", "n_ranks": 2}, "coll_perf": {"coll": "AllReduce",
                "coll_msg_size_bytes": 8, "coll_exec_time_us": 0}})")
            .notes.trouble == "a record has no time, no size or no ranks");
  CHECK(begins_as_inspector_json("  {\"coll_perf\": {}}"));
  CHECK_FALSE(begins_as_inspector_json("{\"rank\": 0, \"call\": \"all_reduce\"}"));
}

TEST_CASE("inspector: text for Prometheus") {
  const std::string labels =
      R"(version="v5.1",slurm_job_id="7",node="n1",gpu="GPU0",comm_name="DP \"0\"",n_nodes="4",)"
      R"(nranks="32",collective="ReduceScatter",message_size="134-135MB",algo_proto="RING_SIMPLE")";
  const Read read = metrics("# TYPE nccl_bus_bandwidth_gbs gauge\nnccl_bus_bandwidth_gbs{" +
                            labels + "} 44.1181\nnccl_collective_exec_time_microseconds{" + labels +
                            "} 104164\nnccl_p2p_bus_bandwidth_gbs{node=\"n1\"} 3\nother{} 1\n");
  REQUIRE(read.calls.size() == 1);
  const InspectorCall& call = read.calls[0];
  CHECK(call.name == "DP \"0\"");
  CHECK(call.ranks == 32);
  CHECK(call.nodes == 4);
  CHECK(call.algorithm == "RING");
  CHECK(call.protocol == "SIMPLE");
  CHECK(call.bytes_low == 134.0 * 1024 * 1024);
  CHECK(call.bytes_high == 135.0 * 1024 * 1024);
  CHECK(call.time_us == 104164);
  CHECK(call.is_mean);
  CHECK(call.labels == labels);
  CHECK(read.notes.messages == 1);
}

TEST_CASE("inspector: labels of NCCL 2.29, which leaves out a comma") {
  std::vector<std::pair<std::string, std::string>> labels;
  CHECK(read_labels(R"(comm_id="0xd1",slurm_job_id="unknown"nranks="8",x="a\nb\\")", labels));
  REQUIRE(labels.size() == 4);
  CHECK(labels[2].first == "nranks");
  CHECK(labels[3].second == "a\nb\\");
  CHECK_FALSE(read_labels("a", labels));
  CHECK_FALSE(read_labels("a=\"b", labels));
  const std::string text =
      R"({comm_id="0xd1",rank="4",slurm_job_id="unknown"nranks="8",n_nodes="1",collective="AllReduce",)"
      R"(coll_sn="228924",message_size="2.00GB"} )";
  const Read read = metrics("nccl_bus_bandwidth_gbs" + text +
                            "480\nnccl_collective_exec_time_microseconds" + text + "7800\n");
  REQUIRE(read.calls.size() == 1);
  CHECK(read.calls[0].rank == 4);
  CHECK(read.calls[0].sequence == 228924);
  CHECK(read.calls[0].bytes_low < 2.0 * (1 << 30));
  CHECK(read.calls[0].bytes_high > 2.0 * (1 << 30));
}

}  // namespace fabricast
