#include "models/io/shipped/embedded.hpp"

#include <algorithm>

namespace fabricast {

const EmbeddedFile* find_embedded(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace fabricast
