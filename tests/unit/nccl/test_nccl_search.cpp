// Goal: paths and channels found in a node are those NCCL finds.
// Method: every figure that NCCL's own host code gives for four node types, three versions, one and
// two nodes, and the environment variables that act on it (tests/data/nccl/README.md).

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/search/nccl_search.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/nccl/nccl_tables.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

NodeDescription read_node(const std::string& topology) {
  return read_nccl_xml(FABRICAST_TEST_DATA "/nccl-xml/" + topology + ".xml");
}

/// What the variants of the tables set.
void apply(const std::string& variant, SearchInput& input) {
  SearchSettings& s = input.settings;
  if (variant == "collnet-1") input.collnet = true;
  if (variant == "crossnic-0") s.cross_nic = 0;
  if (variant == "gdr-loc") s.net_gdr_level = PathType::loc;
  if (variant == "gdr-phb") s.net_gdr_level = PathType::phb;
  if (variant == "ibhca-1") input.nics.resize(1);
  if (variant == "nvls-0") input.nvls = false;
  if (variant == "p2p-disable") s.p2p_disable = true;
  if (variant == "p2plevel-nvl") s.p2p_level = PathType::nvl;
  if (variant == "p2plevel-pxb") s.p2p_level = PathType::pxb;
  if (variant == "pxn-disable") s.pxn_disable = true;
}

/// Searches are made once for all rows of a case.
const SearchResult& searched(const Row& row) {
  static std::map<std::string, SearchResult> results;
  const std::string key =
      row.at("version") + row.at("topology") + row.at("variant") + row.at("nodes");
  if (const auto known = results.find(key); known != results.end()) return known->second;
  const NodeDescription node = read_node(row.at("topology"));
  SearchInput input;
  input.version = nccl_version_from_text(row.at("version"));
  input.nodes = std::stoi(row.at("nodes"));
  input.gpus = gpu_devs(node);
  input.nics = net_devs(node);
  apply(row.at("variant"), input);
  return results.emplace(key, search(node, input)).first->second;
}

const ChannelGraph& graph_named(const NcclGraphs& graphs, const std::string& name) {
  if (name == "ring") return graphs.ring;
  if (name == "tree") return graphs.tree;
  if (name == "nvls") return graphs.nvls;
  return name == "collnetdirect" ? graphs.collnet_direct : graphs.collnet_chain;
}

/// Items by ';', repeated ones once with their number: "7*NVL 240 2".
std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (std::size_t i = 0, end = 0; i < items.size(); i = end) {
    while (end < items.size() && items[end] == items[i]) ++end;
    if (i > 0) out += ";";
    if (end - i > 1) out += std::to_string(end - i) + "*";
    out += items[i];
  }
  return out;
}

std::string text(const ChannelGraph& g) {
  std::vector<std::string> net_in, order, net_out;
  for (const GraphChannel& channel : g.channels) {
    if (channel.net_in >= 0) net_in.push_back(std::to_string(channel.net_in));
    if (channel.net_out >= 0) net_out.push_back(std::to_string(channel.net_out));
    order.push_back(fmt::format("{}", fmt::join(channel.gpu_order, " ")));
  }
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", static_cast<int>(g.pattern),
                     g.cross_nic, g.bw_intra, g.bw_inter, to_text(g.type_intra),
                     to_text(g.type_inter), g.same_channels ? 1 : 0, g.hops, g.min_channels,
                     g.max_channels, list(net_in), list(order), list(net_out));
}

std::string joined(const Row& row, const std::vector<std::string>& columns) {
  std::string out;
  for (const std::string& column : columns) out += (out.empty() ? "" : ",") + row.at(column);
  return out;
}

