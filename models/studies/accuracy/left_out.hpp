#pragma once
// Catalogues of fits that have not seen the runs of one source.

#include <map>
#include <string>

#include "models/hardware/parts/parts.hpp"
#include "models/io/bands/measured.hpp"
#include "models/io/topologies/calibrated.hpp"

namespace fabricast {

/// By source_key, of the sources of these runs that were left out of a fit.
std::map<std::string, PartsCatalogue> left_out_catalogues(const Calibrated& calibrated,
                                                          const Measurements& measured);

}  // namespace fabricast
