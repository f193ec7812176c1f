#pragma once
// From what NCCL was told of a node to hardware of the catalogue: the way of NCCL's XML into a
// simulation.

#include "models/hardware/node/node_type.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// GPUs by PCI device id, else by compute capability and NVLinks; NICs and PCIe switches by device
/// id, else by speed; a CPU of another make borrows the figures of the nearest one. What a device
/// says of itself is kept. A PCIe speed that is unknown, or below gen 3 as virtual switches report
/// it, is the part's own. Each net becomes a NIC of its own: the ports of one adapter do not share
/// its PCIe link. GPUs count in the order of their dev. Throws Error when no part fits.
NodeType import_node(const NodeDescription& node, const PartsCatalogue& parts);

}  // namespace fabricast
