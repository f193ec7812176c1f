// Goal: `step --calls` predicts each call of a trace for the bytes and ranks that the trace says.
// Method: a public trace, small ones by hand, and each time against the simulation's own.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "models/io/formats/text_file.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/training/traced_calls.hpp"
#include "models/studies/training/training_reports.hpp"
#include "models/training/calls/collective_times.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

const std::string kLogs = FABRICAST_TEST_DATA "/logs/";

TracedResult predicted(const std::string& text, const std::string& topology = "dgx-a100") {
  Job config;
  config.topology = topology;
  return predict_calls(import_text(text, "trace"), "trace", config, load_catalogue());
}

/// A trace of Kineto with one call.
std::string trace_of(const std::string& arguments) {
  return R"({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [{"name": )"
         R"("record_param_comms", "cat": "cpu_op", "ts": 1, "dur": 2, "args": {)" +
         arguments + "}}]}";
}

}  // namespace

TEST_CASE("traced calls: equal ones are asked for once, all of them count") {
  const TracedResult got = predicted(read_text_file(kLogs + "kineto-old-rank0-of-128.json"));
  CHECK(got.world_size == 128);
  CHECK(got.kernel_time == "396199.0 us");
  REQUIRE(got.lines.size() == 8);  // of 10 calls
  Duration sum;
  int calls = 0;
  for (const TracedLine& line : got.lines) {
    REQUIRE(line.time);
    CHECK(line.ranks == 128);
    sum += *line.time * line.times;
    calls += line.times;
  }
  CHECK(calls == 10);
  CHECK(sum == got.time);
  // 400 MiB of unsigned char, to and from 128 ranks.
  CHECK(got.lines[1].call.collective == "alltoall");
  CHECK(got.lines[1].bytes == 419'430'400);
  CHECK(got.lines[1].times == 2);
}

TEST_CASE("traced calls: bytes are those of the larger buffer, the time is the simulation's") {
  const auto line = [](const std::string& arguments) {
    return predicted(trace_of(arguments)).lines.front();
  };
  const TracedLine gather = line(
      R"("Collective name": "_allgather_base", "In msg nelems": 1024, "Out msg nelems": 8192, )"
      R"("Group size": 8, "dtype": "BFloat16")");
  CHECK(gather.bytes == 16'384);
  // The trace does not say what comes out.
  const TracedLine half =
      line(R"("Collective name": "_allgather_base", "In msg nelems": 1024, "Group size": 8, )"
           R"("dtype": "c10::BFloat16")");
  CHECK(half.bytes == 16'384);
  const TracedLine reduce = line(
      R"("Collective name": "allreduce", "In msg nelems": 4194304, "Out msg nelems": 4194304, )"
      R"("Group size": 4, "dtype": "Float")");
  CHECK(reduce.bytes == 16 << 20);
  CHECK(reduce.ranks == 4);
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-a100", 1, ""}, parts);
  CollectiveTimes times(cluster, parts.software, {});
  CHECK(*reduce.time == times.cost(Collective::all_reduce, {4}, 16 << 20).time);
  CHECK(line(R"("Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float")").ranks == 8);
}

TEST_CASE("traced calls: what cannot be predicted says why, and counts as nothing") {
  const auto why_not = [](const std::string& arguments) {
    const TracedResult got = predicted(trace_of(arguments));
    CHECK(got.time.ps == 0);
    CHECK_FALSE(got.lines.front().time);
    CHECK(nlohmann::json::accept(report_json(traced_report(got))));
    CHECK(traced_text(got).find(got.lines.front().why_not) != std::string::npos);
    return got.lines.front().why_not;
  };
  CHECK(why_not(R"("Collective name": "barrier", "In msg nelems": 1, "dtype": "Float")") ==
        "no collective that is simulated");
  CHECK(why_not(R"("Collective name": "allreduce", "dtype": "Float")") ==
        "the trace does not say how much");
  CHECK(why_not(R"("Collective name": "allreduce", "In msg nelems": 8, "dtype": "Quaternion")") ==
        "type \"Quaternion\" is not known");
  CHECK(why_not(R"("Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float", )"
                R"("Group size": 1)") == "a group of one rank");
  CHECK(error_text([] { predicted("SM clocks\n"); }) ==
        "trace: is no trace that is known\n"
        "hint: traces of Kineto, PyTorch's execution traces and Chakra's JSON do");
}
