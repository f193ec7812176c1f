#pragma once
// The values of an axis of a sweep: a list, a range, or files.

#include <string>
#include <vector>

#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

/// Of a range as text: "1..64" doubles, "1..64:x4" multiplies, "1..8:+1" adds; the ends may carry
/// one unit ("100 Gb/s..400 Gb/s"), sizes different ones ("64KiB..1GiB"). Empty: no range.
/// Throws Error.
std::vector<std::string> range_values(const std::string& text);

/// `node`: what stands behind the key of one axis. `folder`: of the file that it stands in; files
/// are named from `question_folder` on. Throws Error without a place.
std::vector<YamlNode> axis_values(const YamlNode& node, const std::string& folder,
                                  const std::string& question_folder);

}  // namespace fabricast
