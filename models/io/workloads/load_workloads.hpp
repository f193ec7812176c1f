#pragma once
// What a cluster works on, from files to typed config: transformers, what GPUs compute, training
// frameworks; prices. Presets are those of workloads/, compiled into the program.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/io/formats/yaml_tree.hpp"
#include "models/training/model/framework.hpp"
#include "models/training/model/gpu_compute.hpp"
#include "models/training/model/transformer.hpp"

namespace fabricast {

/// A price, or what else a cost is made of, and where it comes from.
struct PriceFigure {
  double value = 0;
  std::string source;  ///< what it says, or the user's file
  std::string status;  ///< as in parts.yaml; "own" = the user's
  std::string as_of;   ///< "May 2026"; "" = not said
  std::string note;
};
using PriceTable = std::map<std::string, PriceFigure>;  ///< by part name

/// A cable: its plugs, and each metre.
struct CablePrice {
  PriceFigure piece, metre;
};

/// In USD.
struct Prices {
  std::string as_of;  ///< of the GPUs' prices: "May 2026"
  PriceTable gpus;    ///< for an hour
  PriceTable nics, switches, transceivers;
  std::map<std::string, CablePrice> cables;  ///< by copper cable, or kind of fibre
  PriceFigure power;                         ///< of a kWh
  PriceFigure fabric_years;                  ///< the years over which a fabric is paid off
};

/// Names of the model presets, sorted.
std::vector<std::string> model_names();
/// A preset by name, else a YAML file. Throws Error.
Transformer load_transformer(const std::string& model);
/// workloads/gpus.yaml, by part name.
ComputeCatalogue load_compute();
/// workloads/frameworks.yaml, by name.
FrameworkCatalogue load_frameworks();
/// workloads/prices.yaml.
Prices load_prices();
/// The same, and on top of it the user's own file, if any: single figures, which it replaces or
/// adds. What it prices must be a part of `parts`. Throws Error.
Prices load_prices(const std::string& own_file, const PartsCatalogue& parts);

class Reader;
Precision read_precision(Reader& in, std::string_view key);
Recompute read_recompute(Reader& in, std::string_view key);
/// `otherwise` is what the keys that are absent mean.
Overlap read_overlap(Reader& in, std::string_view key, const Overlap& otherwise);

/// The same from text; `file` is used in messages only.
Transformer parse_transformer(const YamlText& text, const std::string& file);
ComputeCatalogue parse_compute(const YamlText& text, const std::string& file);
FrameworkCatalogue parse_frameworks(const YamlText& text, const std::string& file);
Prices parse_prices(const YamlText& text, const std::string& file);
/// On top of `base`: every key may be missing, and a figure may be a bare number.
Prices parse_own_prices(const std::string& text, const std::string& file, const Prices& base,
                        const PartsCatalogue& parts);

}  // namespace fabricast