std::string paths_to(const NcclTopology& topology, TopoVertexId from, TopoKind kind) {
  std::map<int, std::string> by_dev;
  for (const TopoVertexId to : topology.graph().all(kind)) {
    const NcclPath& path = topology.path(from, to);
    by_dev[topology.graph().vertex(to).dev] =
        fmt::format("{} {:.6g} {}", to_text(path.type), path.bw, path.hops());
  }
  std::vector<std::string> items;
  for (const auto& [dev, item] : by_dev) items.push_back(item);
  return list(items);
}

/// A node with GPUs and NICs under random PCIe trees, and some NVLink between GPUs.
class RandomNode {
 public:
  explicit RandomNode(std::uint64_t seed) : random_(seed) {}

  NodeDescription make() {
    NodeDescription out;
    out.name = "random";
    sm_ = std::array{70, 80, 86, 90, 100}[below(5)];
    const std::size_t cpus = 1 + below(2);
    for (std::size_t c = 0; c < cpus; ++c) {
      NodeDescription::Cpu& cpu = out.cpus.emplace_back();
      cpu.numa = static_cast<int>(c);
      cpu.arch = "x86_64";
      cpu.vendor = below(2) == 0 ? "GenuineIntel" : "AuthenticAMD";
      cpu.family = 6;
      cpu.model = 143;
      cpu.children = {gpu(), nic()};
      for (std::size_t i = below(3); i > 0; --i) cpu.children.push_back(tree(0));
    }
    return out;
  }

 private:
  using Pci = NodeDescription::Pci;
  std::size_t below(std::size_t limit) { return random_() % limit; }

  Pci function(const char* device_class) {
    Pci out;
    out.busid = fmt::format("0000:{:02x}:00.0", ++functions_);
    out.device_class = device_class;
    out.link_speed = std::array{"8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"}[below(3)];
    out.link_width = below(4) == 0 ? 8 : 16;
    return out;
  }
  Pci gpu() {
    Pci out = function("0x030200");
    out.gpu.emplace();
    out.gpu->dev = gpus_++;
    out.gpu->sm = sm_;
    if (sm_ != 86) out.gpu->nvlinks.push_back({"0000:ff:00.0", 6, "0x068000"});
    return out;
  }
  Pci nic() {
    Pci out = function("0x020000");
    NodeDescription::Net& net = out.nic.emplace().nets.emplace_back();
    net.dev = nets_++;
    net.speed_mbps = below(2) == 0 ? 100000 : 400000;
    net.port = 1;
    net.gdr = below(4) != 0;
    return out;
  }
  Pci tree(int depth) {
    if (depth == 2 || below(3) == 0) return below(2) == 0 && gpus_ < 8 ? gpu() : nic();
    Pci out = function("0x060400");
    for (std::size_t i = 0; i <= below(3); ++i) out.children.push_back(tree(depth + 1));
    return out;
  }

  std::mt19937_64 random_;
  int functions_ = 0, gpus_ = 0, nets_ = 0, sm_ = 80;
};

/// Every channel visits every GPU once, by nets that exist.
void check_channels(const ChannelGraph& graph, const SearchInput& input) {
  std::vector<int> ranks(input.gpus.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  for (const GraphChannel& channel : graph.channels) {
    std::vector<int> order = channel.gpu_order;
    std::ranges::sort(order);
    CHECK(order == ranks);
    for (const int net : {channel.net_in, channel.net_out}) {
      CHECK(net >= (input.nodes > 1 ? 0 : -1));
      CHECK(net < (input.nodes > 1 ? static_cast<int>(input.nics.size()) : 0));
    }
    if (graph.same_channels) CHECK(channel.gpu_order == graph.channels[0].gpu_order);
  }
}

}  // namespace

TEST_CASE("graph search: channels of random nodes are whole, and the same each time") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const NodeDescription node = RandomNode(seed).make();
    SearchInput input;
    input.version = kModelledVersions[seed % 3];
    input.nodes = 1 + static_cast<int>(seed / 3 % 2);
    input.gpus = gpu_devs(node);
    input.nics = net_devs(node);
    input.settings.net_disable_intra = true;  // keeps all GPUs in the node
    const SearchResult result = search(node, input);
    REQUIRE(result.ring.channel_count() >= 1);
    CHECK(result.ring.channel_count() == result.tree.channel_count());
    check_channels(result.searched.ring, input);
    check_channels(result.searched.tree, input);
    const SearchResult again = search(node, input);
    CHECK(text(again.ring) == text(result.ring));
    CHECK(text(again.tree) == text(result.tree));
  }
}

