// From a node's description to NCCL's graph, in NCCL's order of doing things (src/graph/topo.cc).

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>

#include "models/nccl/node/nccl_graph.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;

std::uint64_t hex_digits(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ':' && c != '.') digits += c;
  }
  if (digits.starts_with("0x")) digits.erase(0, 2);
  return leading_number<std::uint64_t>(digits, 16).value_or(0);
}
std::int64_t busid_number(std::string_view busid) {
  return static_cast<std::int64_t>(hex_digits(busid));
}

/// What a PCI function is if it carries neither GPU nor NIC of the job, by its class.
TopoKind kind_of_class(std::string_view device_class) {
  if (device_class.starts_with("0x068000")) return TopoKind::nvs;
  if (device_class.starts_with("0x068001")) return TopoKind::cpu;
  if (device_class.starts_with("0x03")) return TopoKind::gpu;
  if (device_class.starts_with("0x02")) return TopoKind::nic;
  return TopoKind::pci;
}

// NCCL compares as many characters as its own word has: "ppc64le" is "ppc64".
CpuArch arch_of(std::string_view text) {
  if (text.starts_with("x86_64")) return CpuArch::x86;
  if (text.starts_with("arm64")) return CpuArch::arm;
  if (text.starts_with("ppc64")) return CpuArch::power;
  return CpuArch::unknown;
}
CpuVendor vendor_of(std::string_view text) {
  if (text.starts_with("GenuineIntel")) return CpuVendor::intel;
  if (text.starts_with("AuthenticAMD")) return CpuVendor::amd;
  if (text.starts_with("CentaurHauls") || text.starts_with("  Shanghai  "))
    return CpuVendor::zhaoxin;
  return CpuVendor::unknown;
}

/// Generation of a Broadcom PCIe switch that shows itself as two levels; 0 = none of these. Below
/// the top, gen 5 switches call themselves differently. Up to 2.19 only gen 4 is known.
int broadcom_gen(std::uint64_t pci_device, bool top, NcclVersion version) {
  const std::uint64_t model = pci_device & ~std::uint64_t{0xfff};
  if (model == 0x1000c0101000a000) return 4;
  if (version < kNccl2_20) return 0;
  if (model == (top ? 0x1000c03010000000 : 0x1000c03010001000)) return 5;
  return 0;
}

}  // namespace

class NcclGraphBuilder {
 public:
  NcclGraphBuilder(const NodeDescription& node, NcclVersion version, std::span<const int> ranks)
      : node_(node), ranks_(ranks) {
    graph_.version_ = version;
  }

  NcclGraph build() {
    for (const NodeDescription::Cpu& cpu : node_.cpus) add_cpu(cpu);
    for (const NodeDescription::Cpu& cpu : node_.cpus) {
      for (const Pci& pci : cpu.children) add_nvlinks(pci);
    }
    for (const NodeDescription::Cpu& cpu : node_.cpus) {
      for (const Pci& pci : cpu.children) add_c2c(pci);
    }
    flatten_broadcom();
    connect_cpus();
    for (const TopoVertexId cpu : graph_.all(TopoKind::cpu)) move_uplinks_last(cpu, cpu);
    return std::move(graph_);
  }

 private:
  NcclVersion version() const { return graph_.version_; }
  TopoVertex& vertex(TopoVertexId id) { return graph_.vertices_[index_of(id)]; }
  TopoLink& link(TopoLinkId id) { return graph_.links_[index_of(id)]; }

  TopoVertexId add_vertex(TopoKind kind, std::int64_t id) {
    const auto v = static_cast<TopoVertexId>(graph_.vertices_.size());
    TopoVertex& out = graph_.vertices_.emplace_back();
    out.kind = kind;
    out.id = id;
    graph_.by_kind_[NcclGraph::index_of_kind(kind)].push_back(v);
    return v;
  }

  bool find(TopoKind kind, std::int64_t id, TopoVertexId& out) const {
    for (const TopoVertexId v : graph_.all(kind)) {
      if (graph_.vertex(v).id != id) continue;
      out = v;
      return true;
    }
    return false;
  }

