#pragma once
// What `fabricast calibrate` writes and every command reads: calibrated values of figures of the
// catalogue, and the bands of predictions. The shipped file is topologies/calibrated.yaml.

#include <string>
#include <vector>

#include "models/hardware/node/node_graph.hpp"
#include "models/io/bands/bands.hpp"
#include "models/io/topologies/catalogue_text.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

struct CalibratedValue {
  Place place;
  std::string path;              ///< of the figure
  std::string value, low, high;  ///< with a 90 % interval
  std::string catalogue;         ///< the value before
  int runs = 0;                  ///< that depend on it
};

struct Calibrated {
  std::vector<CalibratedValue> values;
  BandTable bands;
};

/// Throws Error with file and line.
Calibrated parse_calibrated(const std::string& text, const std::string& file);
bool is_calibrated_file(const std::string& text, const std::string& file);
std::string calibrated_yaml(const Calibrated& calibrated, const std::string& remark);

/// The shipped one; made once.
const Calibrated& shipped_calibrated();
/// Throws Error where a figure is not in the catalogue.
void overlay(const Calibrated& calibrated, CatalogueText& catalogue);
/// Of the shipped values those of the parts of a node, a line each; "" where there are none.
std::string calibrated_text(const NodeGraph& node);
/// Those of the user's own file where it has bands, else the shipped ones.
BandTable load_bands(const std::string& own_file);

}  // namespace fabricast