TEST_CASE("graph search: every channel as NCCL lays it") {
  int rows = 0;
  for (const Row& row : read_table("search-graphs.csv")) {
    CAPTURE(joined(row, {"version", "topology", "variant", "nodes", "graph"}));
    const SearchResult& result = searched(row);
    CHECK(text(graph_named(result.searched, row.at("graph"))) ==
          joined(row, {"pattern", "cross_nic", "bw_intra_GBps", "bw_inter_GBps", "type_intra",
                       "type_inter", "same_channels", "hops", "min_channels", "max_channels",
                       "net_in", "gpu_order", "net_out"}));
    ++rows;
  }
  CHECK(rows == 298);
}

TEST_CASE("paths: types, bandwidths and hops between GPUs and nets as NCCL has them") {
  int rows = 0;
  for (const Row& row : read_table("search-paths.csv")) {
    CAPTURE(joined(row, {"version", "topology", "variant", "nodes", "from"}));
    const NcclTopology& topology = searched(row).topology;
    const std::string& from = row.at("from");
    const TopoKind kind = from.starts_with("gpu") ? TopoKind::gpu : TopoKind::net;
    for (const TopoVertexId v : topology.graph().all(kind)) {
      if (topology.graph().vertex(v).dev != std::stoi(from.substr(3))) continue;
      CHECK(paths_to(topology, v, TopoKind::gpu) == row.at("to_gpus"));
      CHECK(paths_to(topology, v, TopoKind::net) == row.at("to_nets"));
      ++rows;
    }
  }
  CHECK(rows == 864);
}

TEST_CASE("systems: what is left of a node after trimming, and the search's limits") {
  int rows = 0;
  for (const Row& row : read_table("search-systems.csv")) {
    CAPTURE(joined(row, {"version", "topology", "variant", "nodes"}));
    const SearchResult& result = searched(row);
    const NcclGraph& graph = result.topology.graph();
    CHECK(fmt::format("{},{},{},{},{},{:.6g},{:.6g}", graph.count(TopoKind::gpu),
                      graph.count(TopoKind::net), graph.count(TopoKind::nvs),
                      graph.count(TopoKind::cpu), graph.count(TopoKind::pci), result.max_bw,
                      result.total_bw) ==
          joined(row, {"gpus", "nets", "nvswitches", "cpus", "pci_switches", "max_bw_GBps",
                       "total_bw_GBps"}));
    ++rows;
  }
  CHECK(rows == 50);
}

TEST_CASE("graph search: ranks agree on the channels that ring and tree have both") {
  NcclGraphs graphs;
  graphs.ring.channels.resize(12);
  graphs.tree.channels.resize(8);
  graphs.nvls.channels.resize(16);
  const NcclGraphs agreed = exchanged(graphs, {}, kNccl2_30_7);
  CHECK(agreed.ring.channel_count() == 8);
  CHECK(agreed.tree.channel_count() == 8);
  CHECK(agreed.nvls.channel_count() == 16);
}

