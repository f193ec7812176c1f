#pragma once
// The event queue: a radix heap over integer time. Monotone: nothing is scheduled in the past.
// Ahuja, Mehlhorn, Orlin, Tarjan: Faster Algorithms for the Shortest Path Problem, JACM 37 (1990).

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace fabricast {

/// Actor `actor` wants to act at `at`.
struct Event {
  Instant at;
  std::uint32_t actor = 0;
};

/// Total order of events: (time, round, actor). Round 0 of an instant is what was scheduled before
/// the instant began; what is scheduled for the running instant while it runs forms the next round.
/// The order never depends on insertion order, so equal parts of a symmetric system are served
/// equally wherever they stand.
///
/// Bucket b > 0 holds the events whose time differs from the current instant first in bit b - 1.
/// An event only ever moves to lower buckets, so a push and a pop cost O(64) moves together at
/// worst and about four in practice.
class RadixHeap {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// The running instant: the time of the last event popped.
  Instant now() const { return {last_}; }

  /// The actor that comes `ahead` events later in this round, or null: a hint for prefetching.
  const std::uint32_t* upcoming(std::size_t ahead) const {
    const std::size_t i = round_next_ + ahead;
    return i < round_.size() ? &round_[i] : nullptr;
  }

  /// REQUIRES: at >= now(), at >= 0; an actor has at most one event per (instant, round).
  void push(Instant at, std::uint32_t actor) {
    assert(at.ps >= last_);
    ++size_;
    place({at, actor});
  }

  /// REQUIRES: !empty().
  Event pop() {
    assert(size_ > 0);
    if (round_next_ == round_.size()) begin_round();
    --size_;
    return {{last_}, round_[round_next_++]};
  }

 private:
  void place(Event event) {
    const auto difference = static_cast<std::uint64_t>(event.at.ps ^ last_);
    if (difference == 0) {
      next_round_.push_back(event.actor);
      return;
    }
    const auto bucket = static_cast<unsigned>(63 - std::countl_zero(difference));
    buckets_[bucket].push_back(event);
    occupied_ |= std::uint64_t{1} << bucket;
  }

  void begin_round() {
    if (next_round_.empty()) advance();
    round_.swap(next_round_);
    next_round_.clear();
    round_next_ = 0;
    if (round_.size() > 1 && !std::is_sorted(round_.begin(), round_.end())) sort_round();
  }

  /// Moves the clock to the earliest event and spreads its bucket over lower ones.
  void advance() {
    assert(occupied_ != 0);
    const auto bucket = static_cast<unsigned>(std::countr_zero(occupied_));
    occupied_ &= occupied_ - 1;
    spread_.swap(buckets_[bucket]);
    std::int64_t earliest = spread_.front().at.ps;
    for (const Event& event : spread_) earliest = std::min(earliest, event.at.ps);
    last_ = earliest;
    for (const Event& event : spread_) place(event);
    spread_.clear();
  }

  /// Large symmetric systems act in rounds of thousands: byte-wise counting sort beats comparison.
  void sort_round() {
    if (round_.size() < kComparisonSortMax) {
      std::sort(round_.begin(), round_.end());
      return;
    }
    const std::uint32_t highest = *std::max_element(round_.begin(), round_.end());
    next_round_.resize(round_.size());
    for (unsigned shift = 0; shift < 32 && (highest >> shift) != 0; shift += 8) {
      std::array<std::uint32_t, 257> start{};
      for (const std::uint32_t actor : round_) ++start[((actor >> shift) & 0xff) + 1];
      for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
      for (const std::uint32_t actor : round_) next_round_[start[(actor >> shift) & 0xff]++] = actor;
      round_.swap(next_round_);
    }
    next_round_.clear();
  }

  static constexpr std::size_t kComparisonSortMax = 64;

  std::array<std::vector<Event>, 64> buckets_;
  std::uint64_t occupied_ = 0;  ///< bit b: buckets_[b] is not empty
  std::vector<Event> spread_;
  std::vector<std::uint32_t> round_, next_round_;
  std::size_t round_next_ = 0;
  std::size_t size_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace fabricast
