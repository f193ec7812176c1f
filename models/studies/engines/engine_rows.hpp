#pragma once
// Measured all-reduces of inference engines, from CSV.

#include <string>
#include <vector>

#include "models/engines/engine.hpp"
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// One call, timed among others that follow each other.
struct EngineRow {
  Place place;
  std::string system;    ///< as in the file
  std::string topology;  ///< what it is simulated on
  EngineRelease release;
  std::string version;  ///< as in the file
  int gpus = 0;
  Bytes size;
  double time_us = 0;
  bool cuda_graph = true;
};

struct EngineRows {
  std::vector<EngineRow> rows;
  int other = 0;  ///< rows of other collectives, passed over
};

/// Columns system, backend, version, gpus, bytes, time_us, launch (cuda-graph or stream);
/// collective, if there is one, other than all_reduce passes a row over. `topology` says what to
/// simulate; without it `system` is a name of ai-dynamo/aiconfigurator (h100_sxm, gb200), or of a
/// topology. Throws Error with file and line.
EngineRows read_engine_rows(const std::string& text, const std::string& file);

}  // namespace fabricast
