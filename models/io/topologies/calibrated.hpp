#pragma once
// What `fabricast calibrate` writes and every command reads: calibrated values of figures of the
// catalogue, and the bands of predictions. The shipped file is topologies/calibrated.yaml.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/hardware/node/node_graph.hpp"
#include "models/io/bands/bands.hpp"
#include "models/io/formats/yaml_tree.hpp"
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

/// What the fit says where it has not seen the runs of one source, by the parameters of the recipe.
struct LeftOutFits {
  /// A parameter: one factor on all these figures of the catalogue, by their paths.
  std::vector<std::pair<std::string, std::vector<std::string>>> parameters;
  /// By source_key: a factor for each parameter, 1 where it stays at the catalogue's value.
  std::map<std::string, std::vector<double>> factors;
  /// By source_key: bands of what the others measured, of the keys of the source's runs.
  std::map<std::string, std::vector<LeftOutBand>> bands{};
};

struct Calibrated {
  std::vector<CalibratedValue> values;
  BandTable bands;
  LeftOutFits left_out{};
};

/// Throws Error with file and line.
Calibrated parse_calibrated(const YamlText& text, const std::string& file);
bool is_calibrated_file(const std::string& text, const std::string& file);
std::string calibrated_yaml(const Calibrated& calibrated, const std::string& remark);

/// The shipped one; made once.
const Calibrated& shipped_calibrated();
/// Throws Error where a figure is not in the catalogue.
void overlay(const Calibrated& calibrated, CatalogueText& catalogue);
/// The catalogue of a fit without the source's runs. REQUIRES: left_out.factors has it.
CatalogueText catalogue_without(const LeftOutFits& left_out, const std::string& source);
/// Of the shipped values those of the parts of a node, a line each; "" where there are none.
std::string calibrated_text(const NodeGraph& node);
/// What a user's own file of calibrated values says, where it has bands; else the shipped one.
Calibrated load_calibrated(const std::string& own_file);
/// Its bands.
BandTable load_bands(const std::string& own_file);

}  // namespace fabricast
