#pragma once
// What a tool printed of a node, or NCCL's XML, as a topology file.

#include <string>
#include <vector>

#include "models/hardware/node/node_changes.hpp"

namespace fabricast {

struct ImportedNode {
  std::string yaml;                ///< a file for --topology
  std::string summary;             ///< "8 x H100_SXM5, 8 NICs; nearest preset dgx-h100"
  std::vector<std::string> notes;  ///< what differs from it, what was assumed
};

/// Throws Error with the reason and the way out.
ImportedNode import_topology(const std::string& text, const std::string& file,
                             const NodeChanges& changes, const PartsCatalogue& parts);

}  // namespace fabricast
