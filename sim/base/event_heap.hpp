#pragma once
// An event queue for actors that wait for many things at once: a radix heap over integer time, as
// radix_heap.hpp, that keeps the order of events of one time. Order: (time, when it was scheduled),
// so it is total and the same everywhere. Monotone: nothing is scheduled before what was popped.

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

/// An event waits in the bucket (level, digit): level is the highest digit in which its time
/// differs from that of the last one popped, digit its value there. So all of one time are in one
/// bucket, in the order in which they came.
template <class What>
class EventHeap {
 public:
  EventHeap() { earliest_.fill(kNever); }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// REQUIRES: !empty().
  Instant earliest() const {
    assert(size_ > 0);
    return next_ < running_.size() ? Instant{last_} : Instant{earliest_[first_bucket()]};
  }

  /// REQUIRES: at is not before the last event popped, at >= 0.
  void push(Instant at, const What& what) {
    ++size_;
    place({at.ps, what});
  }

  /// REQUIRES: !empty().
  What pop() {
    assert(size_ > 0);
    if (next_ == running_.size()) advance();
    --size_;
    return running_[next_++].what;
  }

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr unsigned kDigits = 1u << kDigitBits;
  static constexpr unsigned kLevels = (63 + kDigitBits - 1) / kDigitBits;
  static constexpr std::int64_t kNever = INT64_MAX;

  struct Entry {
    std::int64_t at;
    What what;
  };

  std::size_t first_bucket() const {
    const auto level = static_cast<unsigned>(std::countr_zero(levels_));
    return level * kDigits + static_cast<unsigned>(std::countr_zero(digits_[level]));
  }

  void place(const Entry& entry) {
    assert(entry.at >= last_);
    if (entry.at == last_) return running_.push_back(entry);
    const auto difference = static_cast<std::uint64_t>(entry.at ^ last_);
    const auto level = static_cast<unsigned>(std::bit_width(difference) - 1) / kDigitBits;
    const auto digit = static_cast<unsigned>(entry.at >> (level * kDigitBits)) % kDigits;
    const std::size_t bucket = level * kDigits + digit;
    buckets_[bucket].push_back(entry);
    earliest_[bucket] = std::min(earliest_[bucket], entry.at);
    digits_[level] |= std::uint64_t{1} << digit;
    levels_ |= 1u << level;
  }

  /// Moves the clock to the earliest event and spreads its bucket over lower ones.
  void advance() {
    running_.clear();
    next_ = 0;
    const std::size_t bucket = first_bucket();
    const std::size_t level = bucket / kDigits;
    digits_[level] &= digits_[level] - 1;
    if (digits_[level] == 0) levels_ &= levels_ - 1;
    last_ = earliest_[bucket];
    earliest_[bucket] = kNever;
    for (const Entry& entry : buckets_[bucket]) place(entry);  // never into the same one
    buckets_[bucket].clear();
  }

  std::array<std::vector<Entry>, kLevels * kDigits> buckets_;
  std::array<std::int64_t, kLevels * kDigits> earliest_;
  std::array<std::uint64_t, kLevels> digits_{};  ///< bit d of level l: bucket (l, d) is not empty
  std::uint32_t levels_ = 0;                     ///< bit l: digits_[l] is not 0
  std::vector<Entry> running_;                   ///< of the time of the last one popped
  std::size_t next_ = 0;                         ///< of these
  std::size_t size_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace fabricast
