#pragma once
// A timeline in the making: tracks, spans and use of links, as a run goes on.

#include <vector>

#include "models/nccl/base/timeline.hpp"

namespace fabricast {

class TimelineDraft {
 public:
  /// `run`: how long the run is going to take.
  TimelineDraft(const TimelineFilter& filter, Duration run);

  const TimelineFilter& filter() const { return filter_; }

  std::uint32_t add_track(const TimelineTrack& track);
  /// Throws Error when there are too many. REQUIRES: add_track().
  void add(const TimelineSpan& span);
  /// A span of this kind, if it takes time: of `like` the track and the peer.
  void add_wait(TimelineSpan like, TimelineSpan::Kind kind, Instant from, Instant to);
  /// The wait for a full slot from `free` to `start`: while the sender was not done, then while
  /// links delayed the bytes from `unhindered` until they came `at`, then until they were seen.
  void add_arrival(const TimelineSpan& like, Instant free, Instant start, Instant unhindered,
                   Instant at);

  void show_link(std::uint32_t link);
  /// Counts the use of the link, if it is shown.
  void book(std::uint32_t link, Instant from, Instant to);

  /// Tracks by kind and rank, else in the order of add_track().
  Timeline take();

 private:
  TimelineFilter filter_;
  Timeline timeline_;
  std::vector<std::vector<Duration>> busy_;  ///< by link; empty = hidden
};

}  // namespace fabricast
