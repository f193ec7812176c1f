#include "models/io/text_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/error.hpp"

namespace fabricast {

std::string read_text_file(const std::string& path, const std::string& hint) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(Place{path, 0, {}}, "is a directory", hint);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(Place{path, 0, {}}, "cannot be read", hint);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace fabricast
