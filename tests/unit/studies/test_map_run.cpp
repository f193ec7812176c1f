// Goal: the hardware, release, environment and launches of a measured run are those of its columns.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/io/bands/run_words.hpp"
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
  CHECK(mapped("r,all_reduce,H100,nvswitch,none,8,1,8,,,,,,-R 2,,,s").version == kNccl2_27_7);
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
  CHECK(map_error("r,all_reduce,H100,torus,none,8,1,8,,,,,,,,,s")
            .starts_with("unknown kind of node \"torus\""));
  CHECK(map_error("r,all_reduce,H100,nvswich,none,8,1,8,,,,,,,,,s") ==
        "unknown kind of node \"nvswich\"\nhint: did you mean \"nvswitch\"?");
  CHECK(map_error("r,all_reduce,H100,nvswitch,none,8,1,8,,,,,Rong (forced),,,,s") ==
        "algorithm: \"Rong\" is none of NCCL's");
}

TEST_CASE("mapping: kinds of node and network in the words of people") {
  for (const char* kind : {"hgx", "DGX", "SXM5", "NVSwitch", "nv-switch", "NVLink switch"})
    CHECK_MESSAGE(node_kind_word(kind) == "nvswitch", kind);
  CHECK(node_kind_word("NVLink Bridge") == "nvlink-pairs");
  CHECK(node_kind_word("nvlink_mesh") == "nvlink-mesh");
  CHECK(node_kind_word("no NVLink") == "pcie");
  CHECK(node_kind_word("NVL4") == "nvlink-mesh");
  CHECK(node_kind_word("NVLink") == "nvlink");
  CHECK(node_kind_word("torus") == "torus");
  for (const char* net : {"IB", "InfiniBand", "InfiniBand NDR", "HDR", "ib-hdr"})
    CHECK_MESSAGE(net_kind_word(net) == "ib", net);
  CHECK(net_kind_word("RoCEv2") == "roce");
  CHECK(net_kind_word("Slingshot-11") == "slingshot");
  CHECK(net_kind_word("sockets") == "tcp");
  CHECK(net_kind_word("GPUDirect-TCPXO") == "tcpxo");
  CHECK(net_kind_word("EFAv3") == "efa");
}

TEST_CASE("mapping: rates, releases, options and processes as people write them") {
  CHECK(nic_gbps_in("400") == 400);
  CHECK(nic_gbps_in("56.0") == 56);
  CHECK(nic_gbps_in("3.2") == 3.2);
  CHECK(nic_gbps_in("400 Gb/s") == 400);
  CHECK(nic_gbps_in("100GbE") == 100);
  CHECK(nic_gbps_in("50 GB/s") == 400);
  CHECK(nic_gbps_in("2x200") == 400);
  CHECK(nic_gbps_in("2 x 100 Gb/s") == 200);
  CHECK(nic_gbps_in("HDR") == 200);
  CHECK_FALSE(nic_gbps_in("fast"));
  CHECK_FALSE(nic_gbps_in("400 apples"));
  CHECK(release_in("2.27.5-1") == NcclVersion{27, 5});
  CHECK(release_in("NCCL 2.19.3+cuda12.3") == NcclVersion{19, 3});
  CHECK(release_in("CUDA 12.2.140, NCCL 2.18.5") == NcclVersion{18, 5});
  CHECK(release_in("2.29.0a1") == NcclVersion{29, 0});
  CHECK(release_in("22703") == NcclVersion{27, 3});
  CHECK(release_in("2708") == NcclVersion{7, 8});
  CHECK_FALSE(release_in("older"));
  CHECK_FALSE(release_in("12.4"));
  CHECK(option_in("-b 8 -g 8", kGpusOption) == 8);
  CHECK(option_in("-t8 -g1", kThreadsOption) == 8);
  CHECK(option_in("--ngpus=4", kGpusOption) == 4);
  CHECK_FALSE(option_in("-g N (one process)", kGpusOption));
  CHECK(processes_in("1 process per GPU") == Processes::per_gpu);
  CHECK(processes_in("MPI") == Processes::per_gpu);
  CHECK(processes_in("single-process") == Processes::per_node);
  CHECK(processes_in("srun") == Processes::unknown);
}

