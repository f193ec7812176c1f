#pragma once
// The inside of one node as a directed graph: a server, or several (trays) whose GPUs NVLink joins,
// which NCCL takes for one. Built once from a NodeType, checked whole, then only read. Every node
// of a cluster shares one NodeGraph.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

enum class VertexId : std::uint32_t {};
enum class LinkId : std::uint32_t {};  ///< local to a NodeGraph, or global in a Cluster
constexpr std::uint32_t index_of(VertexId id) { return static_cast<std::uint32_t>(id); }
constexpr std::uint32_t index_of(LinkId id) { return static_cast<std::uint32_t>(id); }

enum class VertexKind : std::uint8_t { cpu, pcie_switch, gpu, nvswitch, nic };
/// `memory`: a buffer in the DRAM of a CPU is written once and read once. `root`: what goes from
/// one root port to another, or is loaded by a GPU from host memory.
/// `duplex`: what a GPU stores there and loads at once. All three begin and end at the CPU.
enum class LinkKind : std::uint8_t { nvlink, c2c, pcie, socket, network, memory, root, duplex };

/// How `nvidia-smi topo -m` names the way between two devices, nearest first.
enum class SmiPath : std::uint8_t { self, nvlink, pix, pxb, phb, node, sys };

/// One device of a node. Which of the part pointers is set follows from kind.
/// `parent` is the PCI parent (CPU or PCIe switch); NVSwitch planes and CPUs have none.
struct Vertex {
  VertexKind kind{};
  std::string name;  ///< unique in its tray: "gpu0", "mlx5_0", "pcisw2", "cpu1", "nvswitch"
  int tray = 0;      ///< of the node; the plane of NVSwitches is in none and says 0
  int index = 0;     ///< among its kind, in NCCL's (depth first) order
  VertexId parent{};
  bool has_parent = false;
  int host_bridge = 0;               ///< same number = same host bridge of the CPU (PHB, else NODE)
  std::string part;                  ///< name in the catalogue; of an NVSwitch plane: of its chips
  std::string busid;                 ///< "0000:1b:00.0"
  PciIds ids;                        ///< GPUs, NICs and PCIe switches
  int pcie_gen = 0, pcie_width = 0;  ///< of the link to the parent, as negotiated
  std::string pcie_speed;            ///< the same as sysfs writes it: "32.0 GT/s PCIe"
};

struct GpuInfo {
  VertexId vertex{};
  GpuPart part;
  bool gdr = true;
  std::vector<std::pair<std::string, int>> nvlink_targets;  ///< bus id of the far end, links
  int nvlink_count = 0;                                     ///< sum over targets
  int nvswitch_links = 0;                                   ///< of these, to the NVSwitch plane
  int c2c_links = 0;                                        ///< NVLink-C2C to its CPU; 0 = none
};

struct NicInfo {
  VertexId vertex{};
  NicPart part;
  std::string name;  ///< HCA name: "mlx5_0"
  int port = 1;
  std::string guid;  ///< "0x9a3f5e00030000"
  Bandwidth speed;   ///< link speed of the port
  int max_connections = 131072;
  bool gdr = true;
  int rail = 0;  ///< index of the NIC in its tray: decides its leaf
};

struct CpuInfo {
  VertexId vertex{};
  CpuPart part;
  int numa = 0;
  std::string affinity;  ///< "00000000,00ffffff"
  std::string host_hash;
};

/// One direction. `latency` = the vertex it leaves (switch, NIC, root complex) plus the wire.
struct NodeLink {
  VertexId from{}, to{};
  LinkKind kind{};
  Bandwidth rate;  ///< payload rate as simulated
  Duration latency;
};

/// An NVSwitch. All chips of a node form one plane: its vertex is not a single chip.
struct NvSwitchInfo {
  std::string name, busid;
  NvSwitchPart part;
  int chips = 1;  ///< that show themselves as one device
};

struct NodeType;  ///< typed config, models/hardware/node/node_type.hpp

class NodeGraph {
 public:
  /// Throws Error with the offending key (cycle, unconnected GPU, duplicate name, ...).
  static NodeGraph build(const NodeType& type, const PartsCatalogue& parts);

  const std::string& name() const { return name_; }
  const std::string& title() const { return title_; }
  /// Servers that NVLink joins into this node; their devices stand one server after another.
  int trays() const { return trays_; }
  int domain_nodes() const { return domain_nodes_; }  ///< the most that could be joined
  int gpus_per_tray() const { return static_cast<int>(gpus_.size()) / trays_; }
  int nics_per_tray() const { return static_cast<int>(nics_.size()) / trays_; }
  std::span<const GpuInfo> gpus_of(int tray) const;
  std::span<const NicInfo> nics_of(int tray) const;
  std::span<const Vertex> vertices() const { return vertices_; }
  std::span<const NodeLink> links() const { return links_; }
  const Vertex& vertex(VertexId id) const { return vertices_[index_of(id)]; }
  const NodeLink& link(LinkId id) const { return links_[index_of(id)]; }
  std::span<const GpuInfo> gpus() const { return gpus_; }  ///< local rank order
  std::span<const NicInfo> nics() const { return nics_; }
  std::span<const CpuInfo> cpus() const { return cpus_; }

