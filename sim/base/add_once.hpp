#pragma once
// A list in which everything stands once: short ones, in the order in which it came.

#include <algorithm>
#include <utility>
#include <vector>

namespace fabricast {

/// Adds `item` unless it is there already.
template <class T, class Item>
void add_once(std::vector<T>& list, Item&& item) {
  if (std::ranges::find(list, item) == list.end()) list.emplace_back(std::forward<Item>(item));
}

}  // namespace fabricast
