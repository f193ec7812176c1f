#pragma once
// What everybody did when, in one run: spans on tracks, and how busy links were. Data only;
// models/studies/bench/timeline_json writes it down.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/node/node_graph.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// Which ranks are shown. A link is shown when a shown rank sends or receives over it; links of
/// what is no rank's (in-network trees) with all ranks only.
struct TimelineFilter {
  int first = 0, last = INT32_MAX;  ///< inclusive

  bool shows(int rank) const { return first <= rank && rank <= last; }
  bool shows_all() const { return first == 0 && last == INT32_MAX; }
};

/// Viewers get slow beyond this.
inline constexpr std::size_t kTimelineSpansMax = 1'000'000;
/// Equal parts of the run for which a link's use is given.
inline constexpr int kTimelineBins = 250;

/// One thing after another, by one worker of a rank or one proxy thread.
struct TimelineTrack {
  enum class Kind : std::uint8_t { worker, proxy };
  Kind kind{};
  int rank = 0;  ///< of several communicators that of the job
  static constexpr int kWholeRank = -1;
  int channel = 0;           ///< worker; a proxy's kWholeRank unless it is one channel's
  std::string_view part;     ///< of its thread block: "up", "scatter", "send 0"; "" = all of it
  std::uint32_t stream = 0;  ///< of those that run beside each other
};

struct TimelineSpan {
  enum class Kind : std::uint8_t { slice, message, full_slot, link, free_slot, clear_to_send };
  Kind kind{};  ///< a slice in a worker's hands, a proxy's post, or what is waited for
  std::uint32_t track = 0;
  Instant start, end;
  std::string_view name;             ///< slice: NCCL's name of the primitive
  Bytes bytes;                       ///< payload
  std::uint32_t loop = 0, step = 0;  ///< slice: of the channel's part; step: in the loop
  std::uint32_t slice = 0;           ///< slice: of the primitive's chunk; exchange: of the message
  std::uint32_t call = 0;            ///< slice: of those of its stream
  std::int32_t peer_rank = -1;       ///< who is waited for, who gets the post; exchange: the peer
};

/// Use of a link, by bin.
struct TimelineLink {
  LinkId link{};
  std::vector<Duration> busy;
};

/// A call, or several in one kernel, on all its ranks.
struct TimelineKernel {
  std::uint32_t stream = 0, call = 0;
  Instant start, end;
};

struct Timeline {
  Duration launch, run;                 ///< instants count from the end of the launch
  std::vector<TimelineKernel> kernels;  ///< of several: by stream, launches included
  std::vector<TimelineTrack> tracks;    ///< workers by rank, then proxies by rank
  std::vector<TimelineSpan> spans;      ///< by track, then start; those of a track do not overlap
  Duration bin;
  std::vector<TimelineLink> links;  ///< shown ones that carried anything
};

}  // namespace fabricast
