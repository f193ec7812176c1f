#include "models/hardware/node/compose_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

// A rack: 18 trays on 18 NVSwitch chips, which NVML and NCCL see as one device far away.
constexpr int kRackTrays = 18, kRackChips = 18;
constexpr std::string_view kRackSwitch = "fffffff:ff:ff.0";

/// NVLinks between the GPUs of DGX-1 with V100, as `nvidia-smi topo -m` prints them there; with
/// P100 one in place of two. NVIDIA, "DGX-1 With Tesla V100 System Architecture" (WP-08437-002),
/// figure 4: hybrid cube-mesh.
constexpr int kCubeMesh[kCubeMeshGpus][kCubeMeshGpus] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
constexpr int kCubeMeshLinksDoubled = 6;

/// The first so many GPUs of a socket are on root ports; more share PCIe switches of so many each,
/// but on platforms that have root ports for all.
constexpr int kRootPortGpus = 2, kSwitchGpus = 4;

const Platform& platform_of(const std::string& gpu, const PartsCatalogue& parts) {
  const auto found = parts.platforms.find(gpu);
  if (found != parts.platforms.end()) return found->second;
  throw Error(fmt::format("no server with {} is known here", gpu),
              "write its topology as YAML (docs/topologies.md)");
}

class Composer {
 public:
  Composer(const NodeShape& shape, const PartsCatalogue& parts)
      : shape_(shape), parts_(parts), platform_(platform_of(shape.gpu, parts)) {}

  NodeType compose() {
    check();
    node_.name = to_text(shape_);
    node_.title = node_.name;
    node_.peer_to_peer = shape_.peer_to_peer;
    if (shape_.kind == NodeKind::nvswitch) add_nvswitches();
    if (shape_.kind == NodeKind::nvl72) add_rack();
    add_cpus(cpus());
    if (shape_.kind == NodeKind::nvlink_cube_mesh || (is_switched_mesh() && has_nic_for_two())) {
      add_pairs_on_switches();
    } else if (has_own_switches()) {
      add_switched();
    } else {
      add_direct();
    }
    return std::move(node_);
  }

 private:
  int nvlinks() const { return parts_.gpus.at(shape_.gpu).nvlink_links; }

  void check() const {
    const auto fail = [&](const std::string& why) {
      throw Error(fmt::format("{}: {}", to_text(shape_), why));
    };
    if (!parts_.gpus.contains(shape_.gpu)) fail("the GPU is not in the parts catalogue");
    if (shape_.nics > 0 && !parts_.nics.contains(shape_.nic))
      fail("the NIC is not in the parts catalogue");
    if (shape_.ports > 1 && shape_.nics % (shape_.ports * shape_.gpus) != 0)
      fail(fmt::format("cards of {} ports: as many for every GPU", shape_.ports));
    switch (shape_.kind) {
      case NodeKind::nvswitch:
      case NodeKind::nvl72:
        if (platform_.nvswitches == 0) fail("this GPU is on no NVSwitches");
        if ((shape_.kind == NodeKind::nvl72) != is_superchip()) fail("this GPU is in no such node");
        break;
      case NodeKind::nvlink_mesh:
        if (shape_.gpus < 2 || nvlinks() < shape_.gpus - 1)
          fail(fmt::format("{} NVLinks do not reach {} other GPUs", nvlinks(), shape_.gpus - 1));
        break;
      case NodeKind::nvlink_cube_mesh:
        if (shape_.gpus != kCubeMeshGpus) fail(fmt::format("it has {} GPUs", kCubeMeshGpus));
        if (nvlinks() < kCubeMeshLinksLeast)
          fail(fmt::format("{} NVLinks, but a cube mesh takes {}", nvlinks(), kCubeMeshLinksLeast));
        break;
      case NodeKind::nvlink_pairs:
        if (shape_.gpus % 2 != 0) fail("cards in pairs are even in number");
        if (nvlinks() == 0) fail("this GPU takes no NVLink bridge");
        break;
      case NodeKind::single:
        if (shape_.gpus != 1) fail("it is one GPU");
        break;
      case NodeKind::pcie:
        break;
    }
  }

