// Goal: NCCL's rules for link bandwidths, path types and local devices, one by one.
// Method: nodes small enough to walk them by hand, written as descriptions.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/node/nccl_paths.hpp"
#include "models/nccl/search/search_speeds.hpp"

using namespace fabricast;

namespace {

using Pci = NodeDescription::Pci;

Pci gpu(int dev, int sm = 80, std::vector<NodeDescription::Nvlink> nvlinks = {}) {
  Pci out;
  out.busid = "0000:1" + std::to_string(dev) + ":00.0";
  out.device_class = "0x030200";
  out.link_speed = "16.0 GT/s PCIe";
  out.link_width = 16;
  out.gpu = NodeDescription::Gpu{dev, sm, true, std::move(nvlinks), {}};
  return out;
}
NodeDescription::Nvlink bridge_to(int dev, int count) {
  return {"0000:1" + std::to_string(dev) + ":00.0", count, "0x030200"};
}

Pci nic(int dev, int speed_mbps = 100000) {
  Pci out;
  out.busid = "0000:2" + std::to_string(dev) + ":00.0";
  out.device_class = "0x020000";
  out.link_speed = "16.0 GT/s PCIe";
  out.link_width = 16;
  NodeDescription::Net net;
  net.dev = dev;
  net.speed_mbps = speed_mbps;
  net.gdr = true;
  out.nic = NodeDescription::Nic{{net}};
  return out;
}

Pci pcie_switch(int number, std::vector<Pci> children) {
  Pci out;
  out.busid = "0000:3" + std::to_string(number) + ":00.0";
  out.device_class = "0x060400";
  out.link_speed = "16.0 GT/s PCIe";
  out.link_width = 16;
  out.children = std::move(children);
  return out;
}

NodeDescription node_of(std::vector<std::vector<Pci>> by_cpu, const char* vendor = "AuthenticAMD") {
  NodeDescription out;
  out.name = "test";
  for (std::vector<Pci>& children : by_cpu) {
    NodeDescription::Cpu& cpu = out.cpus.emplace_back();
    cpu.numa = static_cast<int>(out.cpus.size()) - 1;
    cpu.arch = "x86_64";
    cpu.vendor = vendor;
    cpu.family = 6;
    cpu.model = 143;
    cpu.children = std::move(children);
  }
  return out;
}

/// As one of two nodes, so that nets stay.
NcclTopology topology_of(const NodeDescription& node, NcclVersion version = kNccl2_21_5,
                         const SearchSettings& settings = {}) {
  const std::vector<int> gpus = gpu_devs(node), nets = net_devs(node);
  return {NcclGraph::build(node, version, gpus, nets), settings, 2 * static_cast<int>(gpus.size())};
}

struct Way {
  PathType type{};
  float bw = 0;
  int hops = 0;
  bool operator==(const Way&) const = default;
};

Way way(const NcclTopology& topology, TopoKind from, int a, TopoKind to, int b) {
  const NcclPath& path = topology.path(topology.graph().at(from, a), topology.graph().at(to, b));
  return {path.type, path.bw, path.hops()};
}
Way between_gpus(const NcclTopology& topology, int a, int b) {
  return way(topology, TopoKind::gpu, a, TopoKind::gpu, b);
}
Way to_net(const NcclTopology& topology, int g, int n) {
  return way(topology, TopoKind::gpu, g, TopoKind::net, n);
}

}  // namespace

