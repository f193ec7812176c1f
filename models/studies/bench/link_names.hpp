#pragma once
// Links of a cluster as users name them, and what is written beside them.

#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

/// All links of this name, with or without what stands in parentheses; `*` stands for anything.
/// Throws Error with the nearest name when there is none.
std::vector<LinkId> find_links(const Cluster& cluster, const std::string& name);

/// Separated by blanks.
std::vector<std::string> words_of(std::string_view text);
/// "50%" -> 0.5. Throws Error unless it is above 0 and at most 1.
double share_of(const std::string& text);

}  // namespace fabricast
