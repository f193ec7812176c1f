// Goal: the hardware, release, environment and launches of a measured run are those of its columns.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/studies/accuracy/map_run.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/studies/measured_runs.hpp"

using namespace fabricast;

namespace {

MappedRun mapped(const std::string& fields) { return map_run(run_of(fields), parts()); }

std::string map_error(const std::string& fields) {
  return error_text([&] { mapped(fields); });
}

}  // namespace

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

TEST_CASE("mapping: GeForce cards reach each other where topology_notes name a driver for it") {
  MeasuredRun run = run_of("r,all_reduce,RTX_5090,pcie,none,8,1,8,,,,,,,,,s");
  CHECK(!map_run(run, parts()).shape.peer_to_peer);
  for (const char* notes : {"tinygrad's P2P patch", "P2P driver, ReBAR", "a patched driver"}) {
    run.topology_notes = notes;
    CHECK(map_run(run, parts()).shape.peer_to_peer);
  }
  run = run_of("r,all_reduce,L40S,pcie,none,8,1,8,,,,,,,,,s");
  run.topology_notes = "P2P driver";
  CHECK(!map_run(run, parts()).shape.peer_to_peer);  // of them any driver lets
}

TEST_CASE("mapping: AWS's adapter for IP, where nic_type names it; two cards told as one NIC") {
  MeasuredRun ena = run_of("r,all_reduce,V100,single,tcp,1,2,2,1,100,,,,,,,s");
  CHECK(map_run(ena, parts()).shape.nic == "ConnectX-5");
  ena.nic_type = "ENA/EFA 100G";
  CHECK(map_run(ena, parts()).shape ==
        NodeShape{"V100_SXM2_32", NodeKind::single, 1, "ENA_100G", 1, {}, NetKind::sockets});
  const MappedRun b300 = mapped("r,all_reduce,B300,nvswitch,efa,8,2,16,8,800,,,,,,,s");
  CHECK(b300.shape == NodeShape{"B300_SXM", NodeKind::nvswitch, 8, "EFA_v4", 16, {}});
  CHECK(b300.notes.front() == "no NIC of the catalogue has 800 Gb/s for efa: 2 EFA_v4 for each");
}

TEST_CASE("mapping: a rate between those of NICs is that of the faster one, slowed; DGX-1") {
  const Bandwidth fifty{50 * std::int64_t{125'000'000}};
  const MappedRun slow = mapped("r,all_reduce,T4,pcie,tcp,4,2,8,1,50,,,,,,,s");
  CHECK(slow.shape == NodeShape{"T4", NodeKind::pcie, 4, "ConnectX-5", 1, fifty, NetKind::sockets});
  CHECK(slow.notes.front() ==
        "no NIC of the catalogue has 50 Gb/s for tcp: ConnectX-5 at that rate");
  CHECK(mapped("r,all_reduce,A10G,pcie,efa,4,2,8,1,100,,,,,,,s").shape.nic == "EFA_v2");
  // Eight V100 with six NVLinks each reach no seven others, four reach three.
  const MappedRun cube = mapped("r,all_reduce,V100,nvlink-mesh,none,8,1,8,,,,,,,,,s");
  CHECK(cube.shape.kind == NodeKind::nvlink_cube_mesh);
  CHECK(cube.notes.front() == "6 NVLinks reach no 7 others: nvlink-cube-mesh");
  CHECK(mapped("r,all_reduce,V100,nvlink-mesh,none,4,1,4,,,,,,,,,s").shape.kind ==
        NodeKind::nvlink_mesh);
  CHECK(mapped("r,all_reduce,P100,nvlink-cube-mesh,none,8,1,4,,,,,,,,,s").shape ==
        NodeShape{"P100_SXM2", NodeKind::nvlink_cube_mesh, 8, {}, 0, {}});
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
  for (const std::string rate : {"1000", "2400"})
    CHECK(map_error("r,all_reduce,H100,nvswitch,ib,8,2,16,8," + rate + ",,,,,,,s") ==
          "no NIC of the catalogue has " + rate + " Gb/s for ib: the fastest has 800 Gb/s");
  CHECK(map_error("r,all_reduce,H100,nvswitch,ibb,8,2,16,8,400,,,,,,,s") ==
        "unknown net_kind \"ibb\"\nhint: did you mean \"ib\"?");
  CHECK(map_error("r,all_reduce,MI300X,nvswitch,none,8,1,8,,,,,,,,,s") ==
        "GPU \"MI300X\" is not in the parts catalogue\n"
        "hint: NCCL runs on NVIDIA's GPUs; other makers' libraries are not simulated");
  CHECK(map_error("r,all_reduce,H100,nvswitch,none,8,1,16,,,,,,,,,s") ==
        "16 ranks a node, but 8 GPUs");
  CHECK(map_error("r,all_reduce,H100,hgx,none,8,1,8,,,,,,,,,s")
            .starts_with("unknown kind of node \"hgx\""));
  CHECK(map_error("r,all_reduce,H100,nvswitch,none,8,1,8,,,,,Rong (forced),,,,s") ==
        "algorithm: \"Rong\" is none of NCCL's");
}
