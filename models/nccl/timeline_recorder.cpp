#include "models/nccl/timeline_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/error.hpp"

namespace fabricast {

namespace {

/// Without a name of its own a primitive is called by what it does.
std::string_view plain_name(bool receives, bool sends) {
  if (receives && sends) return "recvSend";
  return receives ? "recv" : "send";
}

}  // namespace

TimelineRecorder::TimelineRecorder(Machine& machine, const TimelineFilter& filter, int ranks,
                                   Duration run)
    : machine_(machine), filter_(filter), proxy_tracks_(static_cast<std::size_t>(ranks), kHidden) {
  timeline_.run = run;
  timeline_.bin = {run.ps / kTimelineBins + 1};
}

std::uint32_t TimelineRecorder::add_link(LinkSpec spec) {
  busy_.emplace_back();
  return machine_.add_link(spec);
}

std::uint32_t TimelineRecorder::add_worker_class(const WorkerClass& worker_class) {
  return machine_.add_worker_class(worker_class);
}

std::uint32_t TimelineRecorder::add_relay_class(const RelayClass& relay_class) {
  return machine_.add_relay_class(relay_class);
}

std::uint32_t TimelineRecorder::add_worker(std::uint32_t worker_class, const Program& program,
                                           Role role) {
  actors_.push_back({&program, role, kHidden, -1, {}, 0});
  return machine_.add_worker(worker_class, program, role);
}

std::uint32_t TimelineRecorder::add_relay(std::uint32_t relay_class, std::uint32_t thread) {
  actors_.push_back({nullptr, {thread, 0}, kHidden, -1, {}, 0});
  return machine_.add_relay(relay_class, thread);
}

void TimelineRecorder::connect(const ConnectionSpec& spec) {
  ways_.push_back({spec.from, spec.to, {spec.path.begin(), spec.path.end()}});
  machine_.connect(spec);
}

void TimelineRecorder::show(int rank, const std::vector<std::uint32_t>& workers,
                            const std::vector<int>& channels) {
  for (const std::uint32_t id : workers) {
    Actor& actor = actors_[id];
    actor.rank = rank;
    if (!filter_.shows(rank)) continue;
    actor.track = static_cast<std::uint32_t>(timeline_.tracks.size());
    timeline_.tracks.push_back({TimelineTrack::Kind::worker, rank, channels[actor.role.lane],
                                actor.program->part(actor.role)});
  }
}

/// A relay has the rank of who gets what it sends; a link is shown with its sender or receiver.
void TimelineRecorder::show_ways() {
  for (const Way& way : ways_) {
    if (actors_[way.from].program == nullptr) actors_[way.from].rank = actors_[way.to].rank;
  }
  const auto is_shown = [&](std::uint32_t id) {
    const Actor& actor = actors_[id];
    const int rank = actor.program != nullptr ? actor.rank : static_cast<int>(actor.role.lane);
    return filter_.shows_all() || (rank >= 0 && filter_.shows(rank));
  };
  for (const Way& way : ways_) {
    if (!is_shown(way.from) && !is_shown(way.to)) continue;
    for (const std::uint32_t link : way.path)
      busy_[link & kLinkBits].resize(static_cast<std::size_t>(kTimelineBins));
  }
  ready_ = true;
}

std::uint32_t TimelineRecorder::proxy_track(std::uint32_t thread) {
  std::uint32_t& track = proxy_tracks_[thread];
  if (track == kHidden) {
    track = static_cast<std::uint32_t>(timeline_.tracks.size());
    timeline_.tracks.push_back({TimelineTrack::Kind::proxy, static_cast<int>(thread), 0, {}});
  }
  return track;
}

void TimelineRecorder::add(const TimelineSpan& span) {
  if (timeline_.spans.size() == kTimelineSpansMax)
    throw Error(fmt::format("the timeline has more than {} spans", kTimelineSpansMax),
                "a smaller size, or fewer ranks: --trace-ranks 0-7");
  timeline_.spans.push_back(span);
}

TimelineRecorder::Arrival& TimelineRecorder::arrival(std::uint32_t connection, std::uint32_t slot) {
  if (connection >= arrivals_.size()) arrivals_.resize(std::size_t{connection} + 1);
  std::vector<Arrival>& slots = arrivals_[connection];
  if (slot >= slots.size()) slots.resize(std::size_t{slot} + 1);
  return slots[slot];
}

void TimelineRecorder::takes_up(std::uint32_t worker, Cursor cursor) {
  if (!ready_) show_ways();
  actors_[worker].cursor = cursor;
  actors_[worker].slice = 0;
}

/// A full slot: while the sender was not done, then while links delayed the bytes, then while they
/// were on the wire and until they were seen.
void TimelineRecorder::add_wait(const ObservedSlice& slice) {
  using Kind = TimelineSpan::Kind;
  if (slice.wait.what == ObservedWait::For::nothing) return;
  TimelineSpan span;
  span.track = actors_[slice.worker].track;
  span.peer_rank = actors_[slice.wait.peer].program != nullptr
                       ? actors_[slice.wait.peer].rank
                       : static_cast<std::int32_t>(actors_[slice.wait.peer].role.lane);
  const auto piece = [&](Kind kind, Instant from, Instant to) {
    span.kind = kind;
    span.start = from;
    span.end = to;
    if (from < to) add(span);
  };
  if (slice.wait.what == ObservedWait::For::free_slot)
    return piece(Kind::free_slot, slice.free, slice.start);
  const Arrival& came = arrival(slice.wait.connection, slice.wait.slot);
  const Instant delayed = std::clamp(came.unhindered, slice.free, slice.start);
  const Instant there = std::clamp(came.at, delayed, slice.start);
  if (delayed == there) return piece(Kind::full_slot, slice.free, slice.start);
  piece(Kind::full_slot, slice.free, delayed);
  piece(Kind::link, delayed, there);
  piece(Kind::full_slot, there, slice.start);
}

void TimelineRecorder::handles(const ObservedSlice& slice) {
  Actor& actor = actors_[slice.worker];
  const std::uint32_t number = actor.slice++;
  if (actor.track == kHidden) return;
  add_wait(slice);
  const PrimitiveLabel label = actor.program->label(actor.role, actor.cursor);
  TimelineSpan span;
  span.kind = TimelineSpan::Kind::slice;
  span.track = actor.track;
  span.start = slice.start;
  span.end = slice.end;
  span.name = label.name;
  if (span.name.empty()) {
    Primitive primitive;
    Cursor cursor = actor.cursor;
    actor.program->next(actor.role, cursor, primitive);
    span.name = plain_name(primitive.in != 0, primitive.out != 0);
  }
  span.bytes = slice.payload;
  span.loop = label.loop;
  span.step = label.step;
  span.slice = number;
  add(span);
}

void TimelineRecorder::relays(std::uint32_t relay, std::uint32_t thread, Instant start, Instant end,
                              Bytes payload) {
  if (!filter_.shows(static_cast<int>(thread))) return;
  TimelineSpan span;
  span.kind = TimelineSpan::Kind::message;
  span.track = proxy_track(thread);
  span.start = start;
  span.end = end;
  span.bytes = payload;
  span.peer_rank = actors_[relay].rank;
  add(span);
}

void TimelineRecorder::departs(std::uint32_t connection, std::uint32_t slot, Instant unhindered) {
  arrival(connection, slot).unhindered = unhindered;
}

void TimelineRecorder::arrives(std::uint32_t connection, std::uint32_t slot, Instant at) {
  arrival(connection, slot).at = at;
}

void TimelineRecorder::books(std::uint32_t link, Instant from, Instant to) {
  std::vector<Duration>& busy = busy_[link];
  if (busy.empty()) return;
  const std::int64_t width = timeline_.bin.ps;
  // What is sent last may be on its way when the last worker is done: that is cut off.
  const std::int64_t end = std::min(to.ps, width * kTimelineBins);
  for (std::int64_t at = from.ps; at < end;) {
    const std::int64_t bin = at / width, next = std::min(end, (bin + 1) * width);
    busy[static_cast<std::size_t>(bin)] += Duration{next - at};
    at = next;
  }
}

Timeline TimelineRecorder::take() {
  // Workers are shown by rank; proxies come as they first send.
  std::vector<std::uint32_t> order(timeline_.tracks.size()), place(order.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto sorted_by = [&](std::uint32_t i) {
    const TimelineTrack& track = timeline_.tracks[i];
    return std::tuple(track.kind, track.rank, i);
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
