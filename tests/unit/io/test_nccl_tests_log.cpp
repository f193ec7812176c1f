// Goal: output of nccl-tests is read as people keep it. Method: small logs by hand.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "models/io/imports/nccl_tests_log.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

TEST_CASE("nccl-tests' output: prefixes, colours, commas, cut ends") {
  const char* const table =
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048\r\n"
      "#  Rank  0 Group  0 Pid   1 on  host-a device  0 [0x07] NVIDIA A100\r\n"
      "#  Rank  1 Group  0 Pid   2 on  host-b device  0 [0x07] NVIDIA A100\r\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time  "
      " algbw   busbw #wrong\r\n"
      "\x1b[32m        1024           256     float     sum      -1    10,5    0.10    0.10      0 "
      "  "
      " 11.5    0.09    0.09    N/A\x1b[0m\r\n"
      "host-a:1:1 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_1.\r\n"
      "        2048           512     float     sum      -1    20.5    0.10    0.10      0    2";
  const NcclTestsLog log = parse_nccl_tests(table, "log");
  REQUIRE(log.tables.size() == 1);
  const NcclTestsTable& read = log.tables[0];
  CHECK(read.ranks() == 2);
  CHECK(read.hosts() == 2);
  CHECK(read.gpus_per_host() == 1);
  CHECK(!read.collective);
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].out_of_place->time_us == 10.5);
  CHECK(read.rows[0].in_place->time_us == 11.5);
  CHECK(!read.rows[0].in_place->wrong);
  CHECK(read.rows[1].out_of_place->time_us == 20.5);
  CHECK(!read.rows[1].in_place);
  CHECK(log.unread == 1);
  CHECK(log.environment.get("NCCL_IB_HCA") == "mlx5_1");
  CHECK(log.remarks == std::vector<std::string>{"colours taken off", "carriage returns taken off",
                                                "decimal commas are read as points",
                                                "1 row could be read in part only"});
}

TEST_CASE("nccl-tests' output: a row whose time and bandwidth contradict each other is left out") {
  // 256 MiB in 2459.6 us are 109.14 GB/s. The second row lost two digits of its time.
  const std::string good = " 33554432 8388608 float sum -1 374.67 89.56 167.92 N/A\n";
  const std::string whole = " 268435456 67108864 float sum -1 2459.6 109.14 204.64 N/A\n";
  const std::string cut = " 268435456 67108864 float sum -1 24.596 109.14 204.64 N/A\n";
  CHECK(parse_nccl_tests(good + whole, "log").remarks.empty());
  const NcclTestsLog log = parse_nccl_tests(good + cut, "log");
  REQUIRE(log.rows() == 1);
  CHECK(log.tables[0].rows[0].size == 33554432);
  CHECK(log.remarks == std::vector<std::string>{"line 2: algbw is not the size over the time, so "
                                                "of 1 row: left out"});
  // A table in which most rows do so counts its bandwidth in another way.
  const NcclTestsLog other = parse_nccl_tests(cut, "log");
  CHECK(other.rows() == 1);
  CHECK(other.remarks == std::vector<std::string>{"line 1: algbw is not the size over the time, so "
                                                  "of 1 row: the times count"});
}

TEST_CASE("nccl-tests' output: the old layout, one half, and no rows of other tools") {
  const auto rows = [](const std::string& text) {
    const NcclTestsLog log = parse_nccl_tests(text, "log");
    return log.rows();
  };
  CHECK(rows("8 2 float sum 13.37 0.00 0.00 1e-07 14.59 0.00 0.00 0e+00\n") == 1);
  CHECK(rows("8 2 float sum -1 13.37 0.00 0.00 0\n") == 1);
  CHECK(rows("8 2 apples sum -1 13.37 0.00 0.00 0\n") == 0);
  CHECK(rows("8 2 3 4\n") == 0);
  CHECK(rows("size time algbw busbw\n32_768 43.83 0.75 1.31\n") == 1);
  CHECK(rows("0: 8 2 float sum -1 13.37 0.00 0.00 0\n0: #\n0: #\n") == 1);
  CHECK(rows("[1,0]<stdout>:8 2 float sum -1 13.37 0.00 0.00 0\n") == 1);
}

