#include "models/io/text_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/error.hpp"

namespace fabricast {

std::string read_text_file(const std::string& path, const std::string& hint, std::size_t size_max) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(Place{path, 0, {}}, "is a directory", hint);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(Place{path, 0, {}}, "cannot be read", hint);
  std::string text;
  char block[1 << 14];
  while (text.size() < size_max && in) {
    in.read(block, static_cast<std::streamsize>(std::min(sizeof block, size_max - text.size())));
    text.append(block, static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

}  // namespace fabricast
