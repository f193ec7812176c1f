// `fabricast import`: what files say, whole and damaged. tests/data/logs holds real ones.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include <sstream>

#include <nlohmann/json.hpp>

#include "models/io/formats/text_file.hpp"
#include "models/io/imports/import_file.hpp"
#include "models/studies/decide/logged_choices.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

const std::string kFolder = FABRICAST_TEST_DATA "/logs/";

struct Expected {
  std::string file, kind;
  std::vector<std::string> lines;  ///< "key: value", "note: words"
};

std::vector<Expected> expected_readings() {
  std::istringstream in(read_text_file(kFolder + "expected.txt"));
  std::vector<Expected> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      out.push_back({line, {}, {}});
    } else if (out.back().kind.empty()) {
      out.back().kind = line.substr(2);
    } else {
      out.back().lines.push_back(line.substr(2));
    }
  }
  return out;
}

bool has_remark(const ImportedFile& read, const std::string& words) {
  return std::ranges::any_of(read.remarks, [&](const std::string& remark) {
    return remark.find(words) != std::string::npos;
  });
}

/// Before every line, or between lines.
std::string with_prefix(const std::string& text, const std::string& prefix,
                        const char* end = "\n") {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) out += prefix + line + end;
  return out;
}

/// As Docker's json-file driver keeps each line.
std::string in_docker_json(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);)
    out += nlohmann::json{{"log", line + "\n"}}.dump(-1, ' ', true,
                                                     nlohmann::json::error_handler_t::replace) +
           "\n";
  return out;
}

}  // namespace

TEST_CASE("import: real files say what they say") {
  const std::vector<Expected> all = expected_readings();
  CHECK(all.size() >= 30);
  for (const Expected& expected : all) {
    const ImportedFile read = import_text(read_text_file(kFolder + expected.file), expected.file);
    CAPTURE(expected.file);
    CHECK(read.kind == expected.kind);
    for (const std::string& line : expected.lines) {
      const std::size_t colon = line.find(": ");
      const std::string key = line.substr(0, colon), value = line.substr(colon + 2);
      CAPTURE(key);
      if (key == "note") {
        CHECK(has_remark(read, value));
      } else {
        CHECK(read.value(key) == value);
      }
    }
  }
}

TEST_CASE("import: what launchers and terminals add changes nothing") {
  for (const Expected& expected : expected_readings()) {
    if (expected.file.ends_with(".json") || expected.file.ends_with(".xml")) continue;
    CAPTURE(expected.file);
    const std::string text = read_text_file(kFolder + expected.file);
    const ImportedFile plain = import_text(text, expected.file);
    const bool has_prefixes = has_remark(plain, "rank prefixes");
    std::vector<std::string> variants = {with_prefix(text, "", "\r\n"),
                                         with_prefix(text, "\x1b[32m", "\x1b[0m\n")};
    if (!has_prefixes) {
      variants.push_back(with_prefix(text, "[1,0]<stdout>:"));
      variants.push_back(with_prefix(text, " 3: "));
    }
    variants.push_back(in_docker_json(text));
    for (const std::string& variant : variants) {
      const ImportedFile read = import_text(variant, expected.file);
      CHECK(read.kind == plain.kind);
      CHECK(read.found == plain.found);
    }
  }
}

TEST_CASE("import: cut anywhere, a file is read as far as it goes") {
  for (const Expected& expected : expected_readings()) {
    const std::string text = read_text_file(kFolder + expected.file);
    CAPTURE(expected.file);
    for (std::size_t i = 1; i < 8; ++i) {
      const ImportedFile read = import_text(text.substr(0, text.size() * i / 8), expected.file);
      CHECK_FALSE(imported_text(read, "f").empty());
      if (read.kind.empty()) CHECK(has_remark(read, "nothing in it is known"));
    }
  }
}

TEST_CASE("import: two files in one, and none") {
  const std::string topo = read_text_file(kFolder + "dgx1v-mlx5-columns-tabs.txt");
  const std::string test = read_text_file(kFolder + "dgxc-h100-pciid-long.txt");
  CHECK(import_text(test + topo, "f").kind == "nvidia-smi topo -m");
  CHECK(import_text("", "f").kind.empty());
  CHECK(import_text("dear diary\n", "f").kind.empty());
  CHECK(error_text([] { import_text(std::string("a\0b", 3), "f"); }) ==
        "f: this is no text\nhint: give the file as the tool printed it");
}

