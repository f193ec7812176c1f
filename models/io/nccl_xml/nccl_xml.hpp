#pragma once
// A node as NCCL sees it: the XML of NCCL_TOPO_DUMP_FILE.

#include <string>

#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// Elements and attributes in NCCL's order (src/graph/xml.cc), two blanks per level. Read again, it
/// gives the same description.
std::string to_nccl_xml(const NodeDescription& node);
std::string to_nccl_xml(const NodeGraph& node);

}  // namespace fabricast
