#pragma once
// From what a tool printed on a node to a node type: `nvidia-smi topo -m`, or a log of NCCL.

#include <optional>
#include <string>
#include <vector>

#include "models/hardware/node/node_changes.hpp"
#include "models/hardware/node/node_type.hpp"

namespace fabricast {

struct ToolNode {
  NodeType node;
  std::string kind;                ///< "nvidia-smi topo -m", "NCCL_DEBUG log"
  std::string nearest;             ///< the known node that parts and rates are taken from
  std::vector<std::string> notes;  ///< what differs from it, what was left out, what was assumed
  int nodes = 1;                   ///< that the log speaks of
};

/// Does it look like one? A quick look: YAML with a kind and XML do not.
bool is_tool_output(const std::string& text);

/// The changes are those that were asked for; the GPU among them is what such outputs leave open.
/// Throws Error with a reason, and where there is one the way out.
ToolNode node_from_tool(const std::string& text, const std::string& file,
                        const NodeChanges& changes, const PartsCatalogue& parts);

}  // namespace fabricast