TEST_CASE("import: ports that cannot be used are told apart") {
  const auto port = [](const std::string& name, const std::string& type, const std::string& state,
                       const std::string& rate, const std::string& layer, const std::string& guid) {
    return "CA '" + name + "'\n\tCA type: " + type + "\n\tSystem image GUID: " + guid +
           "\n\tPort 1:\n\t\tState: " + state + "\n\t\tPhysical state: LinkUp\n\t\tRate: " + rate +
           "\n\t\tLink layer: " + layer + "\n";
  };
  const ImportedFile read = import_text(
      port("mlx5_0", "MT4129", "Active", "400", "InfiniBand", "0x1") +
          port("mlx5_1", "MT4129", "Active", "200", "InfiniBand", "0x2") +
          port("mlx5_2", "MT4129", "Initializing", "400", "InfiniBand", "0x3") +
          port("mlx5_3", "MT4125", "Active", "100", "Ethernet", "0x4") +
          port("mlx5_4", "MT4129", "Active", "100", "InfiniBand", "0x5") +
          port("mlx5_5", "MT4129", "Active", "100", "InfiniBand", "0x5") +
          port("mlx5_6", "MT4129", "Active", "100", "InfiniBand", "0x5") + "ibpanic: [1234] main\n",
      "f");
  CHECK(read.kind == "ibstat");
  CHECK(read.value("infiniband ports up") == "mlx5_0 mlx5_1");
  CHECK(read.value("ethernet ports up") == "mlx5_3");
  CHECK(read.value("not usable") == "mlx5_2");
  CHECK(read.value("bridges to NVSwitches") == "mlx5_4 mlx5_5 mlx5_6");
  CHECK(has_remark(read, "mlx5_1: 200 Gb/s on a ConnectX-7 of 400"));
  CHECK(has_remark(read, "mlx5_2: the link is up but not usable"));
  CHECK(has_remark(read, "the list is incomplete"));
}

TEST_CASE("import: NCCL's log of old and new releases") {
  const ImportedFile read = import_text(
      "h:1:2 [0] NCCL INFO NCCL version 2.24.3+cuda12.4\n"
      "h:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n"
      "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev 0 - Init START\n"
      "h:1:2 [0] NCCL INFO Channel 00/16 :    0   7   6\n"
      "h:1:2 [0] NCCL INFO Channel 01/16 :    0   1   2\n"
      "h:1:2 [0] NCCL INFO Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/4(3)/GDRDMA/Shared\n"
      "h:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 9[1] [send] via NET/IB/4\n"
      "h:1:2 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 "
      "channel{Lo..Hi}={0..3}\n"
      "h:1:2 [0] NCCL INFO 8 Bytes -> Algo 0 proto 0 time 12.5\n",
      "f");
  CHECK(read.kind == "NCCL_DEBUG log");
  CHECK(read.value("version") == "2.24.3+cuda12.4");
  CHECK(read.value("settings") == "NCCL_ALGO=Ring");
  CHECK(read.value("ranks") == "16");
  CHECK(read.value("channels") == "16");
  CHECK(read.value("ring 0") == "0 7 6");
  CHECK(read.value("transports") == "NET/IB, NET/IB/GDRDMA/Shared");
  CHECK(read.value("GPUDirect RDMA") == "1 of 2 network connections");
  CHECK(read.value("choices") == "AllReduce: 1048576 RING LL128 x4; 8 Tree LL");
}

TEST_CASE("import: NVLS is on with channels or where NCCL says so") {
  const auto nvls = [](const std::string& line) {
    return import_text(
               "h:1:2 [0] NCCL INFO NCCL version 2.21.5\nh:1:2 [0] NCCL INFO " + line + "\n", "f")
        .value("NVLS");
  };
  CHECK(nvls("16 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels") == "yes");
  CHECK(nvls("24 coll channels, 0 collnet channels, 0 nvls channels, 32 p2p channels") == "no");
  CHECK(nvls("NVLS multicast support is not available on dev 0") == "no");
  CHECK(nvls("NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)") == "yes");
  CHECK(nvls("NCCL_NVLS_ENABLE set by environment to 0.") == "no");
  CHECK(nvls("NVLS comm 0x1 headRank 0") == "yes");
  CHECK(nvls("Connected all rings").empty());
}