  /// Several links of one kind between two vertices count as one wide one. A vertex keeps its
  /// widest link first; equal ones stay in order.
  void connect(TopoVertexId from, TopoVertexId to, TopoLinkKind kind, float bw) {
    std::vector<TopoLinkId>& out = vertex(from).out;
    auto at = std::ranges::find_if(
        out, [&](TopoLinkId l) { return link(l).to == to && link(l).kind == kind; });
    TopoLinkId id{};
    if (at != out.end()) {
      id = *at;
      out.erase(at);
    } else {
      id = static_cast<TopoLinkId>(graph_.links_.size());
      graph_.links_.push_back({from, to, kind, 0});
      at = out.end();
    }
    link(id).bw += bw;
    while (at != out.begin() && link(*(at - 1)).bw < link(id).bw) --at;
    out.insert(at, id);
  }
  void connect_both_ways(TopoVertexId a, TopoVertexId b, TopoLinkKind kind, float bw) {
    connect(a, b, kind, bw);
    connect(b, a, kind, bw);
  }

  /// CPUs of one hash are one host's (ncclGetSystemId).
  int host_of(const NodeDescription::Cpu& cpu) const {
    const auto same = [&](const NodeDescription::Cpu& other) {
      return other.host_hash == cpu.host_hash;
    };
    return static_cast<int>(std::ranges::find_if(node_.cpus, same) - node_.cpus.begin());
  }

  void add_cpu(const NodeDescription::Cpu& cpu) {
    host_ = host_of(cpu);
    const TopoVertexId v = add_vertex(TopoKind::cpu, cpu.numa);
    vertex(v).host = host_;
    vertex(v).cpu = {arch_of(cpu.arch), vendor_of(cpu.vendor), cpu.family, cpu.model};
    for (const Pci& child : cpu.children) {
      if (!child.busid.empty()) {
        add_pci(child, v);
        continue;
      }
      // NICs that are no PCI functions, e.g. virtual interfaces, hang on their CPU together;
      // up to 2.23 those of all CPUs on the first.
      const std::int64_t id = version() < kNccl2_24 ? 0 : -1 - cpu.numa;
      TopoVertexId nic{};
      if (!find(TopoKind::nic, id, nic)) {
        nic = add_vertex(TopoKind::nic, id);
        connect_both_ways(v, nic, TopoLinkKind::pci, kLocalBw);
      }
      add_nets(*child.nic, nic);
    }
  }

  void add_pci(const Pci& pci, TopoVertexId parent) {
    TopoVertexId v{};
    if (pci.gpu) {
      v = add_gpu(pci);
    } else if (pci.nic) {
      if (!add_nic(pci, v)) return;
    } else if (kind_of_class(pci.device_class) == TopoKind::pci) {
      v = add_switch(pci);
    } else {
      return;
    }
    connect_both_ways(v, parent, TopoLinkKind::pci, pcie_bw(pci.link_speed, pci.link_width));
  }

  TopoVertexId add_switch(const Pci& pci) {
    const TopoVertexId v = add_vertex(TopoKind::pci, busid_number(pci.busid));
    vertex(v).pci_device = hex_digits(pci.vendor) << 48 | hex_digits(pci.device) << 32 |
                           hex_digits(pci.subsystem_vendor) << 16 |
                           hex_digits(pci.subsystem_device);
    for (const Pci& child : pci.children) add_pci(child, v);
    return v;
  }

