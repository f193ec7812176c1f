#pragma once
// A node type with other NICs or GPUs than its file says: what `dgx-h100:nics=4` names.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/hardware/node/node_type.hpp"
#include "models/hardware/parts/parts.hpp"

namespace fabricast {

/// NICs of a server: more are taken for a mistake.
inline constexpr int kNicsMax = 1024;

/// What is asked of a node beside what its file says. Applied in the order of the members.
struct NodeChanges {
  std::string gpu;                 ///< part of every GPU; "" = the file's
  std::string nic;                 ///< part of every NIC; "" = the file's
  std::optional<NetKind> network;  ///< of every NIC, where it is not the part's
  int nics = 0;                    ///< of a server; 0 = the file's

  bool operator==(const NodeChanges&) const = default;
  bool empty() const { return *this == NodeChanges{}; }
};

/// Where a device hangs: the number of its CPU, then on the way down of the child at each level.
using TreeWay = std::vector<int>;

/// Which `count` of the devices remain, ascending: as evenly as it goes over CPUs, under each over
/// its PCIe switches, and so on; of equals those that lie furthest apart.
/// REQUIRES: ways in the order of the tree; 0 <= count <= ways.size().
std::vector<std::size_t> spread_over_tree(std::span<const TreeWay> ways, int count);

/// The NICs of a node in the order of its tree.
std::vector<const PciConfig*> nics_of(const NodeType& node);

/// The names of the NICs that remain when `count` do. Throws Error when the node has fewer.
std::vector<std::string> spread_nics(const NodeType& node, int count);

/// Fewer NICs are those of spread_nics(), and switches that have nothing else below them go, too;
/// a multiple of the node's stands k by k where each stood. Another GPU must have the same links,
/// so that the boards are alike. The title says what was changed. Throws Error.
NodeType changed(NodeType node, const NodeChanges& changes, const PartsCatalogue& parts);

}  // namespace fabricast