TEST_CASE("import: PyTorch's text names the release that NCCL names with CUDA") {
  const char* const error =
      "RuntimeError: NCCL error in: a.cpp:1691, unhandled system error, NCCL version 2.19.3\n"
      "ncclSystemError: System call (e.g. socket, malloc) failed.\n"
      "Last error:\n"
      "socketStartConnect: Connect to 127.0.0.1<1> failed : Connection refused\n";
  const ImportedFile read =
      import_text("h:1:2 [0] NCCL INFO NCCL version 2.19.3+cuda12.3\n" + std::string(error), "f");
  CHECK(read.value("version") == "2.19.3+cuda12.3");
  CHECK(!has_remark(read, "several releases"));
  CHECK(read.value("errors") == "ncclSystemError");
  CHECK(read.value("last error") ==
        "socketStartConnect: Connect to 127.0.0.1<1> failed : Connection refused");
  CHECK(has_remark(read, "the last error: the other process has gone"));
  CHECK(import_text(error, "f").kind == "NCCL_DEBUG log");
}

TEST_CASE("import: warnings keep their figures and their host, and known lines their meaning") {
  const ImportedFile read = import_text(
      "n1:1:2 [0] net_ib.cc:9 NCCL WARN NET/IB : Got completion from peer 10.0.0.5<1> with "
      "status=12 opcode=0\n"
      "n1:1:3 [1] net_ib.cc:9 NCCL WARN NET/IB : Got completion from peer 10.0.0.6<2> with "
      "status=12 opcode=0\n"
      "n1:1:2 [0] NCCL INFO P2P is disabled between connected GPUs 6 and 7.\n",
      "f");
  CHECK(
      has_remark(read, "10.0.0.5<1> with status=12 opcode=0 (n1, 2 times): RETRY_EXC_ERR (12): "));
  CHECK(has_remark(read, "NCCL says: P2P is disabled between connected GPUs 6 and 7. (n1): "));
  // What lacks for RDMA does not matter where RDMA is used.
  const std::string lacks = "h:1:2 [0] NCCL INFO NET/IB : No device found.\n";
  CHECK(has_remark(import_text(lacks, "f"), "No device found"));
  CHECK(!has_remark(import_text(lacks + "h:1:2 [0] NCCL INFO Using network AWS Libfabric\n", "f"),
                    "No device found"));
}

TEST_CASE("import: hosts of a log are compared") {
  const std::string one = "a:1:2 [0] NCCL INFO ", other = "b:1:2 [0] NCCL INFO ";
  const ImportedFile read = import_text(
      one + "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB e\n" + other +
          "NET/IB : Using [0]mlx5_0:1/IB ; OOB e\n" + one + "Using network IB\n" + other +
          "Using network Socket\n" + one +
          "Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA\n" + other +
          "Channel 00/0 : 1[1] -> 2[0] [receive] via NET/IB/0\n" + one +
          "4 coll channels, 4 p2p channels\n" + other + "2 coll channels, 4 p2p channels\n" + one +
          "NCCL_ALGO set by environment to Ring\n" + other +
          "NCCL_ALGO set by environment to Tree\n" + one +
          "NCCL_PROTO set by environment to Simple\n",
      "f");
  CHECK(has_remark(read, "hosts differ in HCAs: mlx5_0:1/IB: b; mlx5_0:1/IB mlx5_1:1/IB: a"));
  CHECK(has_remark(read, "hosts differ in the network: IB: a; Socket: b"));
  CHECK(has_remark(read, "hosts differ in GPUDirect RDMA: off: b; on: a"));
  CHECK(has_remark(read, "hosts differ in channels: 2: b; 4: a"));
  CHECK(has_remark(read, "hosts differ in NCCL_ALGO: Ring: a; Tree: b"));
  CHECK(!has_remark(read, "NCCL_PROTO"));  // b may not have printed it
}

TEST_CASE("import: who began to initialise and did not come to the end") {
  const auto line = [](const char* host, int rank, const char* what) {
    return fmt::format("{}:1:2 [0] NCCL INFO comm 0x{} rank {} nranks 4 - Init {}\n", host, rank,
                       rank, what);
  };
  const std::string begun = line("a", 0, "START") + line("a", 1, "START") + line("b", 2, "START");
  CHECK(has_remark(import_text(begun + line("a", 0, "COMPLETE"), "f"),
                   "Init START without Init COMPLETE: rank 1 (a), 2 (b)"));
  CHECK(!has_remark(import_text(line("a", 0, "START") + line("a", 0, "COMPLETE"), "f"), "Init"));
  // An excerpt: one line, or one that ends before.
  CHECK(!has_remark(import_text(line("a", 0, "START"), "f"), "Init"));
  CHECK(!has_remark(import_text(begun + "a:1:2 [0] NCCL INFO Channel 00/02 :    0   1\n", "f"),
                    "Init"));
}

