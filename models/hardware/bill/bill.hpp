#pragma once
// What joins the nodes of a cluster, counted as it is sold: what a buyer orders. Servers, racks,
// spares, and the networks for storage and management are not in it.
//
// Spines and cores. The cluster has a spine for every uplink of a leaf, with one cable to each
// leaf. A buyer takes fewer: one switch does the work of several spines and has as many parallel
// cables to a leaf, as in NVIDIA's reference architectures. Counted is the least number that has
// the ports and shares the uplinks evenly.
//
// Ports. A NIC that is slower than a port of its leaf shares the port with others by a split cable,
// up to four of them; trunks do not split. So a leaf may have more ports free than the cluster,
// which gives each NIC a port, takes it to have.
//
// Cables. Copper is bought as far as it is sold; what is longer, or would have to be split and is
// not sold so, becomes fibre, and a note says so. A cable or transceiver in a cage of several ports
// serves them all. Whether the lanes of both ends have the same speed is not checked.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class BillKind : std::uint8_t { nic, fabric_switch, copper, transceiver, fibre };
/// Of a NIC, a switch or a transceiver where it stands; of a cable what it joins.
enum class BillPlace : std::uint8_t {
  nic,
  leaf,
  spine,
  core,
  node_leaf,
  leaf_spine,
  spine_core,
  local,  ///< dragonfly: in a group
  global  ///< dragonfly: between groups
};
inline constexpr auto kBillKindWords =
    enum_words<BillKind>("nic", "switch", "copper", "transceiver", "fibre");
inline constexpr auto kBillPlaceWords = enum_words<BillPlace>(
    "nic", "leaf", "spine", "core", "node-leaf", "leaf-spine", "spine-core", "local", "global");

struct BillLine {
  BillKind kind{};
  BillPlace place{};
  std::string part;   ///< in the parts catalogue, of fibre its kind; "" = nothing that is sold fits
  double metres = 0;  ///< of a cable, as it is sold
  std::int64_t count = 0;            ///< pieces
  std::int64_t links = 0;            ///< of cables: what they carry together
  std::optional<double> watts_each;  ///< nothing = not known
  bool assumed = false;              ///< the part was chosen here: the fabric names none
};

struct TierPorts {
  std::int64_t used = 0, free = 0;
};

struct FabricBill {
  std::vector<BillLine> lines;       ///< by kind, then from the nodes upwards
  std::array<TierPorts, 3> ports{};  ///< by SwitchTier; of a dragonfly all switches are leaves
  std::vector<std::string> notes;    ///< what was decided for the buyer, in sentences
  std::int64_t pieces(BillKind kind) const;
  /// Of all lines whose power is known: the switches' typical, the transceivers' highest.
  double watts() const;
};

/// Empty for a single host, which needs no fabric. `parts` says what is sold: transceivers, copper
/// cables, and switches where the fabric is the assumed one.
FabricBill bill_of(const Cluster& cluster, const PartsCatalogue& parts);

}  // namespace fabricast
