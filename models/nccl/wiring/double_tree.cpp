#include "models/nccl/wiring/double_tree.hpp"

#include <bit>
#include <cassert>

namespace fabricast {
namespace {

/// The first tree: node x hangs between the multiples of twice its lowest set bit. Node 0 is the
/// root with a single, second child: the largest power of two below N.
TreeNode binary_tree(int node, int nodes) {
  TreeNode t;
  if (node == 0) {
    if (nodes > 1) t.down[1] = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes - 1)));
    return t;
  }
  const int bit = node & -node;
  const int above = (node ^ bit) | (bit * 2);
  t.up = above < nodes ? above : node ^ bit;
  t.child_number = node < t.up ? 0 : 1;
  if (bit > 1) t.down[0] = node - bit / 2;
  int offset = bit / 2;
  while (offset > 0 && node + offset >= nodes) offset /= 2;
  if (offset > 0) t.down[1] = node + offset;
  return t;
}

/// The second tree is the first one with other nodes in its places; `who` names them.
template <typename Who>
TreeNode renamed(TreeNode t, Who who) {
  auto rename = [&](int place) { return place < 0 ? -1 : who(place); };
  return {rename(t.up), {rename(t.down[0]), rename(t.down[1])}, t.child_number};
}

}  // namespace

DoubleTree double_tree(int node, int nodes) {
  assert(node >= 0 && node < nodes);
  DoubleTree both;
  both.first = binary_tree(node, nodes);
  if (nodes % 2 == 0) {
    both.second =
        renamed(binary_tree(nodes - 1 - node, nodes), [=](int place) { return nodes - 1 - place; });
  } else {
    both.second = renamed(binary_tree((node + nodes - 1) % nodes, nodes),
                          [=](int place) { return (place + 1) % nodes; });
  }
  return both;
}

}  // namespace fabricast