  /// Every NVSwitch chip of the node; together they are the one vertex "nvswitch".
  std::span<const NvSwitchInfo> nvswitches() const { return nvswitches_; }
  int nvswitch_chips() const;

  bool acs() const { return acs_; }                            ///< NodeType::acs
  bool has_patched_driver() const { return patched_driver_; }  ///< NodeType::peer_to_peer
  /// The driver lets any two of its GPUs reach each other over PCIe.
  bool peer_to_peer() const;

  /// By name ("gpu0", "mlx5_1"); throws Error with the nearest name.
  VertexId find(std::string_view name, int tray = 0) const;
  /// Elements directly below a CPU or PCIe switch, in the order of the file.
  std::vector<VertexId> children(VertexId parent) const;

  /// Links from one device to another over NVLink only (direct or through the NVSwitch plane);
  /// empty when there is no such way or from == to.
  std::vector<LinkId> nvlink_route(VertexId from, VertexId to) const;
  /// Links over PCIe, root complexes and sockets; between a GPU and its CPU over NVLink-C2C where
  /// there is one. Never empty for two different devices of one tray. Between two devices that are
  /// no CPUs up to the root complex and across it where the tree or ACS wants it. REQUIRES: one
  /// tray.
  std::vector<LinkId> pcie_route(VertexId from, VertexId to) const;
  /// From a CPU to a GPU that loads what lies in its memory.
  std::vector<LinkId> load_route(VertexId cpu, VertexId gpu) const;
  /// What else a GPU's stores to host memory, and its loads, take while it does both at once; empty
  /// where that never limits. `of_tree`: by threads of their own (CpuPart::duplex_tree_rate).
  std::vector<LinkId> duplex_route(VertexId gpu, bool of_tree) const;
  /// A buffer in the memory of this CPU, written and read; empty where that never limits.
  std::vector<LinkId> memory_route(VertexId cpu) const;
  /// The CPU a device hangs under: its host memory is the bounce buffer.
  VertexId cpu_of(VertexId device) const;
  /// CpuPart::ll_check_rate of the slowest CPU; 0 where none says it.
  Bandwidth ll_check_rate() const;
  /// Of Python that takes so long on an Intel Xeon 8480C: CpuPart::python of the slowest CPU.
  Duration python_time(Duration reference) const;
  /// As nvidia-smi would print it; nvlink only if there is an NVLink way.
  SmiPath smi_path(VertexId from, VertexId to) const;
  /// NVLinks between two GPUs, or to the NVSwitch plane: the k of NV<k>; 0 = none.
  int nvlinks_between(VertexId from, VertexId to) const;
  /// A NIC stands behind the CPU that this GPU has NVLink-C2C to: NCCL's path type P2C.
  bool is_behind_c2c(VertexId gpu, VertexId nic) const;
  /// "gpu3 -> pcisw3 (PCIe gen5 x16)"
  std::string link_name(LinkId id) const;
  int tray_of(LinkId id) const;

 private:
  friend class NodeGraphBuilder;
  /// The link of this kind from one vertex to its neighbour; false when there is none.
  bool direct_link(VertexId from, VertexId to, LinkKind kind, LinkId& out) const;
  std::vector<VertexId> ancestors(VertexId device) const;  ///< itself first, its CPU last
  std::vector<VertexId> tree_way(VertexId from, VertexId to, bool over_root) const;
  std::vector<LinkId> links_along(const std::vector<VertexId>& way) const;
  /// The root port above a device; nothing where it never limits.
  std::optional<LinkId> root_link(VertexId device) const;

  std::string name_, title_;
  int trays_ = 1, domain_nodes_ = 1;
  std::vector<Vertex> vertices_;
  std::vector<NodeLink> links_;
  std::vector<std::vector<LinkId>> out_;  ///< by vertex
  std::vector<NvSwitchInfo> nvswitches_;
  std::vector<GpuInfo> gpus_;
  std::vector<NicInfo> nics_;
  std::vector<CpuInfo> cpus_;
  bool acs_ = false, patched_driver_ = false;
  std::vector<std::optional<LinkId>> memory_links_;       ///< by vertex: of a CPU
  std::vector<std::optional<LinkId>> root_links_;         ///< by vertex: of what is on a root port
  std::vector<std::optional<LinkId>> duplex_links_;       ///< by vertex: of a GPU
  std::vector<std::optional<LinkId>> duplex_tree_links_;  ///< by vertex: of a GPU
};

}  // namespace fabricast
