#pragma once
// One node as NCCL is told of it: the content of NCCL's topology XML (src/graph/xml.cc), typed.
// Filled from a NodeGraph here and from XML files by models/io; the only hardware input of the
// graph search.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/hardware/node/node_graph.hpp"

namespace fabricast {

/// The elements of the XML. (Not nested in NodeDescription: their default values would be unknown
/// there.)
namespace nccl_xml {

struct Nvlink {
  std::string target;  ///< bus id of the far end
  int count = 0;       ///< links in this bundle
  std::string tclass;  ///< PCI class of the far end: "0x068000" NVSwitch, "0x0302.." GPU
  bool operator==(const Nvlink&) const = default;
};
struct C2c {
  int count = 0;
  int bw = 0;  ///< per link and direction, MB/s
  bool operator==(const C2c&) const = default;
};
struct Gpu {
  int dev = 0;  ///< NVML index
  int sm = 0;   ///< compute capability, 90 = 9.0
  bool gdr = true;
  std::vector<Nvlink> nvlinks;
  std::vector<C2c> c2c;
  bool operator==(const Gpu&) const = default;
};
struct Net {
  std::string name;  ///< "mlx5_0"
  int dev = 0;       ///< index among the nets of the node, in the order of the description
  int speed_mbps = 0;
  int port = 0;
  std::optional<std::uint64_t> guid;
  bool gdr = false;
  float latency_us = 0;
  int max_connections = 0;
  bool collnet = false;  ///< the CollNet plugin serves it
  NetKind network = NetKind::ib;
  bool operator==(const Net&) const = default;
};
struct Nic {
  std::vector<Net> nets;
  bool operator==(const Nic&) const = default;
};
/// A PCI function with what is below it. Without a bus id: a NIC that hangs directly on its CPU.
struct Pci {
  std::string busid;  ///< "0000:1b:00.0"
  std::string device_class, vendor, device, subsystem_vendor, subsystem_device;
  std::string link_speed;  ///< as sysfs says it: "32.0 GT/s PCIe"
  int link_width = 0;      ///< lanes; 0 = unknown
  std::optional<Gpu> gpu;
  std::optional<Nic> nic;
  std::vector<Pci> children;
  bool operator==(const Pci&) const = default;
};
struct Cpu {
  int numa = 0;
  std::string arch, vendor;  ///< "x86_64", "GenuineIntel"
  int family = 0, model = 0;
  std::string affinity, host_hash;
  std::vector<Pci> children;
  bool operator==(const Cpu&) const = default;
};

}  // namespace nccl_xml

struct NodeDescription {
  using Nvlink = nccl_xml::Nvlink;
  using C2c = nccl_xml::C2c;
  using Gpu = nccl_xml::Gpu;
  using Net = nccl_xml::Net;
  using Nic = nccl_xml::Nic;
  using Pci = nccl_xml::Pci;
  using Cpu = nccl_xml::Cpu;

  std::string name;
  std::vector<Cpu> cpus;
  bool is_of_parts = false;  ///< nobody's plugin has changed it yet
};

/// GPUs and NICs get their index in the node as dev.
NodeDescription describe(const NodeGraph& node);

/// The indices (dev) of all GPUs, ascending: the ranks of a node if nothing is hidden from the job.
std::vector<int> gpu_devs(const NodeDescription& node);
/// All nets, in the order of the description.
std::vector<NodeDescription::Net> nets_of(const NodeDescription& node);
/// Their indices.
std::vector<int> net_devs(const NodeDescription& node);

/// What is left when only these GPUs and nets take part: branches without any of them vanish.
NodeDescription used_part(const NodeDescription& node, std::span<const int> gpus,
                          std::span<const int> nets);

/// The descriptions that the ranks of one node make, each of its own GPU and all nets, joined in
/// rank order: what a later rank adds goes to the end of the children of its parent
/// (ncclTopoFuseXml, since 2.22). GPUs can so change their order, and everything index-based with
/// it.
NodeDescription fused_by_rank(const NodeDescription& node, std::span<const int> gpus,
                              std::span<const int> nets);

}  // namespace fabricast
