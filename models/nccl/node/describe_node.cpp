// A NodeGraph as NCCL would describe it.

#include "models/nccl/node/node_description.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;
using Cpu = NodeDescription::Cpu;

// PCI classes of NVLink's far ends (src/graph/xml.cc, ncclTopoGetXmlFromGpu).
constexpr const char* kNvSwitchClass = "0x068000";

std::optional<std::uint64_t> hex_number(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return to_number<std::uint64_t>(text, 16);
}

class Describer {
 public:
  explicit Describer(const NodeGraph& node) : node_(node) {}

  NodeDescription describe() const {
    NodeDescription out;
    out.name = node_.name();
    out.is_of_parts = true;
    for (const CpuInfo& info : node_.cpus()) {
      Cpu& cpu = out.cpus.emplace_back();
      cpu.numa = info.numa;
      cpu.arch = info.part.arch;
      cpu.vendor = info.part.vendor;
      cpu.family = info.part.family_id;
      cpu.model = info.part.model_id;
      cpu.affinity = info.affinity;
      cpu.host_hash = info.host_hash;
      for (const VertexId child : node_.children(info.vertex)) cpu.children.push_back(pci(child));
    }
    return out;
  }

 private:
  Pci pci(VertexId id) const {
    const Vertex& vertex = node_.vertex(id);
    Pci out;
    if (vertex.kind == VertexKind::nic) out.nic = nic(vertex.index);
    if (vertex.busid.empty()) return out;  // a NIC that is no PCI function
    out.busid = vertex.busid;
    out.device_class = vertex.ids.device_class;
    out.vendor = vertex.ids.vendor;
    out.device = vertex.ids.device;
    out.subsystem_vendor = vertex.ids.subsystem_vendor;
    out.subsystem_device = vertex.ids.subsystem_device;
    out.link_speed = vertex.pcie_speed;
    out.link_width = vertex.pcie_width;
    if (vertex.kind == VertexKind::gpu) out.gpu = gpu(vertex.index);
    for (const VertexId child : node_.children(id)) out.children.push_back(pci(child));
    return out;
  }

  NodeDescription::Gpu gpu(int index) const {
    const GpuInfo& info = node_.gpus()[static_cast<std::size_t>(index)];
    NodeDescription::Gpu out;
    out.dev = index;
    out.sm = info.part.sm;
    out.gdr = info.gdr;
    for (const auto& [target, count] : info.nvlink_targets) {
      out.nvlinks.push_back({target, count, class_of(target)});
    }
    constexpr std::int64_t bytes_per_s_of_mbyte = 1'000'000;
    if (info.c2c_links > 0)
      out.c2c.push_back({info.c2c_links, static_cast<int>(info.part.c2c_per_link.bytes_per_s /
                                                          bytes_per_s_of_mbyte)});
    return out;
  }

  NodeDescription::Nic nic(int index) const {
    const NicInfo& info = node_.nics()[static_cast<std::size_t>(index)];
    constexpr std::int64_t bytes_per_s_of_mbit = 1'000'000 / 8;
    NodeDescription::Net net;
    net.name = info.name;
    net.dev = index;
    net.speed_mbps = static_cast<int>(info.speed.bytes_per_s / bytes_per_s_of_mbit);
    net.port = info.port;
    net.guid = hex_number(info.guid);
    net.gdr = info.gdr;
    net.max_connections = info.max_connections;
    net.network = info.part.network;
    net.latency_us = static_cast<float>(info.part.reported_latency_us);
    return {{net}};
  }

  std::string class_of(const std::string& busid) const {
    for (const GpuInfo& gpu : node_.gpus()) {
      const Vertex& vertex = node_.vertex(gpu.vertex);
      if (vertex.busid == busid) return vertex.ids.device_class;
    }
    return kNvSwitchClass;
  }

  const NodeGraph& node_;
};

}  // namespace

NodeDescription describe(const NodeGraph& node) { return Describer(node).describe(); }

}  // namespace fabricast