TEST_CASE("nccl graph: bandwidths of links") {
  CHECK(pcie_bw("32.0 GT/s PCIe", 16) == 48);
  CHECK(pcie_bw("16 GT/s", 8) == 12);
  CHECK(pcie_bw("2.5 GT/s PCIe", 16) == 3);
  CHECK(pcie_bw("64.0 GT/s PCIe", 16) == 96);
  CHECK(pcie_bw("", 0) == 12);  // unknown: gen 3, 16 lanes
  CHECK(pcie_bw("32 GT/s PCIe/s", 16) == 48);
  CHECK(nvlink_bw(60, kNccl2_21_5) == 18);
  CHECK(nvlink_bw(70, kNccl2_21_5) == 20);
  CHECK(nvlink_bw(86, kNccl2_21_5) == 12);
  CHECK(nvlink_bw(89, kNccl2_21_5) == 20);
  CHECK(nvlink_bw(90, kNccl2_21_5) == 20.6F);
  CHECK(nvlink_bw(100, kNccl2_21_5) == 20.6F);
  CHECK(nvlink_bw(100, kNccl2_27_7) == 40.1F);
  const auto intel = [](int model, NcclVersion version) {
    return socket_bw(CpuArch::x86, CpuVendor::intel, 6, model, version);
  };
  CHECK(intel(0x4F, kNccl2_27_7) == 6);
  CHECK(intel(0x55, kNccl2_27_7) == 10);
  CHECK(intel(0x8F, kNccl2_21_5) == 10);
  CHECK(intel(0x8F, kNccl2_27_7) == 22);
  CHECK(intel(0xCF, kNccl2_30_7) == 40);
  CHECK(socket_bw(CpuArch::x86, CpuVendor::amd, 25, 1, kNccl2_21_5) == 16);
  CHECK(socket_bw(CpuArch::arm, CpuVendor::unknown, 0, 0, kNccl2_21_5) == 6);
}

TEST_CASE("nccl graph: speeds by generation") {
  CHECK(search_speeds(80, false, kNccl2_30_7)[0] == 40);
  CHECK(search_speeds(90, true, kNccl2_21_5)[1] == 45);
  CHECK(search_speeds(100, true, kNccl2_21_5)[1] == 45);  // 2.21 takes Blackwell for Hopper
  CHECK(search_speeds(100, true, kNccl2_27_7)[1] == 48);
  CHECK(search_speeds(100, true, kNccl2_30_7)[1] == 86);
}

TEST_CASE("paths: by what lies between two GPUs") {
  // Two GPUs on one switch, one on the next, one directly on the CPU, one on another socket.
  const NodeDescription node =
      node_of({{pcie_switch(0, {pcie_switch(1, {gpu(0), gpu(1)}), gpu(2)}), gpu(3)}, {gpu(4)}});
  SearchSettings settings;
  settings.p2p_level = PathType::sys;  // or far pairs would be diverted
  const NcclTopology t = topology_of(node, kNccl2_21_5, settings);
  CHECK(between_gpus(t, 0, 0) == Way{PathType::loc, 5000, 0});
  CHECK(between_gpus(t, 0, 1) == Way{PathType::pix, 24, 2});
  CHECK(between_gpus(t, 0, 2) == Way{PathType::pxb, 24, 3});
  CHECK(between_gpus(t, 0, 3) == Way{PathType::phb, 24, 4});
  CHECK(between_gpus(t, 4, 0) == Way{PathType::sys, 16, 5});  // 16 GB/s between AMD sockets
  // 2.30 counts the way from each GPU to its package.
  CHECK(between_gpus(topology_of(node, kNccl2_30_7, settings), 0, 1) == Way{PathType::pix, 24, 4});
}

TEST_CASE("paths: NVLink through one other GPU, not two") {
  // A chain of bridges 0 - 1 - 2 - 3. sm 80 has 20 GB/s per link.
  const NodeDescription node =
      node_of({{gpu(0, 80, {bridge_to(1, 4)}), gpu(1, 80, {bridge_to(0, 4), bridge_to(2, 2)}),
                gpu(2, 80, {bridge_to(1, 2), bridge_to(3, 4)}), gpu(3, 80, {bridge_to(2, 4)})}});
  for (const NcclVersion version : kModelledVersions) {
    const int extra = version < kNccl2_30 ? 0 : 2;  // to and from the package
    SearchSettings settings;
    const NcclTopology t = topology_of(node, version, settings);
    CHECK(between_gpus(t, 0, 1) == Way{PathType::nvl, 80, 1 + extra});
    CHECK(between_gpus(t, 0, 2) == Way{PathType::nvb, 40, 2 + extra});
    CHECK(between_gpus(t, 0, 3).type == PathType::phb);
    settings.nvb_disable = true;
    CHECK(between_gpus(topology_of(node, version, settings), 0, 2).type == PathType::phb);
  }
}

