#pragma once
// Numbers for what blocks have under way. They follow from what the block itself did, and those of
// the same place in all blocks stand in a row: what is the same in turn on two blocks has the same
// place, whatever else is under way there, so that equal blocks give theirs the same order among
// the rest.

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

  /// Places go round: the one after the last taken, or one beyond, if that is taken still.
  std::uint32_t take(std::uint32_t block) {
    Block& own = blocks_[block];
    const std::uint32_t place = own.next;
    own.next = (place + 1) % kRound;
    if ((own.taken >> place & 1) != 0) return take_beyond(block);
    own.taken |= 1u << place;
    return number(place, block);
  }
  /// REQUIRES: it was taken.
  void give_back(std::uint32_t number) {
    const auto all = static_cast<std::uint32_t>(blocks_.size());
    const std::uint32_t place = number / all;
    Block& own = blocks_[number % all];
    if (place < kRound) {
      own.taken &= ~(1u << place);
      return;
    }
    std::memcpy(static_cast<void*>(&entries_[number]), &own.free, sizeof own.free);
    own.free = number;
  }

  /// Asks for the one that the block will take next.
  [[gnu::always_inline]] void prefetch_next(std::uint32_t block) const {
    const auto all = static_cast<std::uint32_t>(blocks_.size());
    __builtin_prefetch(entries_.data() + std::size_t{blocks_[block].next} * all + block, 1);
  }

  T& operator[](std::uint32_t number) { return entries_[number]; }
  const T& operator[](std::uint32_t number) const { return entries_[number]; }
  std::size_t memory_bytes() const {
    return entries_.capacity() * sizeof(T) + blocks_.capacity() * sizeof(Block);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kRound = 32;  ///< places; a block rarely has half as many taken
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) >= sizeof(std::uint32_t));
  struct Block {
    std::uint32_t taken = 0;  ///< of the round, a bit each
    std::uint32_t next = 0;
    std::uint32_t beyond = 0;    ///< so many places
    std::uint32_t free = kNone;  ///< of these, the number given back last, which holds the next one
  };

  std::uint32_t number(std::uint32_t place, std::uint32_t block) {
    const auto all = static_cast<std::uint32_t>(blocks_.size());
    if (entries_.size() <= std::size_t{place} * all) entries_.resize(std::size_t{place + 1} * all);
    return place * all + block;
  }
  [[gnu::noinline]] std::uint32_t take_beyond(std::uint32_t block) {
    Block& own = blocks_[block];
    const std::uint32_t free = own.free;
    if (free == kNone) return number(kRound + own.beyond++, block);
    std::memcpy(&own.free, static_cast<const void*>(&entries_[free]), sizeof own.free);
    return free;
  }

  HugePageVector<T> entries_;
  HugePageVector<Block> blocks_;
};

}  // namespace fabricast
