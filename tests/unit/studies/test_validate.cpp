// Goal: measured runs are read, mapped to hardware, predicted and scored as docs/validate.md says.
// Method: small CSV texts; composed nodes against presets drawn after the same machines; scores of
// results made by hand, with the arithmetic beside each check.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/io/bands/read_measured.hpp"
#include "models/io/formats/csv_table.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/accuracy/alpha_beta.hpp"
#include "models/studies/accuracy/validate_score.hpp"
#include "models/studies/accuracy/validate_text.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"
#include "text/quoting.hpp"

using namespace fabricast;

namespace {

std::string csv_error(const std::string& text) {
  return error_text([&] { CsvTable(text, "a.csv"); });
}

NodeGraph composed(const NodeShape& shape) {
  return NodeGraph::build(compose_node(shape, parts()), parts());
}

NodeGraph preset(const std::string& name) {
  return NodeGraph::build(load_node_type(name), parts());
}

/// Path types between all GPUs and NICs, by their number.
std::vector<SmiPath> paths(const NodeGraph& node) {
  std::vector<VertexId> devices;
  for (const GpuInfo& gpu : node.gpus()) devices.push_back(gpu.vertex);
  for (const NicInfo& nic : node.nics()) devices.push_back(nic.vertex);
  std::vector<SmiPath> out;
  for (const VertexId from : devices) {
    for (const VertexId to : devices) out.push_back(node.smi_path(from, to));
  }
  return out;
}

/// What NCCL chooses and how long it takes: all_reduce and alltoall of several sizes.
std::vector<std::string> outcomes(const NodeGraph& node, int nodes) {
  const Cluster cluster(node, nodes, default_fabric(node, parts()));
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  const Communicator communicator = make_communicator(cluster, config);
  std::vector<std::string> out;
  for (const Collective collective : {Collective::all_reduce, Collective::alltoall}) {
    for (const std::int64_t count : {256, 65'536, 1 << 22}) {
      const DecidedCall call = decide_call(communicator, {collective, count, 4, 0});
      const SimulationResult done = simulate(cluster, parts().software, call.run);
      out.push_back(std::string(to_text(call.run.algorithm)) + " " +
                    std::string(to_text(call.run.protocol)) + " " +
                    std::to_string(call.run.channels) + " " + std::to_string(done.time.ps));
    }
  }
  return out;
}

constexpr const char* kRunColumns =
    "run_id,collective,gpu_model,node_kind,net_kind,gpus_per_node,nodes,ranks,nics_per_node,"
    "nic_gbps,nccl_version,env_kv,algorithm,flags,process_mode,sharp,source_key\n";

MeasuredRun run_of(const std::string& fields) {
  return parse_runs(kRunColumns + fields + "\n", "runs.csv").front();
}

MappedRun mapped(const std::string& fields) { return map_run(run_of(fields), parts()); }

std::string map_error(const std::string& fields) {
  return error_text([&] { mapped(fields); });
}

ValidateResult validated(const std::string& runs, const std::string& points, Predictor predictor,
                         std::int64_t slices_max = 1'000'000, bool weighs_messages = false) {
  ValidateConfig config;
  config.weighs_messages = weighs_messages;
  config.measured.runs = parse_runs(kRunColumns + runs, "runs.csv");
  parse_points("run_id,size_bytes,time_us,algbw_GBps,busbw_GBps\n" + points, "points.csv",
               config.measured);
  config.predictor = predictor;
  config.slices_max = slices_max;
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
  // Of eight nodes that are alike one is simulated: 512 messages of 16 MiB in chunks of 128 KiB,
  // 65,536. 40 for each message and 10 for each chunk are 675,840, of half the bytes 348,160.
  const std::string runs =
      "one,alltoall,H100,nvswitch,ib,8,8,64,8,400,2.21.5,,,,one-process-per-gpu,,a\n";
  const std::string points = "one,1073741824,20000,,\n";
  const auto method = [&](bool weighs) {
    return validated(runs, points, Predictor::simulation, 400'000, weighs).predictions[0].method;
  };
  CHECK(method(false) == Method::simulated);
  CHECK(method(true) == Method::extrapolated);
}

TEST_CASE("CSV: quotes, doubled quotes, line breaks in quotes, either line end") {
  const CsvTable table("a,\"b c\"\r\n1,\"x, \"\"y\"\"\"\r\n,\"two\nlines\"\n\n3,4", "a.csv");
  REQUIRE(table.rows() == 3);
  CHECK(table.row(0).text("a") == "1");
  CHECK(table.row(0).text("b c") == "x, \"y\"");
  CHECK(table.row(1).text("a").empty());
  CHECK(table.row(1).text("b c") == "two\nlines");
  CHECK(table.row(1).place("a").line == 3);
  CHECK(table.row(2).place("a").line == 6);  // the record before took two lines, one is blank
  CHECK(table.row(2).whole("a", 1, 9) == 3);
  CHECK_FALSE(table.row(1).whole("a", 1, 9));
  CHECK_FALSE(table.row(1).whole("no such column", 1, 9));
  CHECK(csv_field("x, \"y\"") == "\"x, \"\"y\"\"\"");
}

TEST_CASE("CSV: what is broken is named with its line") {
  CHECK(csv_error("") == "a.csv: the file is empty: a header is missing");
  CHECK(csv_error("a,a\n") == "a.csv:1: column \"a\" twice");
  CHECK(csv_error("a,b\n1,2\n3\n") == "a.csv:3: 1 fields, the header has 2");
  CHECK(csv_error("a\n\"x\ny") == "a.csv:2: a quote that never ends");
  CHECK(csv_error("a\n\"x\"y\n") == "a.csv:2: text after the closing quote of a field");
  CHECK(csv_error("a\nx\"y\n") == "a.csv:2: a quote inside a field that does not begin with one");
  const CsvTable table("size,b\nx,-1\n", "a.csv");
  CHECK(error_text([&] { table.row(0).text("sizes"); }) ==
        "a.csv:1: no column \"sizes\"\nhint: \"size\" is there");
  CHECK(error_text([&] { table.row(0).whole("size", 1, 9); }) ==
        "a.csv:2: size: \"x\" is not a whole number from 1 to 9");
  CHECK(error_text([&] { table.row(0).positive("b"); }) ==
        "a.csv:2: b: \"-1\" is not a number from 0");
}

TEST_CASE("composed nodes have the paths of the presets, and give the same calls and times") {
  const auto rate = [](std::int64_t gbps) { return Bandwidth{gbps * 125'000'000}; };
  const auto check = [](const NodeShape& shape, const std::string& name) {
    INFO(name);
    const NodeGraph made = composed(shape), drawn = preset(name);
    CHECK(paths(made) == paths(drawn));
    for (std::size_t gpu = 0; gpu < drawn.gpus().size(); ++gpu)
      CHECK(made.gpus()[gpu].nvswitch_links == drawn.gpus()[gpu].nvswitch_links);
    for (const int nodes : {1, 2}) CHECK(outcomes(made, nodes) == outcomes(drawn, nodes));
  };
  check({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 8, {}}, "dgx-h100");
  check({"H100_NVL", NodeKind::nvlink_pairs, 4, "ConnectX-7", 2, {}}, "h100-pcie-nvl-4");
  check({"L40S", NodeKind::pcie, 8, "ConnectX-7", 2, rate(200)}, "pcie-8");
  check({"GH200", NodeKind::nvlink_mesh, 4, "Cassini", 4, {}}, "gh200-4");
  check({"GB200", NodeKind::nvl72, 4, "ConnectX-7", 4, {}}, "gb200-nvl72");
  if (kSanitized) return;  // of the first one's kind
  check({"B200_SXM", NodeKind::nvswitch, 8, "ConnectX-7", 8, {}}, "hgx-b200");
  check({"A100_SXM4_80", NodeKind::nvswitch, 8, "ConnectX-6", 8, {}}, "dgx-a100");
}

TEST_CASE("composed nodes: links of a mesh, NICs spread evenly, a file that reads back") {
  const NodeGraph mesh = composed({"A100_SXM4_80", NodeKind::nvlink_mesh, 4, "Cassini", 2, {}});
  for (const GpuInfo& from : mesh.gpus()) {
    for (const GpuInfo& to : mesh.gpus())
      CHECK(mesh.nvlinks_between(from.vertex, to.vertex) == (from.vertex == to.vertex ? 0 : 4));
  }
  // One NIC for every two GPUs stands beside the first of them.
  const NodeGraph half = composed({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 4, {}});
  REQUIRE(half.nics().size() == 4);
  for (std::size_t nic = 0; nic < 4; ++nic) {
    const VertexId at = half.nics()[nic].vertex;
    CHECK(half.smi_path(half.gpus()[2 * nic].vertex, at) == SmiPath::pix);
    CHECK(half.smi_path(half.gpus()[2 * nic + 1].vertex, at) != SmiPath::pix);
  }
  const NodeGraph four = composed({"H100_SXM5", NodeKind::nvswitch, 8, "EFA_v2", 32, {}});
  for (std::size_t nic = 0; nic < 32; ++nic) {
    CHECK(four.smi_path(four.gpus()[nic / 4].vertex, four.nics()[nic].vertex) == SmiPath::pix);
  }
  // Two ports of a card: functions of one bus id, with one GUID.
  const Bandwidth half_rate{200 * std::int64_t{125'000'000}};
  const NodeGraph cards =
      composed({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 16, half_rate, {}, 2});
  REQUIRE(cards.nics().size() == 16);
  for (std::size_t nic = 0; nic < 16; nic += 2) {
    const NicInfo &one = cards.nics()[nic], &two = cards.nics()[nic + 1];
    CHECK(one.guid == two.guid);
    CHECK(one.port == 1);
    CHECK(two.port == 2);
    const std::string a = cards.vertex(one.vertex).busid, b = cards.vertex(two.vertex).busid;
    CHECK(a.substr(0, a.size() - 1) == b.substr(0, b.size() - 1));
    CHECK(a.back() == '0');
    CHECK(b.back() == '1');
    CHECK(cards.smi_path(cards.gpus()[nic / 2].vertex, two.vertex) == SmiPath::pix);
    if (nic > 0) CHECK(one.guid != cards.nics()[nic - 1].guid);
  }
  const std::string text = topo_yaml(half, parts());
  CHECK(paths(NodeGraph::build(parse_node_type(text, "x.yaml"), parts())) == paths(half));
}

TEST_CASE("composed nodes: a mesh of A100 has a GPU on each NUMA node, and every second a NIC") {
  const NodeGraph node = composed({"A100_SXM4_80", NodeKind::nvlink_mesh, 4, "Cassini", 2, {}});
  CHECK(node.cpus().size() == 4);
  for (int gpu = 0; gpu < 4; ++gpu) {
    for (int nic = 0; nic < 2; ++nic) {
      const SmiPath path = node.smi_path(node.gpus()[static_cast<std::size_t>(gpu)].vertex,
                                         node.nics()[static_cast<std::size_t>(nic)].vertex);
      CHECK((path == SmiPath::sys) == (gpu != 2 * nic + 1));  // as the Polaris page has it
    }
  }
}

TEST_CASE("composed nodes: what no such server has") {
  const auto error = [](const NodeShape& shape) {
    return error_text([&] { compose_node(shape, parts()); });
  };
  CHECK(error({"L40S", NodeKind::nvswitch, 8, {}, 0, {}}) ==
        "8 x L40S nvswitch: this GPU is on no NVSwitches");
  CHECK(error({"V100_SXM2_32", NodeKind::nvlink_mesh, 8, {}, 0, {}}) ==
        "8 x V100_SXM2_32 nvlink-mesh: 6 NVLinks do not reach 7 other GPUs");
  CHECK(error({"A40", NodeKind::nvlink_pairs, 3, {}, 0, {}}) ==
        "3 x A40 nvlink-pairs: cards in pairs are even in number");
  CHECK(error({"L40S", NodeKind::nvlink_pairs, 2, {}, 0, {}}) ==
        "2 x L40S nvlink-pairs: this GPU takes no NVLink bridge");
  CHECK(error({"H100_SXM5", NodeKind::single, 2, {}, 0, {}}) ==
        "2 x H100_SXM5 single: it is one GPU");
  CHECK(error({"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 12, {}, {}, 2}) ==
        "8 x H100_SXM5 nvswitch, 12 x ConnectX-7, 2 ports a card: cards of 2 ports: as many for "
        "every GPU");
  CHECK(error({"X1", NodeKind::pcie, 2, {}, 0, {}}) ==
        "no server with X1 is known here\nhint: write its topology as YAML (docs/topologies.md)");
}

TEST_CASE("mapping: hardware, GPUs used, NICs only where there are several nodes") {
  const MappedRun run = mapped("r,all_reduce,A100,nvlink-mesh,slingshot,4,8,16,2,200,,,,,,,s");
  CHECK(run.shape == NodeShape{"A100_SXM4_80", NodeKind::nvlink_mesh, 4, "Cassini", 2, {}});
  CHECK(run.nodes == 8);
  CHECK(run.gpus_used == 2);
  CHECK(mapped("r,all_reduce,GH200,nvlink-mesh,none,4,1,4,4,200,,,,,,,s").shape.nics == 0);
  CHECK(mapped("r,all_reduce,A100-PCIe,pcie,none,,1,2,,,,,,,,,s").shape.gpus == 2);
  CHECK(mapped("r,all_reduce,V100,pcie,none,4,1,2,,,,,,,,,s").shape.gpu == "V100_PCIe");
  CHECK(mapped("r,all_reduce,rtx 2080 ti,nvlink-pairs,none,2,1,2,,,,,,,,,s").shape.gpu ==
        "RTX_2080_Ti");
  CHECK(mapped("r,all_reduce,A100,nvswitch,efa,8,2,16,4,100,,,,,,,s").shape.nic == "EFA_v1");
  CHECK(mapped("r,all_reduce,H100,nvswitch,efa,8,2,16,32,100,,,,,,,s").shape.nic == "EFA_v2");
  // Two ports of a card are one NIC to NCCL.
  CHECK(mapped("r,all_reduce,H100,nvswitch,roce,8,2,16,16,200,,,,,,,s").shape ==
        NodeShape{"H100_SXM5", NodeKind::nvswitch, 8, "ConnectX-7", 8, {}, NetKind::roce});
  CHECK(mapped("r,all_reduce,A100,nvswitch,tcp,8,2,16,8,200,,,,,,,s").shape.network ==
        NetKind::sockets);
}

TEST_CASE("mapping: versions, defaults for blanks") {
  const auto version = [](const std::string& gpu, const std::string& text) {
    return mapped("r,all_reduce," + gpu + ",nvswitch,none,8,1,8,,," + text + ",,,,,,s").version;
  };
  CHECK(version("H100", "2.18") == NcclVersion{18, 6});
  CHECK(version("H100", "2.8.3?") == NcclVersion{18, 6});
  CHECK(version("H100", "2.22.3") == NcclVersion{22, 3});
  CHECK(version("H100", "2.29.7") == NcclVersion{29, 7});
  CHECK(version("H100", "2.31.2") == NcclVersion{31, 2});
  CHECK(version("H100", "") == kNccl2_21_5);
  CHECK(version("H100", "older") == kNccl2_21_5);
  CHECK(version("B200", "") == kNccl2_27_7);
  CHECK(mapped("r,all_reduce,B200,nvswitch,none,8,1,8,,,,,,,,,s").notes ==
        std::vector<std::string>{"nccl_version is not known: 2.27.7",
                                 "process_mode is blank: one process per GPU"});
}

TEST_CASE("mapping: environment, forced algorithms, SHARP, processes") {
  const auto run = [](const std::string& env, const std::string& rest) {
    return mapped("r,all_reduce,H100,nvswitch,ib,8,2,16,8,400,2.21.5," + env + "," + rest);
  };
  const MappedRun one = run(R"("NCCL_NET=""AWS Libfabric"" NCCL_IB_HCA=mlx5_7 NCCL_CROSS_NIC=1")",
                            "Ring (forced),,,,s");
  CHECK(one.environment.get("NCCL_NET") == "AWS Libfabric");
  CHECK(one.environment.get("NCCL_CROSS_NIC") == "1");
  CHECK_FALSE(one.environment.get("NCCL_IB_HCA"));
  CHECK(one.environment.get("NCCL_ALGO") == "Ring");
  CHECK(one.notes.front() == "NCCL_IB_HCA speaks of that machine's devices: left out");
  CHECK(run("NCCL_ALGO=Tree", "Ring (forced),,,,s").environment.get("NCCL_ALGO") == "Tree");
  CHECK_FALSE(run("", "Ring,,,,s").environment.get("NCCL_ALGO"));
  const MappedRun sharp = run("", "CollnetSHARP (forced),,,1,s");
  CHECK(sharp.sharp);
  CHECK(sharp.environment.get("NCCL_COLLNET_ENABLE") == "1");
  CHECK(sharp.environment.get("NCCL_ALGO") == "CollnetDirect,CollnetChain");
  CHECK(run("NCCL_MIN_NCHANNELS=4 NCCL_MAX_NCHANNELS=4", ",,,,s").channels == 4);
  CHECK_FALSE(run("NCCL_MIN_NCHANNELS=4 NCCL_MAX_NCHANNELS=8", ",,,,s").channels);
  CHECK(run("", ",-b 8 -g 8,,,s").launches_in_a_row == 8);
  CHECK(run("", ",-t 2 -g 2,,,s").launches_in_a_row == 2);
  CHECK(run("", ",-t 8 -g 1,one-process-per-node,,s").launches_in_a_row == 1);
  CHECK(run("", ",-g 8 -G 1,,,s").launches_in_a_row == 0);
  CHECK(run("", ",-g 8 -G 0,,,s").launches_in_a_row == 8);
  CHECK(run("", ",-g 3,,,s").launches_in_a_row == 1);  // 3 do not divide 8
  CHECK(run("", ",-g 8,one-process-per-gpu,,s").launches_in_a_row == 1);
  CHECK(run("", ",,one-process-per-node,,s").launches_in_a_row == 8);
}

TEST_CASE("mapping: hardware that is not known is named, never guessed") {
  CHECK(map_error("r,all_reduce,,nvswitch,none,8,1,8,,,,,,,,,s") == "gpu_model is not known");
  CHECK(map_error("r,all_reduce,H100,,none,8,1,8,,,,,,,,,s") == "node_kind is not known");
  CHECK(map_error("r,all_reduce,H100,nvswitch,,8,2,16,8,400,,,,,,,s") == "net_kind is not known");
  CHECK(map_error("r,all_reduce,H100,nvswitch,ib,8,2,16,,400,,,,,,,s") ==
        "nics_per_node is not known");
  CHECK(map_error("r,all_reduce,H100,nvswitch,ib,8,2,16,8,,,,,,,,s") == "nic_gbps is not known");
  CHECK(map_error("r,all_reduce,H100,nvswitch,ib,8,2,16,8,300,,,,,,,s") ==
        "no NIC of the catalogue has 300 Gb/s for ib");
  CHECK(map_error("r,all_reduce,H100,nvswitch,ibb,8,2,16,8,400,,,,,,,s") ==
        "unknown net_kind \"ibb\"\nhint: did you mean \"ib\"?");
  CHECK(map_error("r,all_reduce,MI300X,nvswitch,none,8,1,8,,,,,,,,,s") ==
        "GPU \"MI300X\" is not in the parts catalogue");
  CHECK(map_error("r,all_reduce,H100,nvswitch,none,8,1,16,,,,,,,,,s") ==
        "16 ranks a node, but 8 GPUs");
  CHECK(map_error("r,all_reduce,H100,hgx,none,8,1,8,,,,,,,,,s")
            .starts_with("unknown kind of node \"hgx\""));
  CHECK(map_error("r,all_reduce,H100,nvswitch,none,8,1,8,,,,,Rong (forced),,,,s") ==
        "algorithm: \"Rong\" is none of NCCL's");
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

TEST_CASE("a run that cannot be mapped, or that NCCL refuses, is left out with the reason") {
  const std::string refused =
      "r,all_gather,H100,nvswitch,none,8,1,8,,,2.27.7,NCCL_ALGO=Tree,,,,,s\n"
      "u,all_gather,,nvswitch,none,8,1,8,,,2.27.7,,,,,,s\n";
  const ValidateResult result =
      validated(refused, "r,1024,9,,\nu,1024,9,,\n", Predictor::simulation);
  CHECK(left_out_text(result) ==
        "left out: r: all_gather: NCCL refuses the call, nothing is left to choose from:\n"
        "left out: u: gpu_model is not known\n");
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
  const NodeGraph node = preset("hgx-b200");
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
  CHECK(summary.headline[0].median == doctest::Approx(0.4));  // of 0.5 and 0.3
  // Weights 1/3 each and 1: 0.1 0.3 0.5 0.75 reach 1/3 4/3 5/3 2 of 2; 0.9 of 2 is 1.8.
  CHECK(summary.headline[0].p90 == doctest::Approx(0.75));
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
