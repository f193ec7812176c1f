#pragma once
// The data files as they were when the program was built: topologies/, workloads/, what tuner
// plugins ask for, the catalogue of environment variables, topics of help, scripts of shells,
// schemas.

#include <span>
#include <string_view>

#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

struct EmbeddedFile {
  std::string_view name;  ///< YAML and JSON without extension: "dgx-h100", "sizes.txt"
  std::string_view text;
  std::string_view packed;  ///< the tree of a YAML file, see yaml_pack.hpp; else ""

  YamlText yaml() const { return {text, packed}; }
};

/// In the order of their file names.
std::span<const EmbeddedFile> embedded_topologies();
std::span<const EmbeddedFile> embedded_workloads();
/// models/io/tuners/*.yaml
std::span<const EmbeddedFile> embedded_tuners();
/// docs/help/*.txt, completions/fabricast.*: "sizes.txt", "fabricast.bash"
std::span<const EmbeddedFile> embedded_texts();
/// schemas/*.json
std::span<const EmbeddedFile> embedded_schemas();
/// models/nccl/environment/variables.yaml alone
std::span<const EmbeddedFile> embedded_variables();

/// nullptr = none of this name.
const EmbeddedFile* find_embedded(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace fabricast
