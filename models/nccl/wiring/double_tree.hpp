#pragma once
// The double binary tree over nodes: two trees such that (N even) every node is a leaf in one and
// works in the other. src/graph/trees.cc of NCCL, unchanged from 2.4 to 2.30.

#include <array>

namespace fabricast {

/// A node's place in one tree. -1 = none.
struct TreeNode {
  int up = -1;
  std::array<int, 2> down = {-1, -1};  ///< down[0] is a first child, down[1] a second one
  int child_number = -1;  ///< 0 or 1: which child of `up` this node is; -1 for the root

  constexpr bool operator==(const TreeNode&) const = default;
};

struct DoubleTree {
  TreeNode first, second;
};

/// REQUIRES: 0 <= node < nodes.
DoubleTree double_tree(int node, int nodes);

}  // namespace fabricast