TEST_CASE(
    "mapping: a kind that its GPU cannot be in is the one that it is in, and a note says so") {
  const auto shape = [](const std::string& gpu, const std::string& kind, const std::string& gpus) {
    return mapped("r,all_reduce," + gpu + "," + kind + ",none," + gpus + ",1," + gpus +
                  ",,,,,,,,,s")
        .shape;
  };
  CHECK(shape("L40S", "", "4").kind == NodeKind::pcie);
  CHECK(shape("L40S", "nvlink-bridge", "4").kind == NodeKind::pcie);
  CHECK(shape("GB200", "nvswitch", "4").kind == NodeKind::nvl72);
  CHECK(shape("B200", "nvl72", "4").gpu == "GB200");
  CHECK(shape("GB200", "nvl4", "4").kind == NodeKind::nvlink_mesh);
  CHECK(shape("GB300", "nvl36x2", "4").kind == NodeKind::nvl72);
  CHECK(shape("H100", "nvlink", "8").kind == NodeKind::nvswitch);
  CHECK(shape("H100", "nvlink", "4").kind == NodeKind::nvlink_mesh);
  CHECK(shape("A40", "nvlink", "4").kind == NodeKind::nvlink_pairs);
  CHECK(shape("A40", "nvlink-mesh", "8").kind == NodeKind::nvlink_pairs);
  CHECK(shape("H200-NVL", "nvlink-mesh", "4").kind == NodeKind::nvlink_mesh);
  CHECK(shape("P100-SXM2", "nvlink-mesh", "8").kind == NodeKind::nvlink_cube_mesh);
  CHECK(shape("H100", "nvlink-mesh", "1").kind == NodeKind::single);
  CHECK(shape("A100", "", "1").kind == NodeKind::single);
  CHECK(mapped("r,all_reduce,V100,single,tcp,8,2,2,1,100,,,,,,,s").shape.gpus == 1);
  const MappedRun three = mapped("r,all_reduce,A100-PCIe,nvlink-pairs,none,3,1,3,,,,,,,,,s");
  CHECK(three.shape.gpus == 4);
  CHECK(three.gpus_used == 3);
  CHECK(three.notes.front() == "cards in pairs: one more than said, which takes no part");
  CHECK(mapped("r,all_reduce,L40S,nvlink,none,4,1,4,,,,,,,,,s").notes.front() ==
        "node_kind nvlink: this GPU has no NVLink: pcie");
}

TEST_CASE("mapping: a NIC's odd rate, Omni-Path, and cells that a run does not need") {
  CHECK(mapped("r,all_reduce,A100,nvswitch,ib,8,2,16,8,56.0,,,,,,,s").shape.nic_rate ==
        Bandwidth{7'000'000'000});
  CHECK(mapped("r,all_reduce,A100,nvswitch,roce,8,2,16,8,3.2,,,,,,,s").shape.nic_rate ==
        Bandwidth{400'000'000});
  CHECK(mapped("r,all_reduce,H100,nvswitch,roce,8.0,2.0,16.0,8.0,2x200,,,,,,,s").shape.nic ==
        "ConnectX-7");
  const MappedRun opa = mapped("r,all_reduce,V100,pcie,Omni-Path,4,2,8,1,100,,,,,,,s");
  CHECK(opa.shape.nic == "ConnectX-5");
  CHECK(opa.notes.front() == "Omni-Path: taken for InfiniBand of that rate");
  const auto row = [](const std::string& nodes_ranks) {
    return parse_measurements(kRunColumns + ("r,all_reduce,H100,nvswitch,ib,8," + nodes_ranks +
                                             ",8,fast,,,,,,,s\n"),
                              "run_id,size_bytes\n", BadRows::leave_out)
        .runs.at(0);
  };
  CHECK(map_run(row("1,8"), parts()).shape.nics == 0);  // one node needs no NICs
  CHECK(error_text([&] { map_run(row("2,16"), parts()); }) ==
        "runs.csv:2: nic_gbps: \"fast\" is no rate of a NIC up to 100000 Gb/s\n"
        "hint: 400, 400 Gb/s, 2x200");
}

TEST_CASE("mapping: what is odd in env_kv and algorithm costs no more than itself") {
  const auto run = [](const std::string& env, const std::string& algorithm) {
    return mapped("r,all_reduce,H100,nvswitch,ib,8,2,16,8,400,2.21.5," + env + "," + algorithm +
                  ",,,,s");
  };
  // A quote within the field that never ends.
  const Environment odd =
      run(R"("-x NCCL_ALGO=Ring;NCCL_PROTO=Simple NCCL_NET=""AWS")", "").environment;
  CHECK(odd.get("NCCL_NET") == "AWS");
  CHECK(odd.get("NCCL_ALGO") == "Ring");
  CHECK(odd.get("NCCL_PROTO") == "Simple");
  CHECK(run("NCCL_ALGO=ring;allreduce:tree", "").environment.get("NCCL_ALGO") ==
        "ring;allreduce:tree");
  CHECK_FALSE(run("", "Tree (forced or default)").environment.get("NCCL_ALGO"));
  const MappedRun both = run("", "Tree LL128 (forced)");
  CHECK(both.environment.get("NCCL_ALGO") == "Tree");
  CHECK(both.environment.get("NCCL_PROTO") == "LL128");
  const MappedRun mode = mapped("r,all_reduce,H100,nvswitch,none,8,1,8,,,2.21.5,,,,srun,,s");
  CHECK(mode.launches_in_a_row == 1);
  CHECK(mode.notes.front() ==
        "process_mode \"srun\" is neither one-process-per-gpu nor one-process-per-node: taken for "
        "blank");
}
