#pragma once
// An event queue for actors that wait for many things at once. Order: (time, when it was
// scheduled), so it is total and the same everywhere.

#include <cassert>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

template <class What>
class EventHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Instant earliest() const { return heap_.front().at; }

  void push(Instant at, const What& what) {
    std::size_t hole = heap_.size();
    const Entry entry{at, next_++, what};
    heap_.push_back(entry);
    for (; hole > 0 && before(entry, heap_[(hole - 1) / kArity]); hole = (hole - 1) / kArity)
      heap_[hole] = heap_[(hole - 1) / kArity];
    heap_[hole] = entry;
  }

  /// REQUIRES: !empty().
  What pop() {
    assert(!heap_.empty());
    const What top = heap_.front().what;
    const Entry moving = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return top;
    std::size_t hole = 0;
    for (std::size_t first = 1; first < size; first = hole * kArity + 1) {
      std::size_t least = first;
      for (std::size_t child = first + 1; child < size && child < first + kArity; ++child)
        if (before(heap_[child], heap_[least])) least = child;
      if (!before(heap_[least], moving)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = moving;
    return top;
  }

 private:
  struct Entry {
    Instant at;
    std::uint64_t order;
    What what;
  };
  static bool before(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  }

  static constexpr std::size_t kArity = 4;
  std::vector<Entry> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace fabricast
