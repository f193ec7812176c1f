#pragma once
// What a prediction is about, as bands are looked up.

#include "models/hardware/node/compose_node.hpp"
#include "models/hardware/node/node_graph.hpp"
#include "models/io/bands/bands.hpp"
#include "models/nccl/base/types.hpp"

namespace fabricast {

BandKey band_key(const NodeShape& shape, const PartsCatalogue& parts, Collective collective,
                 Bytes size);
/// With one node its NICs do not matter.
BandKey band_key(const NodeGraph& node, int nodes, Collective collective, Bytes size);
/// Whether launches that keep a thread of the host busy for `host_us` decide what a call takes.
bool decided_by_launches(double host_us, double call_us);

}  // namespace fabricast
