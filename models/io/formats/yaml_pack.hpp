#pragma once
// A tree of YAML as bytes. Files that travel in the program are parsed when it is built: to read
// their trees back takes a thirtieth of the time to parse their text.

#include <string>
#include <string_view>

#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

/// Values in the order of the file, lines as steps from the one before.
std::string pack_yaml(const YamlNode& tree);
/// The same tree, with its lines. REQUIRES: `packed` is what pack_yaml() returned.
YamlNode unpack_yaml(std::string_view packed);

}  // namespace fabricast
