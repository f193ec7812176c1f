#pragma once
// A queue in one vector: empty ones take no memory, of which machines have very many.

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace fabricast {

template <class T, class Items = std::vector<T>>
class Fifo {
 public:
  explicit Fifo(Items items = {}) : items_(std::move(items)) {}

  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  void push(const T& item) { items_.push_back(item); }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  /// Counted from the front.
  T& operator[](std::size_t i) {
    assert(i < size());
    return items_[first_ + i];
  }
  const T& operator[](std::size_t i) const {
    assert(i < size());
    return items_[first_ + i];
  }
  /// Takes the front one out. REQUIRES: !empty().
  T pop() {
    const T item = front();
    if (++first_ == items_.size() || first_ == kSpentMax) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return item;
  }

 private:
  static constexpr std::size_t kSpentMax = 64;

  Items items_;
  std::size_t first_ = 0;  ///< those before it are spent
};

}  // namespace fabricast
