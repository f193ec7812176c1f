#pragma once
// Many queues in one stock of places: an empty one takes eight bytes, and what waits in any of them
// stands together.

#include <cassert>
#include <cstdint>
#include <vector>

namespace fabricast {

/// Queues numbered from 0, each there when it is asked for.
template <class T>
class Queues {
 public:
  bool empty(std::uint32_t queue) const {
    return queue >= ends_.size() || ends_[queue].first == kNone;
  }
  T& push(std::uint32_t queue, const T& item) {
    if (queue >= ends_.size()) ends_.resize(queue + std::size_t{1});
    const std::uint32_t place = take_place();
    places_[place] = {item, kNone};
    Ends& ends = ends_[queue];
    (ends.first == kNone ? ends.first : places_[ends.last].next) = place;
    ends.last = place;
    return places_[place].item;
  }
  /// REQUIRES here and below: !empty(queue).
  T& front(std::uint32_t queue) { return places_[ends_[queue].first].item; }
  /// Counted from the front: a walk. REQUIRES: there are more.
  T& at(std::uint32_t queue, std::uint64_t number) {
    std::uint32_t place = ends_[queue].first;
    for (; number > 0; --number) place = places_[place].next;
    return places_[place].item;
  }
  T pop(std::uint32_t queue) {
    assert(!empty(queue));
    const std::uint32_t place = ends_[queue].first;
    ends_[queue].first = places_[place].next;
    places_[place].next = free_;
    free_ = place;
    return places_[place].item;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Ends {
    std::uint32_t first = kNone, last = kNone;
  };
  struct Place {
    T item;
    std::uint32_t next = kNone;
  };

  std::uint32_t take_place() {
    if (free_ == kNone) {
      places_.emplace_back();
      return static_cast<std::uint32_t>(places_.size() - 1);
    }
    const std::uint32_t place = free_;
    free_ = places_[place].next;
    return place;
  }

  std::vector<Ends> ends_;
  std::vector<Place> places_;
  std::uint32_t free_ = kNone;  ///< the one left last
};

}  // namespace fabricast
