#pragma once
// A node type from a few words: so many GPUs of one part, how they are joined, so many NICs. The
// layout is that of common servers (docs/validate.md); the presets in topologies/ are drawn after
// the same machines, with their own bus ids.

#include <optional>
#include <string>
#include <string_view>

#include "models/hardware/node/node_type.hpp"
#include "models/hardware/parts/parts.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// How the GPUs of a node are joined.
enum class NodeKind : std::uint8_t {
  nvswitch,          ///< HGX: all GPUs on NVSwitches
  nvlink_mesh,       ///< direct NVLinks between every two GPUs
  nvlink_cube_mesh,  ///< DGX-1: two meshes of four, each GPU joined to its twin in the other
  nvlink_pairs,      ///< PCIe cards, two and two joined by a bridge
  pcie,              ///< PCIe cards without NVLink
  nvl72,             ///< a tray of an NVL72 rack
  single             ///< one GPU
};
inline constexpr auto kNodeKindWords = enum_words<NodeKind>(
    "nvswitch", "nvlink-mesh", "nvlink-cube-mesh", "nvlink-pairs", "pcie", "nvl72", "single");
/// Of a hybrid cube mesh. With four NVLinks each joins two GPUs (P100); two more double some
/// (V100).
inline constexpr int kCubeMeshGpus = 8, kCubeMeshLinksLeast = 4;
constexpr std::string_view to_text(NodeKind kind) { return kNodeKindWords[kind]; }

struct NodeShape {
  std::string gpu;  ///< part
  NodeKind kind{};
  int gpus = 1;
  std::string nic;                      ///< part; unused without NICs
  int nics = 0;                         ///< ports, where a card has several
  Bandwidth nic_rate;                   ///< of each; 0 = the part's
  std::optional<NetKind> network = {};  ///< where it is not the part's
  int ports = 1;                        ///< of a card, which stand in one slot
  bool peer_to_peer = false;            ///< NodeType::peer_to_peer

  bool operator==(const NodeShape&) const = default;
};

/// Short and unique: "4 x A100_SXM4_80 nvlink-mesh, 2 x Cassini 200 Gb/s".
std::string to_text(const NodeShape& shape);

/// CPUs, PCIe switches and NVSwitches are those that the GPU comes with. NICs are spread evenly: a
/// GPU with an own PCIe switch has its NICs there. Throws Error for what no such server has (a mesh
/// with fewer links than peers, an odd number of cards in pairs, a GPU without NVSwitches, ...).
NodeType compose_node(const NodeShape& shape, const PartsCatalogue& parts);

}  // namespace fabricast