  /// Grace and what follows it: GPUs and CPU are joined into one superchip.
  bool is_superchip() const { return parts_.cpus.at(platform_.cpu).arch == "arm64"; }
  bool has_nic_each() const { return shape_.nics >= shape_.gpus && !is_superchip(); }
  bool has_nic_for_two() const { return 2 * shape_.nics == shape_.gpus; }
  /// GPUs of a mesh stand beside their InfiniBand or RoCE NICs where each has one: `nvidia-smi topo
  /// -m` prints PXB on Leonardo, NCCL logs GPUDirect RDMA on Snellius (docs/validate.md). Slingshot
  /// NICs stand on root ports (https://docs.nersc.gov/systems/perlmutter/architecture).
  /// One for two: PXB to both on the blades of Deucalion.
  bool is_switched_mesh() const {
    if (shape_.kind != NodeKind::nvlink_mesh || is_superchip()) return false;
    if (!has_nic_each() && !has_nic_for_two()) return false;
    return has_verbs(shape_.network.value_or(parts_.nics.at(shape_.nic).network));
  }
  /// HGX boards; GPUs of a mesh and PCIe cards that have a NIC each, beside them.
  bool has_own_switches() const {
    return shape_.kind == NodeKind::nvswitch || is_switched_mesh() ||
           (shape_.kind == NodeKind::pcie && has_nic_each());
  }
  bool is_mesh_of_one_socket() const {
    return shape_.kind == NodeKind::nvlink_mesh && !platform_.mesh_cpu.empty();
  }
  int cpus() const {
    if (shape_.kind == NodeKind::nvl72) return (shape_.gpus + 1) / 2;
    if (is_superchip()) return shape_.gpus;
    if (shape_.kind == NodeKind::nvswitch) return std::min(platform_.cpus, (shape_.gpus + 1) / 2);
    if (shape_.kind == NodeKind::nvlink_mesh && is_mesh_of_one_socket())
      return std::min(platform_.cpus, shape_.gpus);
    if (shape_.kind == NodeKind::nvlink_mesh && !is_switched_mesh()) return 1;
    return shape_.gpus > kRootPortGpus ? 2 : 1;
  }

  /// Domain of the CPU, buses in the order of the file.
  std::string next_busid(std::size_t cpu) {
    return fmt::format("{:04x}:{:02x}:00.0", cpu, ++buses_[cpu]);
  }

  void add_nvswitches() {
    for (int i = 0; i < platform_.nvswitches; ++i) {
      NvSwitchConfig chip;
      chip.name = fmt::format("nvswitch{}", i);
      chip.part = platform_.nvswitch;
      chip.busid = fmt::format("ffff:{:02x}:00.0", i + 1);
      node_.nvswitches.push_back(std::move(chip));
    }
  }

  void add_rack() {
    NvSwitchConfig chips;
    chips.name = "nvswitch0";
    chips.part = platform_.nvswitch;
    chips.busid = kRackSwitch;
    chips.chips = kRackChips;
    node_.nvswitches.push_back(std::move(chips));
    node_.domain_nodes = kRackTrays;
  }

  void add_cpus(int count) {
    buses_.resize(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      CpuConfig cpu;
      cpu.part = is_mesh_of_one_socket() ? platform_.mesh_cpu : platform_.cpu;
      cpu.name = fmt::format("cpu{}", i);
      cpu.numa = i;
      cpu.affinity = "ffffffff";  // words of 32 cores, highest first
      for (int word = 0; word < i; ++word) cpu.affinity += ",00000000";
      cpu.host_hash = "0x5bd1e995a1c0ffee";
      node_.cpus.push_back(std::move(cpu));
    }
  }

