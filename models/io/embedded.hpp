#pragma once
// The files of topologies/ as they were when the program was built.

#include <span>
#include <string_view>

namespace fabricast {

struct EmbeddedFile {
  std::string_view name;  ///< without folder and extension: "dgx-h100", "parts"
  std::string_view text;
};

/// In the order of their file names.
std::span<const EmbeddedFile> embedded_topologies();

}  // namespace fabricast
