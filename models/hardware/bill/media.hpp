#pragma once
// What a link is made of: a copper cable, or fibre with a transceiver at each end.

#include <cstdint>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

/// An end of a link: the cage that it is plugged into.
struct BillCage {
  Bandwidth rate;  ///< of all its ports
  Bandwidth port;  ///< of one of them
  int links = 1;   ///< that share it
};

struct BillMedium {
  const CopperCablePart* copper = nullptr;                   ///< else fibre
  const TransceiverPart *above = nullptr, *below = nullptr;  ///< both or, where none fits, none
  double metres = 0;                                         ///< as sold
  bool instead_of_copper = false;                            ///< the fabric says copper
};

/// `below`: the NIC, or the switch nearer to the nodes. `splits`: what is above is split into
/// several links, each with a cage of its own below; else links run side by side from cage to cage.
BillMedium medium_of(const CableRun& run, const BillCage& above, const BillCage& below, bool splits,
                     const PartsCatalogue& parts);

}  // namespace fabricast
