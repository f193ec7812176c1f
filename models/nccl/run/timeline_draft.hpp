#pragma once
// A timeline in the making: tracks, spans and use of links, as a run goes on.

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/nccl/base/timeline.hpp"
#include "sim/machines/transit.hpp"

namespace fabricast {

/// A call among those that run.
struct CallLabel {
  std::uint32_t stream = 0, call = 0;
};
/// By stream: what each of its ranks is called.
using JobRanks = std::vector<std::vector<int>>;

class TimelineDraft final : public LinkObserver {
 public:
  /// `run`: how long the run is going to take.
  TimelineDraft(const TimelineFilter& filter, Duration run);

  const TimelineFilter& filter() const { return filter_; }

  /// Its number; there is one for all calls of a stream.
  /// `number`: of those of a call that are called alike.
  std::uint32_t track(const TimelineTrack& track, int number = 0);
  /// Throws Error when there are too many. REQUIRES: its track.
  void add(const TimelineSpan& span);
  /// A span of this kind, if it takes time: of `like` the track and the peer.
  void add_wait(TimelineSpan like, TimelineSpan::Kind kind, Instant from, Instant to);
  /// The wait for a full slot from `free` to `start`: while the sender was not done, then while
  /// links delayed the bytes from `unhindered` until they came `at`, then until they were seen.
  void add_arrival(const TimelineSpan& like, Instant free, Instant start, Instant unhindered,
                   Instant at);

  void show_link(std::uint32_t link);
  /// Counts the use of the link, if it is shown.
  void books(std::uint32_t link, Instant from, Instant to) override;

  /// Tracks by kind, rank, stream and channel, else in the order of track().
  Timeline take();

 private:
  TimelineFilter filter_;
  Timeline timeline_;
  using Key = std::tuple<TimelineTrack::Kind, std::uint32_t, int, int, std::string_view, int>;
  std::map<Key, std::uint32_t> tracks_;
  std::vector<std::vector<Duration>> busy_;  ///< by link; empty = hidden
};

}  // namespace fabricast
