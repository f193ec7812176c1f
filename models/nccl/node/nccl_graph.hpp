#pragma once
// NCCL's graph of one node: devices and directed links with the bandwidths NCCL assumes for them,
// in NCCL's order. Restates src/graph/topo.cc and topo.h of NCCL 2.21 to 2.30; not what the
// simulator moves data over (that is NodeGraph).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

enum class TopoKind : std::uint8_t {
  gpu,  ///< one per rank
  pci,  ///< PCIe switch
  nvs,  ///< all NVSwitches of the node
  cpu,  ///< one per NUMA node
  nic,
  net,  ///< one per port
  dev   ///< the GPU's package, which owns its links (2.30)
};
inline constexpr int kTopoKinds = 7;

enum class TopoLinkKind : std::uint8_t { loc, nvl, c2c, pci, sys, net };

enum class TopoVertexId : std::uint32_t {};
enum class TopoLinkId : std::uint32_t {};
constexpr std::uint32_t index_of(TopoVertexId id) { return static_cast<std::uint32_t>(id); }
constexpr std::uint32_t index_of(TopoLinkId id) { return static_cast<std::uint32_t>(id); }

enum class CpuArch : std::uint8_t { unknown, x86, power, arm };
enum class CpuVendor : std::uint8_t { unknown, intel, amd, zhaoxin };

/// Bandwidth of what stays inside one device, GB/s.
inline constexpr float kLocalBw = 5000;

struct TopoVertex {
  TopoKind kind{};
  std::int64_t id = 0;           ///< bus id, NUMA node or net index: unique among its kind
  std::vector<TopoLinkId> out;   ///< widest first, then as NCCL's searches expect them
  std::uint64_t pci_device = 0;  ///< PCIe switches: vendor, device, subsystem vendor and device
  bool gdr = false;              ///< GPUs and nets: GPU-direct RDMA
  int dev = 0;                   ///< GPUs: NVML index; nets: index in the node
  int host = 0;                  ///< GPUs and CPUs: by the hash that their CPU gives
  struct {
    int rank = 0, sm = 0;
  } gpu;
  struct {
    CpuArch arch{};
    CpuVendor vendor{};
    int family = 0, model = 0;
  } cpu;
  struct {
    std::uint64_t asic = 0;  ///< equal for ports of one adapter: its guid
    int port = 0;
    float bw = 0, latency_us = 0;
    bool collnet = false;
  } net;
};

struct TopoLink {
  TopoVertexId from{}, to{};
  TopoLinkKind kind{};
  float bw = 0;  ///< GB/s in this direction
};

class NcclGraph {
 public:
  /// The ranks are `gpus` in this order; only these GPUs and nets of the description take part.
  static NcclGraph build(const NodeDescription& node, NcclVersion version,
                         std::span<const int> gpus, std::span<const int> nets);

  NcclVersion version() const { return version_; }
  std::span<const TopoVertexId> all(TopoKind kind) const { return by_kind_[index_of_kind(kind)]; }
  int count(TopoKind kind) const { return static_cast<int>(by_kind_[index_of_kind(kind)].size()); }
  TopoVertexId at(TopoKind kind, int index) const {
    return by_kind_[index_of_kind(kind)][static_cast<std::size_t>(index)];
  }
  /// Place of a vertex among its kind.
  int index_of_vertex(TopoVertexId id) const;

  std::size_t vertex_count() const { return vertices_.size(); }  ///< removed ones included
  const TopoVertex& vertex(TopoVertexId id) const { return vertices_[index_of(id)]; }
  std::span<const TopoLink> links() const { return links_; }
  const TopoLink& link(TopoLinkId id) const { return links_[index_of(id)]; }

  /// Where the links of a GPU are: itself, or since 2.30 the package it belongs to.
  TopoVertexId device_of(TopoVertexId gpu) const;
  /// The kind of CPU 0, by which NCCL judges the whole node.
  const TopoVertex& first_cpu() const { return vertex(at(TopoKind::cpu, 0)); }
  int min_sm() const;  ///< least compute capability of the GPUs

  /// Takes a vertex and its links out. Later vertices of its kind move up by one place.
  void remove(TopoVertexId id);

 private:
  friend class NcclGraphBuilder;
  static std::size_t index_of_kind(TopoKind kind) { return static_cast<std::size_t>(kind); }

  NcclVersion version_;
  std::vector<TopoVertex> vertices_;
  std::vector<TopoLink> links_;
  std::array<std::vector<TopoVertexId>, kTopoKinds> by_kind_;
};

/// One direction of a PCIe link, GB/s. An unknown speed counts as gen 3; 0 lanes as 16.
float pcie_bw(std::string_view link_speed, int link_width);
/// One direction of one NVLink of a GPU, GB/s.
float nvlink_bw(int sm, NcclVersion version);
/// From a CPU to any other of the same host, GB/s.
float socket_bw(CpuArch arch, CpuVendor vendor, int family, int model, NcclVersion version);

}  // namespace fabricast
