#pragma once
// A queue of at most one event per actor whose time may change: a 4-ary heap that knows where each
// actor stands. Order: (time, actor), so it never depends on who was entered first.

#include <cassert>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

class IndexedHeap {
 public:
  bool empty() const { return heap_.empty(); }
  Instant earliest() const {
    assert(!heap_.empty());
    return heap_.front().at;
  }

  /// Enters `actor` or moves it.
  void set(std::uint32_t actor, Instant at) {
    if (actor >= place_.size()) place_.resize(actor + std::size_t{1}, kNowhere);
    if (place_[actor] == kNowhere) {
      place_[actor] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({at, actor});
      rise(place_[actor]);
    } else if (heap_[place_[actor]].at != at) {
      heap_[place_[actor]].at = at;
      settle(place_[actor]);
    }
  }

  void erase(std::uint32_t actor) {
    if (actor >= place_.size() || place_[actor] == kNowhere) return;
    const std::uint32_t hole = place_[actor];
    place_[actor] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (last.actor == actor) return;
    heap_[hole] = last;
    place_[last.actor] = hole;
    settle(hole);
  }

  std::uint32_t pop() {
    const std::uint32_t actor = heap_.front().actor;
    erase(actor);
    return actor;
  }

 private:
  struct Entry {
    Instant at;
    std::uint32_t actor;
    auto operator<=>(const Entry&) const = default;
  };

  void settle(std::uint32_t at) {
    if (at > 0 && heap_[at] < heap_[(at - 1) / kArity]) return rise(at);
    sink(at);
  }

  void rise(std::uint32_t at) {
    const Entry moving = heap_[at];
    while (at > 0 && moving < heap_[(at - 1) / kArity]) {
      put(at, heap_[(at - 1) / kArity]);
      at = (at - 1) / kArity;
    }
    put(at, moving);
  }

  void sink(std::uint32_t at) {
    const Entry moving = heap_[at];
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (;;) {
      const std::uint32_t first = at * kArity + 1;
      if (first >= size) break;
      std::uint32_t least = first;
      for (std::uint32_t child = first + 1; child < size && child < first + kArity; ++child)
        if (heap_[child] < heap_[least]) least = child;
      if (moving < heap_[least]) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, moving);
  }

  void put(std::uint32_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.actor] = at;
  }

  static constexpr std::uint32_t kNowhere = UINT32_MAX, kArity = 4;
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  ///< by actor
};

}  // namespace fabricast