TEST_CASE("import: lines of NCCL that touch are taken apart") {
  const ImportedFile read = import_text(
      "NCCL version 2.4.8+cuda10.1h:1:2 [0] NCCL INFO Bootstrap : Using [0]lo:127.0.0.1<0>\n"
      "n1:1:2 [1] NCCL INFO NCCL_IB_DISABLE set by environment to 1.n1:1:2 [1] NCCL INFO Using "
      "network Socketn1:1:2 [1] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n",
      "f");
  CHECK(read.value("version") == "2.4.8+cuda10.1");
  CHECK(read.value("settings") == "NCCL_IB_DISABLE=1");
  CHECK(read.value("network") == "Socket");
  CHECK(read.value("nodes") == "2");
}

TEST_CASE("import: a matrix without a header, and figures that touch") {
  const ImportedFile read = import_text(
      "GPU0     X      NV18    PIX     SYS     0-55,112-167 0N/A\n"
      "GPU1    NV18     X      SYS     PIX     56-111,168-2231               N/A\n",
      "f");
  CHECK(read.value("gpus") == "2");
  CHECK(read.value("gpu-nic") == "GPU0 PIX NIC0; GPU1 PIX NIC1");
  CHECK(read.value("numa") == "0: 0-55,112-167 (GPU0)");
  CHECK(has_remark(read, "2 columns beyond the GPUs are taken for NICs"));
  CHECK(has_remark(read, "\"56-111,168-2231\": there is no core 2231"));
}

TEST_CASE("import: a GPU without NVLink among GPUs with it is a fault, no virtual machine") {
  const std::string header = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n";
  const ImportedFile fault = import_text(header +
                                             "GPU0\tX\tNV12\tSYS\t0-31\t0\n"
                                             "GPU1\tNV12\tX\tSYS\t0-31\t0\n"
                                             "GPU2\tSYS\tSYS\tX\t0-31\t0\n",
                                         "f");
  CHECK(has_remark(fault, "no NVLink of GPU2, where the other GPUs have NVLink"));
  CHECK(!has_remark(fault, "virtual machines"));
  const ImportedFile virtual_machine = import_text(header +
                                                       "GPU0\tX\tSYS\tSYS\t0-31\t0\n"
                                                       "GPU1\tSYS\tX\tSYS\t0-31\t0\n"
                                                       "GPU2\tSYS\tSYS\tX\t0-31\t0\n",
                                                   "f");
  CHECK(has_remark(virtual_machine, "virtual machines"));
  CHECK(!has_remark(virtual_machine, "no NVLink of"));
}

TEST_CASE("import: a dump of PyTorch's Flight Recorder is for hang") {
  CHECK(error_text([] {
          import_text("{\"nccl_version\": \"2.27.5\", \"pg_config\": {}}", "f");
        }).find("fabricast hang takes the dumps") != std::string::npos);
}

TEST_CASE("import: the watchdog's ranks are those of the group where suspects are looked for") {
  const auto timeout = [](int of_job, int of_group, const char* call) {
    return fmt::format(
        "[rank{}]:[E1206 18:44:12 ProcessGroupNCCL.cpp:607] [Rank {}] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=7, OpType={}, Timeout(ms)=600000) ran for 600061 ms\n",
        of_job, of_group, call);
  };
  const char* const scatter = "_REDUCE_SCATTER_BASE, NumelIn=4096, NumelOut=1024";
  const ImportedFile group =
      import_text(timeout(12, 0, scatter) + timeout(13, 1, scatter) + timeout(14, 2, scatter), "f");
  CHECK(group.value("ranks that timed out") == "12-14");
  CHECK(has_remark(group, "rank 3 of the group reports nothing"));
  CHECK(!has_remark(group, "0-3"));
  // Rank 0 of two groups: nobody can be missed.
  const ImportedFile groups = import_text(timeout(0, 0, scatter) + timeout(4, 0, scatter), "f");
  CHECK(!has_remark(groups, "nothing: suspect"));
  // 4096 / 1024 = 4 ranks, of which 0 and 1 call another thing than 2.
  const ImportedFile unlike = import_text(timeout(0, 0, scatter) + timeout(1, 1, scatter) +
                                              timeout(2, 2, "ALLREDUCE, NumelIn=4, NumelOut=4"),
                                          "f");
  CHECK(has_remark(unlike,
                   "rank 0 calls _REDUCE_SCATTER_BASE 4096 -> 1024 and rank 2 calls "
                   "ALLREDUCE 4 -> 4 as number 7: they meet and do not fit"));
  CHECK(!has_remark(unlike, "nothing: suspect"));
  CHECK(!has_remark(unlike, "nobody of them ran ahead"));
  // Shares of an all-to-all may differ.
  const ImportedFile exchange = import_text(timeout(0, 0, "ALLTOALL, NumelIn=4, NumelOut=6") +
                                                timeout(1, 1, "ALLTOALL, NumelIn=6, NumelOut=4"),
                                            "f");
  CHECK(!has_remark(exchange, "do not fit"));
}