  /// The NVLinks of a GPU to each NVSwitch. What does not divide goes to the middle ones for even
  /// GPUs and to the outer ones for odd GPUs, as on HGX H100: 4 5 5 4 and 5 4 4 5.
  std::vector<PciConfig::Nvlink> links_to_switches(int gpu) const {
    const int chips = platform_.nvswitches, rest = nvlinks() % chips;
    std::vector<PciConfig::Nvlink> out;
    for (int i = 0; i < chips; ++i)
      out.push_back({fmt::format("nvswitch{}", i), nvlinks() / chips});
    for (int i = 0; i < rest; ++i)
      ++out[static_cast<std::size_t>((i + (gpu % 2 == 0 ? 1 : chips - 1)) % chips)].count;
    return out;
  }

  /// NVLinks that join two GPUs directly.
  int links_between(int gpu, int peer) const {
    switch (shape_.kind) {
      case NodeKind::nvlink_mesh:
        return peer == gpu ? 0 : nvlinks() / (shape_.gpus - 1);
      case NodeKind::nvlink_cube_mesh:
        return std::min(kCubeMesh[gpu][peer], nvlinks() >= kCubeMeshLinksDoubled ? 2 : 1);
      case NodeKind::nvlink_pairs:
        return peer == (gpu ^ 1) ? nvlinks() : 0;
      case NodeKind::nvswitch:
      case NodeKind::nvl72:
      case NodeKind::pcie:
      case NodeKind::single:
        return 0;
    }
    return 0;
  }

  std::vector<PciConfig::Nvlink> links_of(int gpu) const {
    if (!node_.nvswitches.empty()) return links_to_switches(gpu);
    std::vector<PciConfig::Nvlink> out;
    for (int peer = 0; peer < shape_.gpus; ++peer)
      if (const int links = links_between(gpu, peer); links > 0)
        out.push_back({fmt::format("gpu{}", peer), links});
    return out;
  }

  PciConfig gpu(int index, std::size_t cpu) {
    PciConfig out;
    out.kind = PciConfig::Kind::gpu;
    out.part = shape_.gpu;
    out.name = fmt::format("gpu{}", index);
    out.busid = next_busid(cpu);
    out.nvlinks = links_of(index);
    out.c2c = parts_.gpus.at(shape_.gpu).c2c_links;
    return out;
  }

  PciConfig pcie_switch(std::size_t cpu) {
    PciConfig out;
    out.kind = PciConfig::Kind::pcie_switch;
    out.part = platform_.pcie_switch;
    out.busid = next_busid(cpu);
    return out;
  }

  /// Ports of one card are functions of one bus id and have its GUID.
  PciConfig nic(std::size_t cpu) {
    const int card = nics_ / shape_.ports, port = nics_ % shape_.ports;
    PciConfig out;
    out.kind = PciConfig::Kind::nic;
    out.part = shape_.nic;
    out.name = fmt::format("mlx5_{}", nics_++);
    if (port == 0) card_ = next_busid(cpu);
    out.busid = fmt::format("{}.{}", card_.substr(0, card_.rfind('.')), port);
    out.guid = fmt::format("0x9a3f5e0003{:04x}00", card);
    out.port = port + 1;
    out.speed = shape_.nic_rate;
    out.network = shape_.network;
    return out;
  }

  /// NICs that stand beside this GPU: k NICs are spread evenly over n GPUs.
  int nics_beside(int gpu) const {
    const auto before = [&](int g) { return (g * shape_.nics + shape_.gpus - 1) / shape_.gpus; };
    return before(gpu + 1) - before(gpu);
  }

  void add_root(std::size_t cpu, PciConfig root) {
    root.cpu = node_.cpus[cpu].name;
    node_.pci.push_back(std::move(root));
  }

  std::size_t cpu_of(int gpu) const {
    return static_cast<std::size_t>(gpu) * node_.cpus.size() /
           static_cast<std::size_t>(shape_.gpus);
  }