TEST_CASE("nccl-tests' output: layouts without a root, without an operator, and cut") {
  const auto row = [](const std::string& text) {
    const NcclTestsLog log = parse_nccl_tests(text, "log");
    REQUIRE(log.rows() == 1);
    return log.tables[0].rows[0];
  };
  // all_gather up to 2.12: a blank where "none" stands today.
  const NcclTestsRow blank = row("64 4 float -1 10.5 0.10 0.09 0 11.5 0.09 0.08 0\n");
  CHECK(blank.redop == "none");
  CHECK(blank.root == -1);
  CHECK(blank.out_of_place->time_us == 10.5);
  // broadcast of 2.0: a root and no operator.
  const NcclTestsRow rooted =
      row("# size count type root time algbw busbw error time algbw busbw error\n"
          "64 16 float 3 10.5 0.10 0.10 0e+00 11.5 0.09 0.09 0e+00\n");
  CHECK(rooted.redop == "none");
  CHECK(rooted.root == 3);
  CHECK(rooted.in_place->time_us == 11.5);
  // alltoall of 2.9: neither.
  const NcclTestsRow neither =
      row("# size count type redop time algbw busbw error time algbw busbw error\n"
          "64 4 float 10.5 0.10 0.09 0e+00 11.5 0.09 0.08 N/A\n");
  CHECK(neither.redop == "none");
  CHECK(neither.out_of_place->busbw == 0.09);
  CHECK(neither.out_of_place->checked);
  CHECK(!neither.in_place->checked);
  // Cut before the last column: 12 words, as a row without a root has.
  const NcclTestsRow cut =
      row("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
          "64 16 float sum -1 10.5 0.10 0.10 0 11.5 0.09 0.09");
  CHECK(cut.root == -1);
  CHECK(cut.out_of_place->time_us == 10.5);
  CHECK(cut.out_of_place->busbw_half == doctest::Approx(0.005));
}

TEST_CASE("nccl-tests' output: settings of traces and command lines, runs without rows") {
  const std::string row = "4194304 1048576 float sum -1 100.0 41.94 41.94 0\n";
  const NcclTestsLog log = parse_nccl_tests(
      "+ export 'NCCL_NET=AWS Libfabric'\n+ NCCL_NET='AWS Libfabric'\n+ export "
      "NCCL_TESTS_DEVICE=0\n"
      "+ export NCCL_CROSS_NIC=0\n+ export NCCL_ALGO=Tree\n+ unset NCCL_ALGO\n+ echo "
      "NCCL_PROTO=LL\n"
      "root@a:~/nccl-tests# mpirun -np 2 \\\n>   -x NCCL_MIN_NCHANNELS=4 \\\n"
      ">   ./build/all_reduce_perf -b 8\n" +
          row,
      "log");
  CHECK(log.environment.variables() == std::vector<std::pair<std::string, std::string>>{
                                           {"NCCL_NET", "AWS Libfabric"}, {"NCCL_CROSS_NIC", "0"}});
  REQUIRE(log.tables.size() == 1);
  CHECK(log.tables[0].environment.get("NCCL_MIN_NCHANNELS") == "4");
  CHECK(log.remarks.empty());
  const std::string list = "# nThread 1 nGpus 1\n#  Rank 0 Group 0 Pid 1 on a device 0 [0x01] H\n";
  CHECK(parse_nccl_tests(list + row + list, "log").remarks ==
        std::vector<std::string>{
            "the run of line 4, 1 rank on 1 host, has no rows: it failed or is cut off"});
  CHECK(parse_nccl_tests(row + "$ NCCL_ALGO=Ring ./all_gather_perf -b 8\n", "log").remarks ==
        std::vector<std::string>{
            "line 2 starts all_gather, and no row of it follows: it failed or is cut off"});
  CHECK(parse_nccl_tests(row + "# Collective test concluded: all_reduce_perf\n", "log")
            .remarks.empty());
}

TEST_CASE("nccl-tests' JSON: what is not a number is no time") {
  const NcclTestsLog log = parse_nccl_tests(
      R"({"args":["./build/all_gather_perf"],"env":["NCCL_ALGO=Ring","HOME=/x"],"nccl_version":22907,)"
      R"("config":{"nthreads":1,"ngpus":8},"results":[{"size":8,"count":2,"type":"float",)"
      R"("redop":"none","root":"    -1","out_of_place":{"time":1.5,"alg_bw":"nan","bus_bw":2.0},)"
      R"("in_place":null}],"errors":["it broke"]})",
      "log");
  REQUIRE(log.rows() == 1);
  CHECK(log.nccl_version == "2.29.7");
  CHECK(log.tables[0].collective == Collective::all_gather);
  CHECK(log.tables[0].gpus == 8);
  CHECK(log.tables[0].rows[0].out_of_place->time_us == 1.5);
  CHECK(!log.tables[0].rows[0].out_of_place->algbw);
  CHECK(log.environment.variables().size() == 1);
  CHECK(log.remarks ==
        std::vector<std::string>{"the run failed: it broke", "1 of 1 rows lack a time"});
  CHECK(error_text([] { parse_nccl_tests("{\"args\":[\"x_perf\"],\"results\":[", "log"); }) ==
        "log: this JSON of nccl-tests is cut off or broken\nhint: a run that is killed does not "
        "finish its file: use the text output");
}
