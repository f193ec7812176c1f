#pragma once
// A fabric in YAML -> FabricConfig. The format is shown in topologies/fabric-ndr-rail.yaml.

#include "models/hardware/cluster/cluster.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/io/formats/reader.hpp"

namespace fabricast {

inline constexpr double kOversubscriptionMax = 1'000;

/// Reads a file of `kind: fabric` whole, or the mapping under `fabric:` of a cluster. Figures may
/// cite sources of the catalogue and of the fabric's own table.
FabricConfig read_fabric(Reader& in, const PartsCatalogue& parts);

}  // namespace fabricast
