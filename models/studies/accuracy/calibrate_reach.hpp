#pragma once
// Which measured points a figure of the catalogue can matter to, so that only these are simulated
// again when it moves. Errs on the side of too many.

#include <set>
#include <string>
#include <string_view>

#include "models/io/bands/bands.hpp"
#include "models/studies/accuracy/map_run.hpp"

namespace fabricast {

/// What a run is simulated on.
struct RunParts {
  std::set<std::string> parts;  ///< "gpus.H100_SXM5", "cpus.Xeon_8480C", "nics.ConnectX-7"
  BandKey key;                  ///< of its hardware and network
};
RunParts parts_of(const MappedRun& run, const PartsCatalogue& parts);

/// `protocol` in NCCL's spelling, of the call of one point.
bool can_matter(std::string_view path, const RunParts& run, std::string_view protocol);

/// Speaks of NICs, of switches between nodes, or of their software.
bool is_network_figure(std::string_view path);

}  // namespace fabricast
