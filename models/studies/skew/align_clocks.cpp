#include "models/studies/skew/align_clocks.hpp"

#include <algorithm>
#include <cmath>

#include "models/studies/shared/quantile.hpp"

namespace fabricast {

namespace {

constexpr int kRounds = 12, kDriftRounds = 3;
constexpr std::size_t kEndsMost = 4000;  ///< of more, so many spread over all
constexpr std::size_t kEndsOfDrift = 9;  ///< a slope needs that many ends of a rank

class Aligner {
 public:
  Aligner(int ranks, const std::vector<CommonEnd>& ends)
      : of_rank_(static_cast<std::size_t>(ranks)) {
    out_.ranks.resize(static_cast<std::size_t>(ranks));
    const std::size_t every = std::max<std::size_t>(1, ends.size() / kEndsMost);
    for (std::size_t i = 0; i < ends.size(); i += every)
      if (ends[i].size() > 1) used_.push_back(&ends[i]);
    for (std::size_t i = 0; i < used_.size(); ++i)
      for (const RankEnd& end : *used_[i]) of_rank_[place(end)].push_back({i, end.end_ns});
    common_.resize(used_.size());
    out_.ends = used_.size();
  }

  AlignedClocks align() {
    if (out_.ranks.empty()) return std::move(out_);
    out_.ranks.front().known = true;
    std::int64_t origin = INT64_MAX;
    for (const CommonEnd* const one : used_)
      for (const RankEnd& end : *one) origin = std::min(origin, end.end_ns);
    for (RankClock& clock : out_.ranks) clock.origin_ns = used_.empty() ? 0 : origin;
    spread();
    for (int round = 0; round < kRounds; ++round) refine();
    for (int once = 0; once < kDriftRounds; ++once) {
      add_drifts();
      for (int round = 0; round < kRounds; ++round) refine();
    }
    measure();
    return std::move(out_);
  }

 private:
  struct Ended {
    std::size_t end = 0;  ///< of used_
    std::int64_t at_ns = 0;
  };
  static std::size_t place(const RankEnd& end) { return static_cast<std::size_t>(end.rank); }
  double at(const RankEnd& end) const { return out_.ranks[place(end)].common_ns(end.end_ns); }

  /// From ranks that are known to those that ended something with them.
  void spread() {
    for (bool grows = true; grows;) {
      grows = false;
      find_common();
      for (std::size_t rank = 0; rank < of_rank_.size(); ++rank) {
        RankClock& clock = out_.ranks[rank];
        if (clock.known) continue;
        std::vector<double> offsets;
        for (const Ended& one : of_rank_[rank])
          if (!std::isnan(common_[one.end]))
            offsets.push_back(static_cast<double>(one.at_ns - clock.origin_ns) - common_[one.end]);
        if (offsets.empty()) continue;
        clock.offset_ns = quantile(offsets, 0.5);
        clock.from_ns = of_rank_[rank].front().at_ns;
        clock.known = grows = true;
      }
    }
  }

  /// When each ended, by the median of those that are known.
  void find_common() {
    std::vector<double> times;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      times.clear();
      for (const RankEnd& end : *used_[i])
        if (out_.ranks[place(end)].known) times.push_back(at(end));
      common_[i] = times.empty() ? NAN : quantile(times, 0.5);
    }
  }

  std::vector<double> errors(std::size_t rank) const {
    std::vector<double> out;
    for (const Ended& one : of_rank_[rank])
      if (!std::isnan(common_[one.end]))
        out.push_back(out_.ranks[rank].common_ns(one.at_ns) - common_[one.end]);
    return out;
  }

  void refine() {
    find_common();
    for (std::size_t rank = 0; rank < of_rank_.size(); ++rank)
      if (out_.ranks[rank].known && !of_rank_[rank].empty())
        out_.ranks[rank].offset_ns += quantile(errors(rank), 0.5);
    const double first = out_.ranks.front().offset_ns;
    for (RankClock& clock : out_.ranks) clock.offset_ns -= clock.known ? first : 0;
  }

  /// The slope of a rank's errors from the first third of its ends to the last. The common time
  /// goes as most clocks do, the first one's or not.
  void add_drifts() {
    find_common();
    for (std::size_t rank = 0; rank < of_rank_.size(); ++rank) {
      const std::vector<Ended>& all = of_rank_[rank];
      const std::vector<double> off = errors(rank);
      if (!out_.ranks[rank].known || off.size() != all.size() || off.size() < kEndsOfDrift)
        continue;
      const std::size_t third = off.size() / 3;
      const auto middle = [&](std::size_t from) {
        return quantile({off.begin() + static_cast<std::ptrdiff_t>(from),
                         off.begin() + static_cast<std::ptrdiff_t>(from + third)},
                        0.5);
      };
      const auto when = [&](std::size_t from) {
        return static_cast<double>(all[from + third / 2].at_ns - all.front().at_ns);
      };
      const double later = middle(off.size() - third) - middle(0);
      const double time = when(off.size() - third) - when(0);
      std::vector<double> spread;
      for (const double one : off) spread.push_back(std::abs(one));
      constexpr double kDriftMost = 1e-3;  // clocks of hosts are better than that
      if (time <= 0 || std::abs(later) < quantile(spread, 0.5)) continue;
      RankClock& clock = out_.ranks[rank];
      clock.drift = std::clamp(clock.drift + later / time, -kDriftMost, kDriftMost);
      clock.from_ns = all.front().at_ns;
    }
  }

  void measure() {
    find_common();
    std::vector<double> all;
    for (std::size_t rank = 0; rank < of_rank_.size(); ++rank) {
      std::vector<double> off = errors(rank);
      for (double& one : off) one = std::abs(one);
      all.insert(all.end(), off.begin(), off.end());
      out_.ranks[rank].residual_ns = quantile(off, 0.5);
    }
    out_.residual_ns = quantile(all, 0.5);
    out_.residual_most_ns = quantile(all, 0.9);
  }

  AlignedClocks out_;
  std::vector<const CommonEnd*> used_;
  std::vector<std::vector<Ended>> of_rank_;
  std::vector<double> common_;  ///< when each ended; NAN = nobody's clock is known
};

}  // namespace

AlignedClocks align_clocks(int ranks, const std::vector<CommonEnd>& ends) {
  return Aligner(ranks, ends).align();
}

}  // namespace fabricast