  /// Of NICs on root ports, spread evenly: beside the first GPU of each one's share, on a mesh of
  /// one socket beside the last (Polaris: GPU 1 and GPU 3 of GPUs 0 to 3;
  /// https://docs.alcf.anl.gov/polaris/hardware-overview/machine-overview).
  std::size_t cpu_of_nic(std::size_t index) const {
    const std::size_t cpus = node_.cpus.size(), nics = static_cast<std::size_t>(shape_.nics);
    if (is_mesh_of_one_socket()) return ((index + 1) * cpus + nics - 1) / nics - 1;
    return index * cpus / nics;
  }

  /// A PCIe switch with GPUs from this one on, and the NICs of all of them.
  PciConfig gpu_switch(int index, std::size_t cpu, int gpus = 1) {
    PciConfig out = pcie_switch(cpu);
    for (int one = index; one < index + gpus; ++one)
      for (int i = nics_beside(one); i > 0; --i) out.children.push_back(nic(cpu));
    for (int one = index; one < index + gpus; ++one) out.children.push_back(gpu(one, cpu));
    return out;
  }

  void add_switched() {
    for (int index = 0; index < shape_.gpus; ++index) {
      const std::size_t cpu = cpu_of(index);
      if (!platform_.pairs || is_switched_mesh()) {
        add_root(cpu, gpu_switch(index, cpu));
        continue;
      }
      PciConfig pair = pcie_switch(cpu);
      pair.children.push_back(gpu_switch(index, cpu));
      if (index + 1 < shape_.gpus && cpu_of(index + 1) == cpu)
        pair.children.push_back(gpu_switch(++index, cpu));
      add_root(cpu, std::move(pair));
    }
  }

  /// DGX-1, and a mesh whose NICs are for two: a PCIe switch for every two GPUs, with the NICs of
  /// both.
  void add_pairs_on_switches() {
    for (int index = 0; index < shape_.gpus; index += 2)
      add_root(cpu_of(index), gpu_switch(index, cpu_of(index), 2));
  }

  /// GPUs on root ports, or many of them on PCIe switches; NICs on root ports of their own.
  void add_direct() {
    const int per_cpu = shape_.gpus / static_cast<int>(node_.cpus.size());
    const bool shared =
        shape_.kind == NodeKind::pcie && per_cpu > kRootPortGpus && !platform_.root_ports;
    for (int index = 0; index < shape_.gpus; ++index) {
      const std::size_t cpu = cpu_of(index);
      if (!shared) {
        add_root(cpu, gpu(index, cpu));
        continue;
      }
      PciConfig group = pcie_switch(cpu);
      const int end = std::min(index + kSwitchGpus, shape_.gpus);
      group.children.push_back(gpu(index, cpu));
      while (index + 1 < end && cpu_of(index + 1) == cpu)
        group.children.push_back(gpu(++index, cpu));
      add_root(cpu, std::move(group));
    }
    for (int i = 0; i < shape_.nics; ++i) {
      const std::size_t cpu = cpu_of_nic(static_cast<std::size_t>(i));
      add_root(cpu, nic(cpu));
    }
  }

  const NodeShape& shape_;
  const PartsCatalogue& parts_;
  const Platform& platform_;
  NodeType node_;
  std::vector<int> buses_;  ///< used so far, by CPU
  int nics_ = 0;
  std::string card_;  ///< bus id of the last card
};

}  // namespace

std::string to_text(const NodeShape& shape) {
  std::string out = fmt::format("{} x {} {}", shape.gpus, shape.gpu, to_text(shape.kind));
  if (shape.peer_to_peer) out += " with P2P";
  if (shape.nics == 0) return out;
  out += fmt::format(", {} x {}", shape.nics, shape.nic);
  if (shape.nic_rate.bytes_per_s > 0) out += " " + to_bits_text(shape.nic_rate);
  if (shape.ports > 1) out += fmt::format(", {} ports a card", shape.ports);
  return shape.network ? fmt::format("{} ({})", out, to_text(*shape.network)) : out;
}

NodeType compose_node(const NodeShape& shape, const PartsCatalogue& parts) {
  return Composer(shape, parts).compose();
}

}  // namespace fabricast
