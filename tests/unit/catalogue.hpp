#pragma once
// The parts that ship, read once.

#include "models/io/topologies/load.hpp"

namespace fabricast {

/// As they stand in the catalogue: what is computed by hand of them stays when somebody calibrates.
inline const PartsCatalogue& parts() {
  static const PartsCatalogue loaded = load_catalogue();
  return loaded;
}

/// With the shipped calibration.
inline const PartsCatalogue& shipped_parts() {
  static const PartsCatalogue loaded = load_parts();
  return loaded;
}

}  // namespace fabricast