TEST_CASE("paths: two Broadcom levels are one switch") {
  const auto broadcom = [](Pci pci, const char* device, const char* level) {
    pci.vendor = "0x1000";
    pci.device = device;
    pci.subsystem_vendor = "0x1000";
    pci.subsystem_device = level;
    return pci;
  };
  const auto node = [&](const char* device, const char* top, const char* below) {
    Pci lower = broadcom(pcie_switch(1, {gpu(0)}), device, below);
    Pci other = broadcom(pcie_switch(2, {gpu(1)}), device, below);
    return node_of({{broadcom(pcie_switch(0, {lower, other}), device, top)}});
  };
  const NcclTopology gen4 = topology_of(node("0xc010", "0xa096", "0xa096"));
  CHECK(gen4.graph().count(TopoKind::pci) == 1);
  CHECK(between_gpus(gen4, 0, 1) == Way{PathType::pix, 24, 2});
  // Gen 5 tells its levels apart.
  CHECK(topology_of(node("0xc030", "0x0072", "0x1003")).graph().count(TopoKind::pci) == 1);
  CHECK(topology_of(node("0xc030", "0x1003", "0x1003")).graph().count(TopoKind::pci) == 3);
}

TEST_CASE("paths: who may speak directly") {
  // Two GPUs on root ports: PHB. Intel's root complex is no way for peers, AMD's is; since 2.27
  // AMD's only if there are no more than two GPUs.
  const std::vector<Pci> two = {gpu(0), gpu(1)}, three = {gpu(0), gpu(1), gpu(2)};
  SUBCASE("2.21") {
    // A diverted pair goes through the CPU as before, so the hops tell nothing; the reach of P2P
    // does.
    SearchSettings no_shm;
    no_shm.shm_disable = true;
    CHECK(between_gpus(topology_of(node_of({two}), kNccl2_21_5, no_shm), 0, 1).type ==
          PathType::phb);
    const NcclTopology intel = topology_of(node_of({two}, "GenuineIntel"), kNccl2_21_5, no_shm);
    CHECK(intel.graph().count(TopoKind::gpu) == 1);  // left to the network, and so to itself
    CHECK(topology_of(node_of({two}, "GenuineIntel")).graph().count(TopoKind::gpu) == 2);
  }
  SUBCASE("2.27") {
    SearchSettings no_shm;
    no_shm.shm_disable = true;
    CHECK(topology_of(node_of({two}), kNccl2_27_7, no_shm).graph().count(TopoKind::gpu) == 2);
    CHECK(topology_of(node_of({three}), kNccl2_27_7, no_shm).graph().count(TopoKind::gpu) == 1);
  }
}

TEST_CASE("paths: a fast NIC next to each GPU beats the way between them") {
  // 24 GB/s to each NIC on the same switch, 16 GB/s between the sockets.
  const NodeDescription node = node_of(
      {{pcie_switch(0, {gpu(0), nic(0, 200000)})}, {pcie_switch(1, {gpu(1), nic(1, 200000)})}});
  CHECK(topology_of(node).graph().count(TopoKind::gpu) == 1);
  SearchSettings settings;
  settings.net_disable_intra = true;
  CHECK(topology_of(node, kNccl2_21_5, settings).graph().count(TopoKind::gpu) == 2);
}

TEST_CASE("paths: a NIC through the GPU next to it (PXN)") {
  // GPU 0 shares a switch with the only NIC; GPU 1 sits on the other socket, bridged to GPU 0.
  const NodeDescription node = node_of({{pcie_switch(0, {gpu(0, 80, {bridge_to(1, 4)}), nic(0)})},
                                        {pcie_switch(1, {gpu(1, 80, {bridge_to(0, 4)})})}});
  const NcclTopology t = topology_of(node);
  CHECK(to_net(t, 0, 0) == Way{PathType::pix, 12.5F, 3});
  CHECK(to_net(t, 1, 0) == Way{PathType::pxn, 12.5F, 4});
  CHECK(way(t, TopoKind::net, 0, TopoKind::gpu, 1).type == PathType::sys);  // one direction only
  CHECK(t.local_gpu(t.graph().at(TopoKind::net, 0)) == t.graph().at(TopoKind::gpu, 0));
  SearchSettings settings;
  settings.pxn_disable = true;
  CHECK(to_net(topology_of(node, kNccl2_21_5, settings), 1, 0).type == PathType::sys);
  // Without GPU-direct all goes through the CPU, in both directions; 2.30 then relays nothing.
  settings = {};
  settings.net_gdr_level = PathType::loc;
  const NcclTopology old = topology_of(node, kNccl2_21_5, settings);
  CHECK(to_net(old, 0, 0).type == PathType::phb);
  CHECK(way(old, TopoKind::net, 0, TopoKind::gpu, 0).type == PathType::phb);
  CHECK(to_net(topology_of(node, kNccl2_30_7, settings), 1, 0).type == PathType::sys);
}