TEST_CASE("graph search: ranks of unlike groups agree on the worst of each") {
  NcclGraphs own, other;
  own.ring.channels.resize(4);
  own.ring.bw_intra = 24;
  own.ring.bw_inter = 12;
  own.ring.type_intra = PathType::pix;
  own.ring.type_inter = PathType::phb;
  own.tree.channels.resize(4);
  other.ring.channels.resize(2);
  other.ring.bw_intra = 12;
  other.ring.bw_inter = 24;
  other.ring.type_intra = PathType::sys;
  other.ring.type_inter = PathType::pix;
  other.ring.same_channels = false;
  other.ring.cross_nic = 1;
  other.tree.channels.resize(3);
  other.tree.pattern = GraphPattern::tree;
  own.nvls.channels.resize(4);  // the other group is too small for NVLS
  for (const NcclVersion version : {kNccl2_21_5, kNccl2_27_7}) {
    const NcclGraphs agreed = exchanged(own, {&other, 1}, version);
    CHECK(agreed.ring.channel_count() == 2);
    CHECK(agreed.tree.channel_count() == 2);
    CHECK(agreed.nvls.channel_count() == 0);
    CHECK(agreed.ring.bw_intra == 12);
    CHECK(agreed.ring.bw_inter == 12);
    CHECK(agreed.ring.type_intra == PathType::sys);
    CHECK(agreed.ring.type_inter == PathType::phb);
    CHECK(agreed.ring.cross_nic == 1);
    CHECK_FALSE(agreed.ring.same_channels);
    CHECK((agreed.tree.pattern == GraphPattern::tree) == (version == kNccl2_27_7));
  }
}

TEST_CASE("graph search: some of the GPUs") {
  // Two GPUs of a DGX H100, 370.8 GB/s each way: a ring of two takes every direction once per
  // channel, so that six fit at the highest speed, 60. Channels this wide are used twice, at half
  // of it.
  const NodeDescription node = read_node("dgx-h100");
  SearchInput input;
  input.gpus = {2, 5};
  const SearchResult result = search(node, input);
  CHECK(result.max_bw == doctest::Approx(370.8));
  CHECK(result.ring.channels[0].gpu_order == std::vector<int>{0, 1});  // local ranks
  CHECK(result.ring.channel_count() == 12);
  CHECK(result.ring.bw_intra == 30);
  CHECK(result.tree.channel_count() == 12);
  // NVLS takes more than two GPUs up to 2.28.9, two from 2.29 on: a log of 2.29.2 on two H100 has
  // 16 NVLS channels, and NVIDIA/nccl issue 2077 has groups of two run out of multicast slots with
  // 2.29.7, not with 2.28.9.
  for (const NcclVersion version : kModelledVersions) {
    input.version = version;
    CHECK(search(node, input).is_nvls_searched == (version >= kNccl2_29));
  }
}

TEST_CASE("graph search: two of an H20's GPUs and NICs, as a user's log shows them") {
  // NVIDIA/nccl issue 1189: two nodes, two H20 (NVLink as H100) and two 400 Gb/s NICs each, PXN
  // off: "maxBw 48.0 totalBw 370.8", ring "crossNic 1, nChannels 4, bw 24/24, type NVL/PIX,
  // sameChannels 0".
  const NodeDescription node = read_node("dgx-h100");
  SearchInput input;
  input.nodes = 2;
  input.gpus = {0, 1};
  input.nics = {0, 1};
  input.settings.pxn_disable = true;
  const SearchResult result = search(node, input);
  CHECK(result.max_bw == 48);
  CHECK(result.total_bw == 370.8F);
  CHECK(text(result.ring) == "4,1,24,24,NVL,PIX,0,16,1,16,0;1;0;1,0 1;1 0;0 1;1 0,1;0;1;0");
}

TEST_CASE("graph search: what cannot be searched is said") {
  const NodeDescription node = read_node("pcie-2gpu");
  const auto message = [&](const SearchInput& input) -> std::string {
    try {
      search(node, input);
    } catch (const Error& error) {
      const std::string what = error.what();
      return what.substr(what.find(".xml: ") + 6);
    }
    return "";
  };
  SearchInput input;
  CHECK(message(input) == "no GPU takes part\nhint: a topology file of NCCL names GPUs by <gpu>");
  input.gpus = {0, 2};
  CHECK(message(input) == "no GPU 2\nhint: it has 2");
  input.gpus = {0, 1};
  input.nodes = 2;
  CHECK(message(input) ==
        "several nodes need a NIC\nhint: a topology file of NCCL names them by <net>");
  input.nics = {1};
  CHECK(message(input) == "no NIC 1\nhint: it has 1");
}