TEST_CASE("import: what NCCL says beside the watchdog is told, too") {
  const ImportedFile read = import_text(
      "n1:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
      "n1:1:2 [0] NCCL INFO Using network Socket\n"
      "n1:1:3 [0] net_ib.cc:16 NCCL WARN NET/IB : Got async event : port error\n"
      "n1:1:3 [0] net_ib.cc:16 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error\n"
      "n1:1:3 [0] net_ib.cc:12 NCCL WARN NET/IB : Got completion from peer 1 with status=12\n"
      "[rank0]:[E626 06:24:44 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 9 Rank 0] Exception "
      "(either an error or timeout) detected by watchdog at work: 610\n"
      "[rank0]:[E626 06:24:44 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, "
      "Timeout(ms)=600000)\n",
      "f");
  CHECK(read.kind == "PyTorch watchdog log");
  CHECK(read.value("process groups") == "9");
  CHECK(read.value("events before") ==
        "RETRY_EXC_ERR on an HCA, port error on an HCA of n1, port error on mlx5_3 of n1");
  CHECK(read.value("network") == "Socket");
  CHECK(read.value("settings") == "NCCL_IB_DISABLE=1");
  CHECK(import_text("[rank0]:[E1206 a.cpp:1413] [PG 0 (default_pg) Rank 0] Heartbeat monitor timed "
                    "out! Process will be terminated\n",
                    "f")
            .value("no heartbeat") == "rank 0");
}

TEST_CASE("import: calls of PyTorch's traces") {
  const ImportedFile read = import_text(
      R"({"traceEvents":[
        {"cat":"cpu_op","name":"record_param_comms","ts":2.5,"dur":1,"args":{
         "Collective name":"_reduce_scatter_base","In msg nelems":64,"Out msg nelems":8,
         "dtype":"BFloat16","Group size":8,"Process Group Description":"dp"}},
        {"cat":"cpu_op","name":"record_param_comms","ts":1.5,"dur":1,"args":{
         "Collective name":"all_to_allv","In msg nelems":5,"Out msg nelems":6}}]})",
      "f");
  CHECK(read.kind == "Kineto trace");
  REQUIRE(read.calls.size() == 2);
  CHECK(read.calls[0].collective == "alltoall");
  CHECK(read.calls[1].collective == "reduce_scatter");
  CHECK(read.calls[1].in_elements == 64);
  CHECK(read.calls[1].out_elements == 8);
  CHECK(read.calls[1].dtype == "BFloat16");
  CHECK(read.calls[1].group == "dp");
  CHECK(read.calls[1].group_size == 8);
}

TEST_CASE("import: a log of an NVLink domain is compared with the domain") {
  const auto compared = [](const char* nodes, const char* joined = "2") {
    ImportedFile log;
    log.kind = "NCCL_DEBUG log";
    log.add("version", "2.27.7");
    log.add("nodes", std::string(nodes));
    log.add("ranks", std::string("72"));
    log.choices = {{"AllReduce", 1 << 26, "NVLS", "SIMPLE", 0}};
    log.settings = {{"NCCL_MNNVL_ENABLE", joined}};
    return compare_choices(log, "gb200-nvl72", 0, load_parts());
  };
  // To NCCL the 18 servers are one node; a log may say either.
  const auto one = compared("1"), servers = compared("18");
  REQUIRE(one.size() == 1);
  REQUIRE(servers.size() == 1);
  CHECK(one[0].decided == "Ring LL128 x32");
  CHECK(one[0].decided == servers[0].decided);
  CHECK(compared("18", "0")[0].decided != servers[0].decided);
}

}  // namespace fabricast
