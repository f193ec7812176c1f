// One rank's Kineto trace: which collectives ran when, and when the GPU computed.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "models/io/traces/rank_trace.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

std::string events(const std::string& list) {
  return fmt::format(
      R"({{"distributedInfo": {{"rank": 3, "world_size": 8, "nccl_version": "2.27.7"}},
          "baseTimeNanoseconds": 5000, "traceEvents": [{}]}})",
      list);
}

}  // namespace

TEST_CASE("rank trace: a collective has its launch, its group and its digits of nanoseconds") {
  const RankTrace trace = parse_rank_trace(
      events(
          R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "ts": 4458676524600.25,
                 "dur": 3, "args": {"correlation": 7}},
                {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                 "ts": 4458676524670.502, "dur": 92.804,
                 "args": {"correlation": 7, "Collective name": "allreduce", "In msg nelems": 4096,
                          "Out msg nelems": 4096, "Group size": 2, "dtype": "BFloat16", "Seq": 11,
                          "Process Group Name": "1", "Process Group Description": "dp",
                          "Process Group Ranks": "[3, 7]"}})"),
      "t");
  CHECK(trace.rank == 3);
  CHECK(trace.world_size == 8);
  CHECK(trace.nccl_version == "2.27.7");
  REQUIRE(trace.collectives.size() == 1);
  const RankCollective& one = trace.collectives.front();
  CHECK(one.start_ns == 4458676524670502 + 5000);  // no double of us has these digits
  CHECK(one.end_ns - one.start_ns == 92804);
  CHECK(one.launched_ns == 4458676524600250 + 5000);
  CHECK(one.collective == "allreduce");
  CHECK(one.group_size == 2);
  CHECK(one.seq == 11);
  CHECK(one.ranks == "[3, 7]");
  CHECK(one.description == "dp");
}

TEST_CASE("rank trace: compute is joined, steps are found, kernels without a name are counted") {
  const RankTrace trace =
      parse_rank_trace(events(R"({"cat": "kernel", "name": "gemm", "ts": 10, "dur": 5},
                {"cat": "kernel", "name": "gemm", "ts": 1, "dur": 4},
                {"cat": "gpu_memcpy", "name": "Memcpy", "ts": 4, "dur": 2},
                {"cat": "kernel", "name": "ncclKernel_old", "ts": 20, "dur": 1},
                {"cat": "user_annotation", "name": "ProfilerStep#12", "ts": 0, "dur": 30},
                {"cat": "kernel", "name": "x", "ts": 40, "args": {"a": [{"name": "nested"}]}})"),
                       "t");
  REQUIRE(trace.compute.size() == 3);
  CHECK(trace.compute[0].start_ns == 6000);
  CHECK(trace.compute[0].end_ns == 11000);  // 1..5 and 4..6
  CHECK(trace.compute[1].start_ns == 15000);
  CHECK(trace.bare_kernels == 1);
  REQUIRE(trace.steps.size() == 1);
  CHECK(trace.steps[0].number == 12);
  CHECK(trace.steps[0].end_ns == 35000);
  // Of 8..17 us (5 us of base): 8..11 and 15..17.
  CHECK(overlap_ns({8000, 17000}, trace.compute) == 5000);
  CHECK(overlap_ns({11000, 15000}, trace.compute) == 0);
}

TEST_CASE("rank trace: what is none is refused") {
  CHECK(error_text([] {
          parse_rank_trace("{\"traceEvents\": [{\"cat\": ", "t");
        }).starts_with("t: this JSON is cut off or broken, at byte "));
  CHECK(error_text([] {
          parse_rank_trace("[1, 2]", "t");
        }).starts_with("t: no trace of Kineto: it has no traceEvents"));
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += "[";
  CHECK(error_text([&] { parse_rank_trace(deep, "t"); }).starts_with("t: this JSON is cut off"));
}

}  // namespace fabricast
