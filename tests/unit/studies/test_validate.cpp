// Goal: measured runs are read, predicted and scored as docs/validate.md says.
// Method: small CSV texts; scores of results made by hand, with the arithmetic beside each check.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/io/bands/read_measured.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/accuracy/alpha_beta.hpp"
#include "models/studies/accuracy/validate_score.hpp"
#include "models/studies/accuracy/validate_text.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/studies/measured_runs.hpp"

using namespace fabricast;

namespace {

/// `left_out`: a source that the fit has not seen, with the same values.
ValidateResult validated(const std::string& runs, const std::string& points, Predictor predictor,
                         std::int64_t slices_max = 1'000'000, bool weighs_messages = false,
                         const std::string& left_out = "") {
  ValidateConfig config;
  config.weighs_messages = weighs_messages;
  config.measured.runs = parse_runs(kRunColumns + runs, "runs.csv");
  parse_points("run_id,size_bytes,time_us,algbw_GBps,busbw_GBps\n" + points, "points.csv",
               config.measured);
  config.predictor = predictor;
  config.slices_max = slices_max;
  if (!left_out.empty()) config.left_out.emplace(left_out, parts());
  return run_validate(std::move(config), parts(), in_turn);
}

constexpr const char* kTwoRuns =
    "one,all_reduce,H100,nvswitch,none,8,1,8,,,2.21.5,,,,one-process-per-gpu,,a\n"
    "two,all_gather,H100,nvswitch,ib,8,2,16,8,400,2.21.5,,,,one-process-per-gpu,,b\n";

}  // namespace

TEST_CASE("validate: calls that are the same work on one machine are simulated once") {
  // NCCL_P2P_NET_CHUNKSIZE says nothing to an all_reduce; two nodes are another machine.
  const ValidateResult found = validated(
      "one,all_reduce,H100,nvswitch,ib,8,2,16,8,400,2.21.5,,,,one-process-per-gpu,,a\n"
      "two,all_reduce,H100,nvswitch,ib,8,2,16,8,400,2.21.5,NCCL_P2P_NET_CHUNKSIZE=65536,,,"
      "one-process-per-gpu,,b\n"
      "three,all_reduce,H100,nvswitch,ib,8,4,32,8,400,2.21.5,,,,one-process-per-gpu,,c\n",
      "one,1048576,100,,\ntwo,1048576,100,,\nthree,1048576,100,,\n", Predictor::simulation);
  CHECK(found.calls == 2);
  CHECK(found.predictions[0].time_us == found.predictions[1].time_us);
  CHECK(found.predictions[0].time_us != found.predictions[2].time_us);
}