TEST_CASE("graph search: environment variables") {
  Environment environment;
  environment.set("NCCL_CROSS_NIC=0");
  environment.set("NCCL_P2P_LEVEL=C2C");
  environment.set("NCCL_NET_GDR_LEVEL=3");
  environment.set("NCCL_P2P_DISABLE=true");
  environment.set("NCCL_NET_GDR_READ=-2");
  environment.set("NCCL_NETDEVS_POLICY=max:2");
  std::vector<std::string> warnings;
  const SearchSettings old = read_search_settings(environment, kNccl2_21_5, warnings);
  CHECK(old.cross_nic == 0);
  CHECK(old.net_gdr_level == PathType::phb);  // by the numbers of old
  CHECK_FALSE(old.p2p_disable);               // NCCL reads 0
  CHECK_FALSE(old.p2p_level.has_value());     // C2C came with 2.27
  CHECK_FALSE(old.net_gdr_read.has_value());
  CHECK(old.nets_per_gpu == 0);
  CHECK(warnings == std::vector<std::string>{
                        "NCCL_P2P_DISABLE=true: NCCL reads 0 and ignores the rest",
                        "NCCL_P2P_LEVEL=C2C: no path type that NCCL knows; it keeps its default"});
  warnings.clear();
  const SearchSettings current = read_search_settings(environment, kNccl2_30_7, warnings);
  CHECK(current.p2p_level == PathType::c2c);
  CHECK(current.nets_per_gpu == 2);
  CHECK(warnings.size() == 1);
}

TEST_CASE("search: what NCCL finds on presets that have no table") {
  const PartsCatalogue parts = load_catalogue();
  const auto found = [&](const char* preset, NcclVersion version) {
    const NodeDescription node = load_description(preset, parts);
    SearchInput input;
    input.version = version;
    input.gpus = gpu_devs(node);
    input.nics = net_devs(node);
    return search(node, input);
  };
  SUBCASE("Blackwell: 8 channels of 90 GB/s fill 18 x 40.1 GB/s, and are doubled") {
    for (const NcclVersion version : {kNccl2_27_7, kNccl2_30_7}) {
      const SearchResult b200 = found("hgx-b200", version);
      CHECK(b200.total_bw == doctest::Approx(721.8));
      CHECK(b200.ring.channel_count() == 16);
      CHECK(b200.ring.bw_intra == 45);
      CHECK(b200.nvls.channel_count() == 8);
    }
  }
  SUBCASE("Blackwell is Hopper to 2.21: 18 x 20.6 GB/s hold 12 channels of 30") {
    const SearchResult b200 = found("hgx-b200", kNccl2_21_5);
    CHECK(b200.total_bw == doctest::Approx(370.8));
    CHECK(b200.ring.channel_count() == 12);
    CHECK(b200.ring.bw_intra == 30);
  }
  SUBCASE("PCIe only: one ring as fast as a gen4 card") {
    const SearchResult pcie = found("pcie-8", kNccl2_27_7);
    CHECK(pcie.ring.channel_count() == 1);
    CHECK(pcie.ring.bw_intra <= 24);
    CHECK(pcie.ring.type_intra == PathType::sys);
    CHECK(pcie.nvls.channel_count() == 0);
  }
  SUBCASE("bridged pairs: two islands make two channels at least, since 2.27") {
    CHECK(found("h100-pcie-nvl-4", kNccl2_21_5).ring.channel_count() == 1);
    const SearchResult pairs = found("h100-pcie-nvl-4", kNccl2_27_7);
    CHECK(pairs.ring.channel_count() >= 2);
    // All of them cross the 16 GB/s between AMD sockets.
    CHECK(static_cast<float>(pairs.ring.channel_count()) * pairs.ring.bw_intra <= 16);
  }
}
