#pragma once
// From a matrix of `nvidia-smi topo -m` to a node type. The matrix says how many GPUs and NICs
// there are, the NVLinks between GPUs, and how near each NIC is; parts and rates are those of the
// nearest known node.

#include <string>
#include <vector>

#include "models/hardware/node/node_changes.hpp"
#include "models/hardware/node/node_type.hpp"
#include "models/io/imports/smi_matrix.hpp"

namespace fabricast {

struct MatrixNode {
  NodeType node;
  std::string nearest;  ///< preset, or servers as they usually are with this GPU
  std::vector<std::string>
      notes;  ///< what differs from it, what was left out, what is taken from it
};

/// Throws Error, with the way out, where the matrix fits more than one GPU and neither
/// `changes.gpu` nor a product name in `text` says which, and where no such node can be built.
MatrixNode node_from_matrix(const SmiMatrix& matrix, const std::string& text,
                            const std::string& file, const NodeChanges& changes,
                            const PartsCatalogue& parts);

}  // namespace fabricast