  TopoVertexId add_gpu(const Pci& pci) {
    const TopoVertexId v = add_vertex(TopoKind::gpu, busid_number(pci.busid));
    TopoVertex& gpu = vertex(v);
    gpu.dev = pci.gpu->dev;
    gpu.gdr = pci.gpu->gdr;
    gpu.host = host_;
    gpu.gpu.sm = pci.gpu->sm;
    gpu.gpu.rank = static_cast<int>(std::ranges::find(ranks_, pci.gpu->dev) - ranks_.begin());
    // In 2.21 a GPU links to itself (nothing follows from it). Since 2.30 its links are its
    // package's.
    if (version() < kNccl2_30) return v;
    const TopoVertexId package = add_vertex(TopoKind::dev, busid_number(pci.busid));
    vertex(package).gpu = vertex(v).gpu;
    connect_both_ways(v, package, TopoLinkKind::loc, kLocalBw);
    return package;
  }

  /// Up to 2.23 the functions of one adapter (bus ids that differ in the last digit) are one NIC,
  /// on the link of the first. False when the NIC was known.
  bool add_nic(const Pci& pci, TopoVertexId& v) {
    std::int64_t id = busid_number(pci.busid);
    if (version() < kNccl2_24) id &= ~std::int64_t{0xf};
    const bool known = find(TopoKind::nic, id, v);
    if (!known) v = add_vertex(TopoKind::nic, id);
    add_nets(*pci.nic, v);
    return !known;
  }

  void add_nets(const NodeDescription::Nic& nic, TopoVertexId parent) {
    for (const NodeDescription::Net& net : nic.nets) {
      const TopoVertexId v = add_vertex(TopoKind::net, net.dev);
      TopoVertex& out = vertex(v);
      const int speed_mbps = net.speed_mbps > 0 ? net.speed_mbps : 10000;
      out.dev = net.dev;
      out.gdr = net.gdr;
      out.net = {net.guid.value_or(static_cast<std::uint64_t>(net.dev)), net.port,
                 static_cast<float>(speed_mbps / 8000.0), net.latency_us, net.collnet};
      connect_both_ways(parent, v, TopoLinkKind::net, out.net.bw);
    }
  }

  void add_nvlinks(const Pci& pci) {
    for (const Pci& child : pci.children) add_nvlinks(child);
    if (!pci.gpu) return;
    TopoVertexId gpu{};
    if (!find(TopoKind::gpu, busid_number(pci.busid), gpu)) return;
    const TopoVertexId device = graph_.device_of(gpu);
    for (const NodeDescription::Nvlink& nvlink : pci.gpu->nvlinks) {
      const TopoKind far = kind_of_class(nvlink.tclass);
      TopoVertexId remote{};
      if (!nvlink_end(far, nvlink.target, device, remote)) continue;
      const float bw = static_cast<float>(nvlink.count) * nvlink_bw(pci.gpu->sm, version());
      connect(device, remote, TopoLinkKind::nvl, bw);
      if (far != TopoKind::gpu) connect(remote, device, TopoLinkKind::nvl, bw);
    }
  }

  bool nvlink_end(TopoKind far, const std::string& target, TopoVertexId device, TopoVertexId& out) {
    if (far == TopoKind::gpu) {
      if (!find(TopoKind::gpu, busid_number(target), out)) return false;
      out = graph_.device_of(out);
      return true;
    }
    if (far == TopoKind::cpu) return cpu_above(device, device, out);
    if (graph_.count(TopoKind::nvs) == 0) add_vertex(TopoKind::nvs, 0);
    out = graph_.at(TopoKind::nvs, 0);
    return true;
  }

  void add_c2c(const Pci& pci) {
    for (const Pci& child : pci.children) add_c2c(child);
    if (!pci.gpu) return;
    TopoVertexId gpu{}, cpu{};
    if (!find(TopoKind::gpu, busid_number(pci.busid), gpu)) return;
    const TopoVertexId device = graph_.device_of(gpu);
    for (const NodeDescription::C2c& c2c : pci.gpu->c2c) {
      if (version() < kNccl2_19) break;  // it does not know C2C
      if (!cpu_above(device, device, cpu)) continue;
      const auto kind = version() < kNccl2_26 ? TopoLinkKind::nvl : TopoLinkKind::c2c;
      connect_both_ways(device, cpu, kind, static_cast<float>(c2c.bw * c2c.count / 1000.0));
    }
  }

