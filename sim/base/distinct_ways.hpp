#pragma once
// Lists of links, each kept once, in the order in which they came.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace fabricast {

class DistinctWays {
 public:
  DistinctWays() : table_(64, kNone) {}

  /// Returns its number, in the order of first times.
  std::uint32_t add(std::span<const std::uint32_t> way) {
    if (count() > 0 && std::ranges::equal((*this)[last_], way)) return last_;
    std::uint32_t& place = find(way);
    if (place != kNone) return last_ = place;
    const auto number = static_cast<std::uint32_t>(count());
    place = last_ = number;
    hops_.insert(hops_.end(), way.begin(), way.end());
    ends_.push_back(hops_.size());
    if (2 * count() > table_.size()) grow();
    return number;
  }

  std::size_t count() const { return ends_.size(); }
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {hops_.data() + begin, ends_[i] - begin};
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Where the way stands in the table, or may stand.
  std::uint32_t& find(std::span<const std::uint32_t> way) {
    std::uint64_t hash = 0;
    for (const std::uint32_t link : way)
      hash = (std::rotl(hash, 5) ^ link) * 0x9E3779B97F4A7C15u;  // Knuth's multiplicative hash
    std::size_t at = hash >> 32;
    for (;; ++at) {
      std::uint32_t& place = table_[at & (table_.size() - 1)];
      if (place == kNone || std::ranges::equal((*this)[place], way)) return place;
    }
  }

  void grow() {
    table_.assign(2 * table_.size(), kNone);
    for (std::uint32_t i = 0; i < count(); ++i) find((*this)[i]) = i;
  }

  std::uint32_t last_ = 0;  ///< the one added last: many come several times in a row
  std::vector<std::uint32_t> hops_;
  std::vector<std::size_t> ends_;
  std::vector<std::uint32_t> table_;  ///< a power of two of places, half of them free
};

}  // namespace fabricast