TEST_CASE("paths: C2C brings the CPU's NICs near") {
  // 200 GB/s to the CPU, where the NIC hangs on a root port: P2C since 2.27.
  Pci device = gpu(0, 90);
  device.gpu->c2c.push_back({10, 20000});
  const NodeDescription node = node_of({{device, nic(0, 400000)}});
  const NcclTopology t = topology_of(node, kNccl2_27_7);
  CHECK(way(t, TopoKind::gpu, 0, TopoKind::cpu, 0) == Way{PathType::c2c, 200, 1});
  CHECK(to_net(t, 0, 0).type == PathType::p2c);
}

TEST_CASE("paths: GPUs spread over the nets they share") {
  // Four nets, two GPUs, one switch. Two nets per GPU; indices 0 and 1 in two mirrored bits are 0
  // and 2; the channel adds 0 or 1.
  const NodeDescription node =
      node_of({{pcie_switch(0, {gpu(0), gpu(1), nic(0), nic(1), nic(2), nic(3)})}});
  for (const NcclVersion version : kModelledVersions) {
    const NcclTopology t = topology_of(node, version);
    std::vector<int> nets;
    for (int g = 0; g < 2; ++g) {
      for (int channel = 0; channel < 3; ++channel) {
        const auto net = t.local_net(t.graph().at(TopoKind::gpu, g), channel);
        nets.push_back(t.graph().vertex(*net).dev);
      }
    }
    CHECK(nets == std::vector<int>{0, 1, 0, 2, 3, 2});
  }
}

TEST_CASE("paths: types a version does not know are passed over") {
  CHECK(next_type(PathType::nvb, kNccl2_21_5) == PathType::pix);
  CHECK(next_type(PathType::pxb, kNccl2_21_5) == PathType::pxn);
  CHECK(next_type(PathType::nvb, kNccl2_27_7) == PathType::c2c);
  CHECK(next_type(PathType::pxb, kNccl2_27_7) == PathType::p2c);
}

TEST_CASE("nccl graph: since 2.22 GPUs beside a NIC come to the front") {
  // Each rank describes its GPU and all NICs; rank 0's description has the switch of GPU 3 already.
  const std::string file = FABRICAST_TEST_DATA "/nccl-xml/hgx-h200-2nic.xml";
  const NodeDescription node = read_nccl_xml(file);
  const auto order = [&](NcclVersion version) {
    const NcclTopology t = topology_of(node, version);
    std::vector<int> out;
    for (const TopoVertexId v : t.graph().all(TopoKind::gpu)) {
      out.push_back(t.graph().vertex(v).dev);
    }
    return out;
  };
  CHECK(order(kNccl2_21_5) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(order(kNccl2_27_7) == std::vector<int>{0, 3, 1, 2, 4, 5, 6, 7});
}

TEST_CASE("node description: a preset is described as the XML of its name") {
  const PartsCatalogue parts = load_catalogue();
  for (const char* name : {"dgx-a100", "dgx-h100", "hgx-h200-2nic", "pcie-2gpu"}) {
    CAPTURE(name);
    const std::string file = std::string(FABRICAST_TEST_DATA "/nccl-xml/") + name + ".xml";
    const NodeDescription read = read_nccl_xml(file);
    CHECK(describe(NodeGraph::build(load_node_type(name), parts)).cpus == read.cpus);
  }
}
