#pragma once
// workloads/engines.yaml -> EngineCosts.

#include <string>

#include "models/engines/engine_costs.hpp"
#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

/// The file that travels in the program.
EngineCosts load_engines();
/// The same from text; `file` is used in messages only. Throws Error.
EngineCosts parse_engines(const YamlText& text, const std::string& file);

}  // namespace fabricast