TEST_CASE("validate: messages count as the slices that take as long, where that is asked for") {
  // Of eight nodes of eight rails that are alike one rail is simulated: 64 messages of 16 MiB in
  // chunks of 128 KiB, 8,192. 2 for each message and 7 for each chunk are 57,472, of half the bytes
  // 28,800.
  const std::string runs =
      "one,alltoall,H100,nvswitch,ib,8,8,64,8,400,2.21.5,,,,one-process-per-gpu,,a\n";
  const std::string points = "one,1073741824,20000,,\n";
  const auto method = [&](bool weighs) {
    return validated(runs, points, Predictor::simulation, 30'000, weighs).predictions[0].method;
  };
  CHECK(method(false) == Method::simulated);
  CHECK(method(true) == Method::extrapolated);
  // For the fit that has not seen a source, too.
  const Prediction both =
      validated(runs, points, Predictor::simulation, 30'000, true, "a").predictions[0];
  CHECK(both.left_out_us == both.time_us);
}

TEST_CASE("runs and points: what is wrong is named with its line") {
  CHECK(error_text([] { run_of("r,all_reducee,H100,nvswitch,none,8,1,8,,,,,,,,,s"); }) ==
        "runs.csv:2: collective: unknown collective \"all_reducee\"\n"
        "hint: did you mean \"all_reduce\"?");
  CHECK(error_text([] { run_of("r,all_reduce,H100,nvswitch,none,8,3,8,,,,,,,,,s"); }) ==
        "runs.csv:2: ranks: 8 ranks are not equal shares of 3 nodes");
  CHECK(error_text([] { run_of("r,all_reduce,H100,nvswitch,none,8,,8,,,,,,,,,s"); }) ==
        "runs.csv:2: nodes: is missing");
  CHECK(error_text([] {
          const std::string row = "r,all_reduce,H100,nvswitch,none,8,1,8,,,,,,,,,s\n";
          parse_runs(kRunColumns + row + row, "runs.csv");
        }) == "runs.csv:3: run_id: \"r\" twice\nhint: first in line 2");
  CHECK(error_text([] { validated(kTwoRuns, "three,8,1,,\n", Predictor::simulation); }) ==
        "points.csv:2: run_id: no run \"three\" is known\n"
        "hint: points and runs must belong together");
}

TEST_CASE("runs and points: a row that is not understood is left out, the others are read") {
  const std::string good = "r,all_reduce,H100,nvswitch,none,8,1,8,,,,,,,,,s\n";
  const Measurements read = parse_measurements(
      kRunColumns + good + "b,all_red,H100,nvswitch,none,8,1,8,,,,,,,,,s\n" + good +
          "c,AllGather,H100,hgx,N/A,8.0,1.0,8.0,,,,,,,,,s\nd,all_reduce,H100\n",
      "run_id,size_bytes,time_us\nr,8,1\nb,8,1\nb,16,1\nc,x,1\nc,16,N/A\nz,8,1\nz,16,1\nc,32,5\n",
      BadRows::leave_out);
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[1].id == "c");
  CHECK(read.runs[1].collective == Collective::all_gather);
  CHECK(read.runs[1].node_kind == "nvswitch");
  CHECK(read.runs_unread == 3);
  CHECK(read.points.size() == 2);
  CHECK(read.points_unread == 5);  // two of b, two of z, one of c
  CHECK(read.points_without_time == 1);
  std::vector<std::string> why;
  for (const Error& error : read.unread) why.push_back(error.reason());
  CHECK(why == std::vector<std::string>{"runs.csv:6: 3 fields, the header has 17",
                                        "runs.csv:3: collective: unknown collective \"all_red\"",
                                        "runs.csv:4: run_id: \"r\" twice",
                                        "points.csv:5: size_bytes: \"x\" is not a number from 0",
                                        "points.csv:7: run_id: no run \"z\" is known"});
}

TEST_CASE("validate: an algorithm that NCCL alone would refuse is not what was forced on a run") {
  // NVLS alone does not reach several nodes; what was measured there ran, so by NCCL's own choice.
  const std::string rest = ",H100,nvswitch,ib,8,2,16,8,400,2.27.7,";
  const ValidateResult result =
      validated("a,all_reduce" + rest + ",NVLS (forced),,one-process-per-gpu,,s\n" +
                    "b,all_reduce" + rest + ",,,one-process-per-gpu,,s\n" + "c,all_reduce" + rest +
                    "NCCL_ALGO=NVLS,,,one-process-per-gpu,,s\n",
                "a,1048576,100,,\na,16777216,100,,\nb,1048576,100,,\nc,1048576,100,,\n",
                Predictor::simulation);
  CHECK(result.predictions[0].time_us > 0);
  CHECK(result.predictions[0].time_us == result.predictions[2].time_us);
  CHECK(result.predictions[1].time_us > 0);
  CHECK(result.notes.contains("NCCL refuses NVLS alone here: by its own choice"));
  CHECK(result.left_out.size() == 1);  // that of NCCL_ALGO, which says what NCCL was told
}

TEST_CASE("validate: a network plugin that is not simulated leaves the run's own network") {
  const std::string rest = ",H100,nvswitch,ib,8,2,16,8,400,2.27.7,";
  const ValidateResult result =
      validated("a,all_reduce" + rest + "NCCL_NET=IBext_v8,,,one-process-per-gpu,,s\n" +
                    "b,all_reduce" + rest + ",,,one-process-per-gpu,,s\n",
                "a,1048576,100,,\nb,1048576,100,,\n", Predictor::simulation);
  CHECK(result.predictions[0].time_us > 0);
  CHECK(result.predictions[0].time_us == result.predictions[1].time_us);
  CHECK(result.notes.contains("NCCL_NET=IBext_v8 is not simulated: by the run's net_kind"));
}

TEST_CASE("points: the time is that printed, else from algbw, else from busbw") {
  const ValidateResult result =
      validated(kTwoRuns, "one,8000,9,1,1\none,8000,,2,1\none,8000,,,3.5\none,,7,,\none,8,,,\n",
                Predictor::nccl_model);
  REQUIRE(result.measured.points.size() == 3);
  CHECK(result.measured.points[0].time_us == 9);
  CHECK(result.measured.points[1].time_us == doctest::Approx(4));  // 8 kB at 2 GB/s
  CHECK(result.measured.points[2].time_us == doctest::Approx(4));  // x 14/8 at 3.5 GB/s
  CHECK(result.measured.points_without_size == 1);
  CHECK(result.measured.points_without_time == 1);
}

TEST_CASE("a validation predicts what bench says of the same machine") {
  const ValidateResult result = validated(
      kTwoRuns, "one,1048576,50,,\none,1048576,51,,\ntwo,1001,60,,\n", Predictor::simulation);
  CHECK(result.calls == 2);  // the same call is simulated once
  const auto bench = [](Collective collective, int nodes, Bytes size) {
    BenchConfig config;
    config.topology = "dgx-h100";
    config.version = kNccl2_21_5;  // what a Hopper run that names no release is taken for
    config.nodes = {nodes};
    config.collectives = {collective};
    config.sizes = {size};
    return microseconds_of(run_bench(config, parts()).blocks[0].rows[0].call_time());
  };
  CHECK(result.predictions[0].time_us == bench(Collective::all_reduce, 1, Bytes{1 << 20}));
  CHECK(result.predictions[1].time_us == result.predictions[0].time_us);
  CHECK(result.predictions[2].time_us == bench(Collective::all_gather, 2, Bytes{1001}));
  const std::string csv = report_csv(validate_report(result));
  CHECK(csv.find("\ntwo,all_gather,1001,60.000,") != std::string::npos);  // as asked, not rounded
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
}

/// Two columns more than kRunColumns, with their values.
MappedRun mapped_with(const std::string& fields, const std::string& names,
                      const std::string& values) {
  std::string columns = kRunColumns;
  columns.insert(columns.size() - 1, "," + names);
  return map_run(parse_runs(columns + fields + "," + values + "\n", "runs.csv").front(), parts());
}

TEST_CASE(
    "A3 Ultra, by its name or Google's pages: Google's images ask for gIB, unless the run "
    "does not") {
  const auto net = [](const std::string& environment, const std::string& notes,
                      const std::string& gpu = "H200,nvswitch,roce",
                      const std::string& address = "https://example.org : a.md") {
    const MappedRun run =
        mapped_with("r,all_reduce," + gpu + ",8,2,16,8,400,," + environment + ",,,,,s",
                    "topology_notes,source", notes + "," + address);
    return std::string(run.environment.get("NCCL_NET").value_or("unset"));
  };
  CHECK(net("", "GCP A3 Ultra; 8 GPUs") == "gIB");
  CHECK(net("NCCL_NET=IB", "GCP A3 Ultra") == "IB");
  CHECK(net("NCCL_IB_DISABLE=1", "GCP A3 Ultra") == "unset");
  CHECK(net("", "GCP A4") == "unset");
  CHECK(net("NCCL_NET=gIB", "") == "gIB");
  const std::string h200 = "H200,nvswitch,roce";
  const std::string toolkit = "https://github.com/GoogleCloudPlatform/cluster-toolkit : a.md";
  CHECK(net("", "", h200, toolkit) == "gIB");
  CHECK(net("", "", h200, "https://github.com/google/dranet : b.md") == "gIB");
  CHECK(net("", "", h200, "https://github.com/googlers/tests : c.md") == "unset");
  CHECK(net("", "", "B200,nvswitch,roce", toolkit) == "unset");
  CHECK(net("", "", "H200,nvswitch,ib", toolkit) == "unset");
}

TEST_CASE("A3 Ultra, one GPU and one NIC in unlike positions: a node has no GPUDirect RDMA") {
  const auto without = [](const std::string& row, const std::string& notes) {
    return mapped_with("r,all_reduce,H200,nvswitch,roce," + row + ",,,,,s", "topology_notes,notes",
                       "GCP A3 Ultra," + notes)
        .without_gdr;
  };
  const std::string odd = "the two ranks sit on different GPU/NIC positions";
  CHECK(without("8,2,2,1,400,,", odd) == std::vector<int>{0});
  CHECK(without("8,2,2,1,400,,", "") == std::vector<int>{});
  CHECK(without("8,2,16,8,400,,", odd) == std::vector<int>{});
  CHECK(without("8,2,2,1,400,,NCCL_NET_GDR_LEVEL=SYS", odd) == std::vector<int>{});
}

TEST_CASE("runs that differ in a variable of libfabric alone are predicted apart") {
  const std::string run =
      ",all_reduce,A100,nvlink-mesh,slingshot,4,2,8,2,200,2.21.5,"
      "NCCL_NET_GDR_LEVEL=PHB FI_CXI_RX_MATCH_MODE=software";
  const ValidateResult result =
      validated("copied" + run + ",,,,,s\ngdrcopy" + run + " FI_HMEM_CUDA_USE_GDRCOPY=1,,,,,s\n",
                "copied,1024,60,,\ngdrcopy,1024,50,,\n", Predictor::simulation);
  CHECK(result.predictions[1].time_us < result.predictions[0].time_us);
}

TEST_CASE("trays of a rack are one node, without NICs if need be") {
  const ValidateResult result = validated("r,all_reduce,GB200,nvl72,none,4,3,12,,,2.27.7,,,,,,s\n",
                                          "r,1048576,50,,\n", Predictor::simulation);
  BenchConfig config;
  config.topology = "gb200-nvl72";
  config.version = kNccl2_27_7;
  config.nodes = {3};
  config.sizes = {Bytes{1 << 20}};
  CHECK(result.predictions[0].time_us ==
        microseconds_of(run_bench(config, parts()).blocks[0].rows[0].call_time()));
}

TEST_CASE("what one rack takes tells nothing of two") {
  // Of two racks of 16 trays each GPU sends half of 8 GiB to the other rack, over two NICs of
  // 50 GB/s at most; one rack has no NIC in its way.
  const auto time_us = [](const std::string& nodes_ranks) {
    return validated("r,alltoall,GB300,nvl72,roce,4," + nodes_ranks + ",8,400,2.28.7,,,,,,s\n",
                     "r,8589934592,180191,,\n", Predictor::simulation)
        .predictions[0]
        .time_us;
  };
  CHECK(time_us("16,64") < 20e3);
  CHECK(time_us("32,128") > 4294.967296 / 0.1);
}

TEST_CASE("a run that cannot be mapped, or that NCCL refuses, is left out with the reason") {
  const std::string refused =
      "r,all_gather,H100,nvswitch,none,8,1,8,,,2.27.7,NCCL_ALGO=Tree,,,,,s\n"
      "u,all_gather,,nvswitch,none,8,1,8,,,2.27.7,,,,,,s\n";
  const ValidateResult result =
      validated(refused, "r,1024,9,,\nu,1024,9,,\n", Predictor::simulation);
  CHECK(left_out_text(result) ==
        "left out: runs.csv:2: r: all_gather: NCCL refuses the call, nothing is left to choose "
        "from:\n"
        "left out: runs.csv:3: u: gpu_model is not known\n"
        "left out in all: 2 of 2 runs, 2 of 2 points\n");
  CHECK(report_csv(validate_report(result)).find("\nr,") == std::string::npos);
}

TEST_CASE("a run that says how many channels ran has so many") {
  const ValidateResult result = validated(
      "r,all_reduce,B300,nvswitch,none,8,1,8,,,2.29.7,"
      "NCCL_ALGO=Ring NCCL_MIN_NCHANNELS=2 NCCL_MAX_NCHANNELS=2,,,,,s\n",
      "r,134217728,4009,,\n", Predictor::simulation);
  CHECK(result.predictions[0].channels == 2);
  // Two channels copy 33 GB/s each; every byte of the message passes 2 x 7/8 times.
  CHECK(result.predictions[0].time_us > 1.75 * 134217728 / 66e3);
}

TEST_CASE("sends and receives between nodes: from 2.29 on so many channels as NICs need") {
  const NodeGraph node = NodeGraph::build(load_node_type("hgx-b200"), parts());
  const auto per_peer = [&](int nodes, NcclVersion version) {
    CommunicatorConfig config;
    config.version = version;
    config.environment.set("NCCL_NVLS_ENABLE=0");  // 16 channels
    return make_communicator(Cluster(node, nodes, default_fabric(node, parts())), config)
        .p2p.per_peer;
  };
  // Four channels of 14 GB/s for a NIC of 48, fewer when eight rounds of peers share the channels.
  CHECK(per_peer(4, {29, 7}) == per_peer(4, kNccl2_30_7));
  CHECK(per_peer(4, {29, 7}) > per_peer(4, kNccl2_27_7));
  CHECK(per_peer(8, {29, 7}) == per_peer(4, {29, 7}) / 2);
  CHECK(per_peer(16, {29, 7}) == 1);
}

TEST_CASE("what takes too many slices is extrapolated over nodes") {
  const std::string run =
      "r,all_gather,H100,nvswitch,ib,8,16,32,8,400,2.21.5,"
      "NCCL_MIN_NCHANNELS=1 NCCL_MAX_NCHANNELS=1 NCCL_PROTO=LL,,,,,s\n";
  const ValidateResult whole = validated(run, "r,65536,9,,\n", Predictor::simulation);
  REQUIRE(whole.predictions[0].method == Method::simulated);
  const ValidateResult part = validated(run, "r,65536,9,,\n", Predictor::simulation, 60);
  REQUIRE(part.predictions[0].method == Method::extrapolated);
  // A ring's time grows by one hop per rank, to which its shrinking chunk adds little.
  CHECK(part.predictions[0].time_us / whole.predictions[0].time_us ==
        doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("what takes too many slices is extrapolated over nodes, with as much of each rank") {
  // On half of the nodes with as many bytes in all, messages of twice the size would go in other
  // chunks, or by another protocol.
  const auto check_of = [&](const std::string& collective, const char* environment,
                            const char* point, std::int64_t most) {
    CAPTURE(collective);
    CAPTURE(point);
    const std::string run =
        "r," + collective + ",H100,nvswitch,ib,8,16,128,8,400,2.27.7," + environment + ",,,,,s\n";
    const ValidateResult whole = validated(run, point, Predictor::simulation);
    const ValidateResult part = validated(run, point, Predictor::simulation, most, true);
    REQUIRE(whole.predictions[0].method == Method::simulated);
    REQUIRE(part.predictions[0].method == Method::extrapolated);
    CHECK(part.predictions[0].time_us / whole.predictions[0].time_us ==
          doctest::Approx(1).epsilon(0.05));
  };
  // 64 B, 2 KiB, 64 KiB and 512 KiB for each peer.
  const auto check = [&](const char* point, std::int64_t most) {
    check_of("alltoall", "", point, most);
  };
  check("r,8192,9,,\n", 500);
  check("r,262144,9,,\n", 500);
  check("r,8388608,9,,\n", 1'000);
  check("r,67108864,9,,\n", 1'700);

  // LL, and LL128.
  for (const char* collective : {"all_gather", "reduce_scatter"}) {
    check_of(collective, "NCCL_ALGO=Ring", "r,1048576,9,,\n", 2'000);
    check_of(collective, "NCCL_ALGO=Ring", "r,33554432,9,,\n", 16'000);
  }
  check_of("all_reduce", "NCCL_ALGO=Ring", "r,1048576,9,,\n", 4'000);
}

TEST_CASE("what takes too many slices is extrapolated over sizes if the message is long") {
  const std::string run = "r,all_reduce,H100,nvswitch,none,8,1,8,,,2.21.5,NCCL_ALGO=Ring,,,,,s\n";
  const std::string point = "r,1073741824,9,,\n";
  const ValidateResult whole = validated(run, point, Predictor::simulation);
  const ValidateResult part = validated(run, point, Predictor::simulation, 10'000);
  REQUIRE(part.predictions[0].method == Method::extrapolated);
  // The rate still grows a little with the size.
  CHECK(part.predictions[0].time_us / whole.predictions[0].time_us ==
        doctest::Approx(1).epsilon(0.04));
}

TEST_CASE("what is modern") {
  const auto modern = [](const char* gpu, const char* release, const char* date) {
    MeasuredRun run;
    run.gpu_model = gpu, run.nccl_version = release, run.date = date;
    return is_modern(run);
  };
  CHECK(modern("A100", "2.18.3", ""));
  CHECK_FALSE(modern("A100", "2.17.1", "2024-01-01"));
  CHECK_FALSE(modern("V100", "2.21.5", "2024-01-01"));
  CHECK(modern("A100", "", "2023-05-01"));
  CHECK_FALSE(modern("A100", "", "2022-05-01"));
  CHECK(modern("H100", "", ""));
  CHECK(modern("GB200", "", ""));
  CHECK_FALSE(modern("A100", "", ""));
}

TEST_CASE("scores: medians over points, runs and classes, the weighted percentile") {
  ValidateResult result;
  const auto add_run = [&](const std::string& gpu, const std::vector<double>& predicted) {
    MeasuredRun run;
    run.gpu_model = gpu;
    const std::size_t number = result.measured.runs.size();
    result.measured.runs.push_back(run);
    for (const double time : predicted) {
      result.measured.points.push_back({number, Bytes{1024}, "float", 10});
      result.predictions.push_back(
          {time > 0 ? Method::simulated : Method::none, time, 0, 0, "Ring", "LL", 1});
    }
  };
  add_run("A", {11, 12, 9});  // errors 0.1 0.2 0.1: 0.1; biases +0.1 +0.2 -0.1: +0.1
  add_run("A", {15});         // 0.5
  add_run("A", {5, 0});       // 0.5 and 1 without a prediction: 0.75
  add_run("B", {13});         // 0.3
  const Summary summary = summary_of(result);
  REQUIRE(summary.classes.size() == 2);
  CHECK(summary.classes[0].ranges[0].error == doctest::Approx(0.5));  // of 0.1 0.5 0.75
  CHECK(summary.classes[0].ranges[0].bias == doctest::Approx(0.1));   // of 0.1 0.5 -0.5
  CHECK(summary.classes[0].ranges[0].runs == 3);
  CHECK(summary.classes[0].ranges[1].runs == 0);
  CHECK(summary.headline[0].median.value() == doctest::Approx(0.4));  // of 0.5 and 0.3
  // Weights 1/3 each and 1: 0.1 0.3 0.5 0.75 reach 1/3 4/3 5/3 2 of 2; 0.9 of 2 is 1.8.
  CHECK(summary.headline[0].p90.value() == doctest::Approx(0.75));
  CHECK(summary.points == 7);
  CHECK(summary.predicted == 6);
  CHECK(run_scores(result).front().run == 2);

  result.measured.runs[3].net_kind = "tcp";
  result.measured.runs[3].nodes = 64;
  const Summary apart = summary_of(result);
  CHECK(apart.classes.size() == 1);
  CHECK(apart.noisy[0].error == doctest::Approx(0.3));
}

TEST_CASE("pairs: ratio of predictions against the measured ratio") {
  ValidateResult result;
  for (const double time : {20.0, 10.0}) {
    const std::size_t number = result.measured.runs.size();
    MeasuredRun run;
    run.ranks = 2;
    result.measured.runs.push_back(run);
    result.measured.points.push_back({number, Bytes{1024}, "float", 1});
    result.predictions.push_back({Method::simulated, time, 0, 0, "Ring", "LL", 1});
  }
  result.measured.pairs = {{"", 0, 1, Bytes{1024}, false, 1.6},
                           {"", 0, 1, Bytes{1024}, true, 0.8},
                           {"", 0, 1, Bytes{1024}, false, 1.05},
                           {"", 0, 1, Bytes{1024}, false, 0.5},
                           {"", 0, 1, Bytes{2048}, false, 0.5}};  // no point there
  const PairSummary summary = pair_summary(result);
  CHECK(summary.pairs.size() == 4);
  CHECK(summary.large == 3);
  CHECK(summary.right == 2);  // times double, busbw halves; not 0.5
  // |2/1.6 - 1|, |0.5/0.8 - 1|, |2/1.05 - 1|, |2/0.5 - 1| = 0.25 0.375 0.905 3
  CHECK(summary.median_error == doctest::Approx((0.375 + 2 / 1.05 - 1) / 2));
  CHECK(summary.pairs.front().pair == 3);
}

TEST_CASE("alpha-beta finds the line that made the points, from other sources only") {
  std::vector<AlphaBetaPoint> points;
  for (const char* source : {"a", "b"}) {
    for (const int ranks : {2, 8, 64}) {
      for (const double bytes : {1e3, 1e6, 1e9}) {
        const double time = 5 + 2 * std::log2(ranks) + 0.5 * (ranks - 1) + bytes / 1e5;
        points.push_back({"H", "all_reduce", source, ranks, ranks, bytes, time, true});
      }
    }
  }
  const std::vector<double> times = alpha_beta_left_out(points);
  for (std::size_t i = 0; i < points.size(); ++i)
    CHECK(times[i] == doctest::Approx(points[i].time_us).epsilon(1e-6));
  // Another source that is twice as slow: predicted as the others are.
  points.push_back({"H", "all_reduce", "c", 2, 2, 1e9, 2 * points[2].time_us, true});
  CHECK(alpha_beta_left_out(points).back() == doctest::Approx(points[2].time_us).epsilon(1e-6));
  // Other hardware of one source and one number of nodes: as everywhere else.
  points.back().hardware = "other";
  CHECK(alpha_beta_left_out(points).back() == doctest::Approx(points[2].time_us).epsilon(1e-6));
}
