// `fabricast import`: what files say, whole and damaged. tests/data/logs holds real ones.

#include <doctest/doctest.h>

#include <algorithm>

#include <sstream>

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
