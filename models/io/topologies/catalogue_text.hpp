#pragma once
// The parts catalogue as text, figure by figure: what calibration moves. A figure is named by its
// dotted path in topologies/parts.yaml: "gpus.H100_SXM5.copy_rate.simple".

#include <span>
#include <string>
#include <string_view>

#include "models/hardware/parts/parts.hpp"
#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

class CatalogueText {
 public:
  /// The embedded catalogue, before anything is calibrated.
  CatalogueText();

  /// "37 GB/s"; throws Error with the nearest path of a figure.
  const std::string& value(std::string_view path) const;
  /// REQUIRES: value(path) does not throw.
  void set(std::string_view path, std::string text);
  /// Each of these values times `factor`, with so many significant digits. REQUIRES: as set().
  void scale(std::span<const std::string> paths, double factor, int digits);
  /// Throws Error where a value does not fit its figure.
  PartsCatalogue parts() const;

 private:
  YamlNode tree_;
};

/// "37 GB/s" times 1.1 is "40.7 GB/s": the same unit, so many significant digits; sizes are
/// whole bytes.
std::string scaled(std::string_view value, double factor, int digits);
/// a / b of two quantities of one kind ("700 ns" / "1 us" = 0.7) or of two plain numbers. Throws
/// Error where they are of different kinds.
double ratio(std::string_view a, std::string_view b);

}  // namespace fabricast
