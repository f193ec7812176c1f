#pragma once
// When a link that many senders share is idle before it is free for good. A sender that knows long
// before when its bytes will come (they wait for a busy thread or NIC first) books the link from
// then on, and who comes earlier takes the time until then.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricast {

class IdleTimes {
 public:
  struct Gap {
    std::int64_t from, to;  ///< ps

    bool operator==(const Gap&) const = default;
  };

  /// Takes `busy` ps of a link that is free for good at `free`, from `head` on: of its idle times
  /// first. Returns when that is done; if later than `free`, the link is free for good then.
  std::int64_t fill(std::int64_t head, std::int64_t busy, std::int64_t free) {
    if (head >= free) {
      if (head > free) note({free, head});
      return head + busy;
    }
    std::size_t at = 0;
    while (at < gaps_.size() && gaps_[at].to <= head) ++at;
    std::int64_t left = busy;
    while (at < gaps_.size()) {
      const std::int64_t start = std::max(gaps_[at].from, head);
      const std::int64_t end = std::min(gaps_[at].to, start + left);
      left -= end - start;
      at = cut(at, start, end);
      if (left == 0) return end;
    }
    return free + left;
  }

  /// What lies behind `start`, counted from there: in order of time, none empty.
  std::vector<Gap> since(std::int64_t start) const {
    std::vector<Gap> ahead;
    for (const Gap& gap : gaps_)
      if (gap.to > start) ahead.push_back({std::max(gap.from, start) - start, gap.to - start});
    return ahead;
  }
  void shift(std::int64_t ps) {
    for (Gap& gap : gaps_) gap = {gap.from + ps, gap.to + ps};
  }

 private:
  /// More than any of the shipped fabrics' links has ahead of the present; the oldest go first.
  static constexpr std::size_t kGapsMax = 32;

  void note(Gap gap) {
    if (gaps_.size() == kGapsMax) gaps_.erase(gaps_.begin());
    gaps_.push_back(gap);
  }
  /// Takes the time from `start` to `end` out of a gap. Returns the number of what is behind it.
  std::size_t cut(std::size_t at, std::int64_t start, std::int64_t end) {
    const Gap before{gaps_[at].from, start}, after{end, gaps_[at].to};
    const bool has_before = before.from < before.to, has_after = after.from < after.to;
    if (has_before && has_after) {
      gaps_[at] = before;
      gaps_.insert(gaps_.begin() + static_cast<std::ptrdiff_t>(at) + 1, after);
      if (gaps_.size() > kGapsMax) gaps_.erase(gaps_.begin());
      return at + 1;
    }
    if (has_before || has_after) {
      gaps_[at] = has_before ? before : after;
      return has_before ? at + 1 : at;
    }
    gaps_.erase(gaps_.begin() + static_cast<std::ptrdiff_t>(at));
    return at;
  }

  std::vector<Gap> gaps_;
};

}  // namespace fabricast
