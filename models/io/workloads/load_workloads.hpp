#pragma once
// What a cluster works on, from files to typed config: transformers, what GPUs compute, training
// frameworks. Presets are those of workloads/, compiled into the program.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/training/model/framework.hpp"
#include "models/training/model/gpu_compute.hpp"
#include "models/training/model/transformer.hpp"

namespace fabricast {

/// What a GPU costs for an hour.
struct Prices {
  std::string as_of;                  ///< "May 2026"
  std::map<std::string, double> usd;  ///< by part name
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

class Reader;
Precision read_precision(Reader& in, std::string_view key);
Recompute read_recompute(Reader& in, std::string_view key);
/// `otherwise` is what the keys that are absent mean.
Overlap read_overlap(Reader& in, std::string_view key, const Overlap& otherwise);

/// The same from text; `file` is used in messages only.
Transformer parse_transformer(const std::string& text, const std::string& file);
ComputeCatalogue parse_compute(const std::string& text, const std::string& file);
FrameworkCatalogue parse_frameworks(const std::string& text, const std::string& file);
Prices parse_prices(const std::string& text, const std::string& file);

}  // namespace fabricast
