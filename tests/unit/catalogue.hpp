#pragma once
// The parts that ship, read once for a test.

#include "models/io/topologies/load.hpp"

namespace fabricast {

inline const PartsCatalogue& parts() {
  static const PartsCatalogue loaded = load_catalogue();
  return loaded;
}

}  // namespace fabricast
