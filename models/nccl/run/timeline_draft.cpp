#include "models/nccl/run/timeline_draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/base/error.hpp"

namespace fabricast {

TimelineDraft::TimelineDraft(const TimelineFilter& filter, Duration run) : filter_(filter) {
  timeline_.run = run;
  timeline_.bin = {run.ps / kTimelineBins + 1};
}

std::uint32_t TimelineDraft::track(const TimelineTrack& track, int number) {
  const Key key{track.kind, track.stream, track.rank, track.channel, track.part, number};
  const auto next = static_cast<std::uint32_t>(timeline_.tracks.size());
  const auto [at, is_new] = tracks_.try_emplace(key, next);
  if (is_new) timeline_.tracks.push_back(track);
  return at->second;
}

void TimelineDraft::add(const TimelineSpan& span) {
  if (timeline_.spans.size() == kTimelineSpansMax)
    throw Error(fmt::format("the timeline has more than {} spans", kTimelineSpansMax),
                "a smaller size, or fewer ranks: --trace-ranks 0-7");
  timeline_.spans.push_back(span);
}

void TimelineDraft::add_wait(TimelineSpan like, TimelineSpan::Kind kind, Instant from, Instant to) {
  like.kind = kind;
  like.start = from;
  like.end = to;
  if (from < to) add(like);
}

void TimelineDraft::add_arrival(const TimelineSpan& like, Instant free, Instant start,
                                Instant unhindered, Instant at) {
  using Kind = TimelineSpan::Kind;
  const Instant delayed = std::clamp(unhindered, free, start);
  const Instant there = std::clamp(at, delayed, start);
  if (delayed == there) return add_wait(like, Kind::full_slot, free, start);
  add_wait(like, Kind::full_slot, free, delayed);
  add_wait(like, Kind::link, delayed, there);
  add_wait(like, Kind::full_slot, there, start);
}

void TimelineDraft::show_link(std::uint32_t link) {
  if (link >= busy_.size()) busy_.resize(std::size_t{link} + 1);
  busy_[link].resize(static_cast<std::size_t>(kTimelineBins));
}

void TimelineDraft::books(std::uint32_t link, Instant from, Instant to) {
  if (link >= busy_.size() || busy_[link].empty()) return;
  const std::int64_t width = timeline_.bin.ps;
  // What is sent last may be on its way when the last worker is done: that is cut off.
  const std::int64_t end = std::min(to.ps, width * kTimelineBins);
  for (std::int64_t at = from.ps; at < end;) {
    const std::int64_t bin = at / width, next = std::min(end, (bin + 1) * width);
    busy_[link][static_cast<std::size_t>(bin)] += Duration{next - at};
    at = next;
  }
}

Timeline TimelineDraft::take() {
  std::vector<std::uint32_t> order(timeline_.tracks.size()), place(order.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto sorted_by = [&](std::uint32_t i) {
    const TimelineTrack& track = timeline_.tracks[i];
    return std::tuple(track.kind, track.rank, track.stream, track.channel, i);
  };
  std::ranges::sort(order, {}, sorted_by);
  std::vector<TimelineTrack> tracks;
  for (const std::uint32_t old : order) {
    place[old] = static_cast<std::uint32_t>(tracks.size());
    tracks.push_back(timeline_.tracks[old]);
  }
  timeline_.tracks = std::move(tracks);
  for (TimelineSpan& span : timeline_.spans) span.track = place[span.track];
  std::ranges::stable_sort(timeline_.spans, {}, [](const TimelineSpan& span) {
    return std::pair(span.track, span.start);
  });
  for (std::uint32_t link = 0; link < busy_.size(); ++link) {
    const bool carried = std::ranges::any_of(busy_[link], [](Duration d) { return d.ps > 0; });
    if (carried) timeline_.links.push_back({LinkId{link}, std::move(busy_[link])});
  }
  return std::move(timeline_);
}

}  // namespace fabricast