  /// The CPU at the root of a device's PCI tree.
  bool cpu_above(TopoVertexId v, TopoVertexId from, TopoVertexId& out) {
    if (vertex(v).kind == TopoKind::cpu) {
      out = v;
      return true;
    }
    for (const TopoLinkId l : vertex(v).out) {
      const TopoVertexId to = link(l).to;
      const TopoKind kind = vertex(to).kind;
      if (link(l).kind != TopoLinkKind::pci || to == from) continue;
      if (kind != TopoKind::pci && kind != TopoKind::cpu) continue;
      if (cpu_above(to, v, out)) return true;
    }
    return false;
  }

  void flatten_broadcom() {
    for (int s = 0; s < graph_.count(TopoKind::pci); ++s) {
      const TopoVertexId top = graph_.at(TopoKind::pci, s);
      const int gen = broadcom_gen(vertex(top).pci_device, true, version());
      if (gen == 0) continue;
      absorb_switches(top, gen);
      s = -1;  // the list of switches has changed
    }
  }

  /// Hangs the devices of lower switches of the same family on the top one, at the end of its
  /// links.
  void absorb_switches(TopoVertexId top, int gen) {
    std::vector<TopoVertexId> lower;
    for (const TopoLinkId l : vertex(top).out) {
      const TopoVertex& below = vertex(link(l).to);
      if (below.kind != TopoKind::pci || broadcom_gen(below.pci_device, false, version()) != gen)
        continue;
      // Up to 2.19 all levels must call themselves the same.
      if (version() < kNccl2_20 && below.pci_device != vertex(top).pci_device) continue;
      lower.push_back(link(l).to);
    }
    for (const TopoVertexId sub : lower) {
      for (const TopoLinkId down : vertex(sub).out) {
        const TopoVertexId device = link(down).to;
        if (device == top) continue;
        link(down).from = top;
        vertex(top).out.push_back(down);
        for (const TopoLinkId up : vertex(device).out) {
          if (link(up).to == sub) link(up).to = top;
        }
      }
      vertex(sub).out.clear();
      graph_.remove(sub);
    }
    // Neither absorbed nor visited again.
    vertex(top).pci_device =
        version() < kNccl2_20 ? 0x1000c01010000000 : vertex(top).pci_device | 0xffff;
  }

  void connect_cpus() {
    for (const TopoVertexId a : graph_.all(TopoKind::cpu)) {
      const auto& cpu = vertex(a).cpu;
      const float bw = socket_bw(cpu.arch, cpu.vendor, cpu.family, cpu.model, version());
      for (const TopoVertexId b : graph_.all(TopoKind::cpu)) {
        if (a != b && vertex(a).host == vertex(b).host) connect(a, b, TopoLinkKind::sys, bw);
      }
    }
  }

  /// Below a CPU every device looks down before it looks up.
  void move_uplinks_last(TopoVertexId v, TopoVertexId parent) {
    std::vector<TopoLinkId>& out = vertex(v).out;
    if (v != parent) {
      const auto up = std::ranges::find_if(out, [&](TopoLinkId l) { return link(l).to == parent; });
      assert(up != out.end());
      std::rotate(up, up + 1, out.end());
    }
    const std::vector<TopoLinkId> links = out;
    for (const TopoLinkId l : links) {
      if (link(l).kind == TopoLinkKind::pci && link(l).to != parent) {
        move_uplinks_last(link(l).to, v);
      }
    }
  }

  const NodeDescription& node_;
  std::span<const int> ranks_;
  NcclGraph graph_;
  int host_ = 0;  ///< of the CPU being added
};

NcclGraph NcclGraph::build(const NodeDescription& node, NcclVersion version,
                           std::span<const int> gpus, std::span<const int> nets) {
  const NodeDescription used =
      version < kNccl2_22 ? used_part(node, gpus, nets) : fused_by_rank(node, gpus, nets);
  return NcclGraphBuilder(used, version, gpus).build();
}

}  // namespace fabricast
