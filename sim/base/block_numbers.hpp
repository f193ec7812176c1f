#pragma once
// Numbers for what blocks have under way. They follow from what the block itself did, and those of
// the same place in all blocks stand in a row, so that equal blocks give theirs the same order
// among the rest.

#include <cstdint>
#include <vector>

#include "sim/base/large_pages.hpp"

namespace fabricast {

/// Each number holds a T.
template <class T>
class BlockNumbers {
 public:
  explicit BlockNumbers(std::uint32_t blocks) : blocks_(blocks) {}

  /// The one that the block gave back last, or a new one.
  std::uint32_t take(std::uint32_t block) {
    Block& own = blocks_[block];
    const std::uint32_t number = own.free;
    if (number != kNone) {
      own.free = entries_[number].next;
      return number;
    }
    const auto all = static_cast<std::uint32_t>(blocks_.size());
    const std::uint32_t fresh = own.taken++ * all + block;
    if (fresh >= entries_.size()) entries_.resize(std::size_t{own.taken} * all);
    return fresh;
  }
  /// REQUIRES: it was taken.
  void give_back(std::uint32_t number) {
    Block& own = blocks_[number % static_cast<std::uint32_t>(blocks_.size())];
    entries_[number].next = own.free;
    own.free = number;
  }

  T& operator[](std::uint32_t number) { return entries_[number].item; }
  const T& operator[](std::uint32_t number) const { return entries_[number].item; }
  std::size_t memory_bytes() const {
    return entries_.capacity() * sizeof(Entry) + blocks_.capacity() * sizeof(Block);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Entry {
    T item{};
    std::uint32_t next = kNone;  ///< of those that the block gave back
  };
  struct Block {
    std::uint32_t free = kNone, taken = 0;
  };
  HugePageVector<Entry> entries_;
  std::vector<Block> blocks_;
};

}  // namespace fabricast
