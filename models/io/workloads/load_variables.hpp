#pragma once
// The catalogue of environment variables from YAML: one variable a line of `variables:`.

#include <string>

#include "models/io/formats/yaml_tree.hpp"
#include "models/nccl/environment/variables.hpp"

namespace fabricast {

/// The catalogue embedded in the program (models/nccl/environment/variables.yaml).
VariableCatalogue load_variables();

/// The same from text; `file` is used in messages only. Throws Error: unknown words, wrong
/// releases, a libnccl variable without effect or evidence.
VariableCatalogue parse_variables(const YamlText& text, const std::string& file);

}  // namespace fabricast
