#pragma once
// The data files as they were when the program was built: topologies/, workloads/, what tuner
// plugins ask for, the catalogue of environment variables, topics of help, scripts of shells.

#include <span>
#include <string_view>

namespace fabricast {

struct EmbeddedFile {
  std::string_view name;  ///< without folder and extension: "dgx-h100", "parts"; of texts with it
  std::string_view text;
};

/// In the order of their file names.
std::span<const EmbeddedFile> embedded_topologies();
std::span<const EmbeddedFile> embedded_workloads();
/// models/io/tuners/*.yaml
std::span<const EmbeddedFile> embedded_tuners();
/// docs/help/*.txt, completions/fabricast.*: "sizes.txt", "fabricast.bash"
std::span<const EmbeddedFile> embedded_texts();

/// models/nccl/environment/variables.yaml
std::string_view embedded_variables();

}  // namespace fabricast
