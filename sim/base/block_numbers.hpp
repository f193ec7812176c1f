#pragma once
// Numbers for what blocks have under way. They follow from what the block itself did, and those of
// the same place in all blocks stand in a row, so that equal blocks give theirs the same order
// among the rest.

#include <cstdint>
#include <cstring>
#include <type_traits>
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
      own.free = next(number);
      prefetch_next(block);
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
    std::memcpy(static_cast<void*>(&entries_[number]), &own.free, sizeof own.free);
    own.free = number;
  }

  /// Asks for the one that the block will take next.
  [[gnu::always_inline]] void prefetch_next(std::uint32_t block) const {
    const std::uint32_t number = blocks_[block].free;
    if (number != kNone) __builtin_prefetch(&entries_[number], 1);
  }

  T& operator[](std::uint32_t number) { return entries_[number]; }
  const T& operator[](std::uint32_t number) const { return entries_[number]; }
  std::size_t memory_bytes() const {
    return entries_.capacity() * sizeof(T) + blocks_.capacity() * sizeof(Block);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) >= sizeof(std::uint32_t));
  struct Block {
    std::uint32_t free = kNone, taken = 0;
  };

  /// Of those that the block gave back, which hold the number of the next one.
  std::uint32_t next(std::uint32_t number) const {
    std::uint32_t next = kNone;
    std::memcpy(&next, static_cast<const void*>(&entries_[number]), sizeof next);
    return next;
  }

  HugePageVector<T> entries_;
  std::vector<Block> blocks_;
};

}  // namespace fabricast
