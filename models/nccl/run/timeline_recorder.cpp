#include "models/nccl/run/timeline_recorder.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace fabricast {

namespace {

/// Without a name of its own a primitive is called by what it does.
std::string_view plain_name(bool receives, bool sends) {
  if (receives && sends) return "recvSend";
  return receives ? "recv" : "send";
}

}  // namespace

std::uint32_t TimelineRecorder::add_worker_class(const WorkerClass& worker_class) {
  return machine_.add_worker_class(worker_class);
}

std::uint32_t TimelineRecorder::add_relay_class(const RelayClass& relay_class) {
  return machine_.add_relay_class(relay_class);
}

std::uint32_t TimelineRecorder::add_worker(std::uint32_t worker_class, const Program& program,
                                           Role role) {
  Actor worker;
  worker.program = &program;
  worker.role = role;
  actors_.push_back(worker);
  return machine_.add_worker(worker_class, program, role);
}

std::uint32_t TimelineRecorder::add_relay(std::uint32_t relay_class, std::uint32_t thread,
                                          std::uint32_t copies) {
  Actor relay;
  relay.role.lane = thread;
  actors_.push_back(relay);
  return machine_.add_relay(relay_class, thread, copies);
}

void TimelineRecorder::connect(const ConnectionSpec& spec) {
  ways_.push_back({spec.from, spec.to, {spec.path.begin(), spec.path.end()}});
  machine_.connect(spec);
}

void TimelineRecorder::show_threads(std::uint32_t first, const std::vector<int>& ranks) {
  owners_.resize(std::max(owners_.size(), first + ranks.size()), kNoRank);
  std::ranges::copy(ranks, owners_.begin() + first);
}

void TimelineRecorder::show(int rank, const std::vector<std::uint32_t>& workers,
                            const std::vector<int>& channels, const CallLabel& label) {
  std::map<std::pair<int, std::string_view>, int> alike;
  for (const std::uint32_t id : workers) {
    Actor& actor = actors_[id];
    actor.rank = rank;
    actor.channel = channels[actor.role.lane];
    actor.label = label;
    if (!draft_.filter().shows(rank)) continue;
    const std::string_view part = actor.program->part(actor.role);
    actor.track =
        draft_.track({TimelineTrack::Kind::worker, rank, actor.channel, part, label.stream},
                     alike[{actor.channel, part}]++);
  }
}

/// A relay has the rank of who gets what it sends; a thread beyond those of the ranks helps the
/// channel whose slices it sends. A link is shown with its sender or receiver.
void TimelineRecorder::show_ways() {
  for (const Way& way : ways_) {
    Actor &from = actors_[way.from], &to = actors_[way.to];
    if (from.program == nullptr) from.rank = to.rank;
    if (to.program != nullptr) continue;
    const std::uint32_t thread = to.role.lane;
    const bool helps = thread >= owners_.size() || owners_[thread] == kNoRank;
    to.owner = helps ? from.rank : owners_[thread];
    to.label = from.label;
    if (helps) to.channel = from.channel;
  }
  const auto is_shown = [&](std::uint32_t id) {
    const Actor& actor = actors_[id];
    const int rank = actor.program != nullptr ? actor.rank : actor.owner;
    return draft_.filter().shows_all() || (rank >= 0 && draft_.filter().shows(rank));
  };
  for (const Way& way : ways_) {
    if (!is_shown(way.from) && !is_shown(way.to)) continue;
    for (const std::uint32_t link : way.path) draft_.show_link(link & kLinkBits);
  }
  ready_ = true;
}

std::uint32_t TimelineRecorder::proxy_track(const Actor& relay) {
  const std::size_t thread = relay.role.lane;
  if (thread >= proxy_tracks_.size()) proxy_tracks_.resize(thread + 1, kHidden);
  std::uint32_t& track = proxy_tracks_[thread];
  if (track == kHidden)
    track = draft_.track(
        {TimelineTrack::Kind::proxy, relay.owner, relay.channel, {}, relay.label.stream});
  return track;
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

void TimelineRecorder::add_wait(const ObservedSlice& slice) {
  if (slice.wait.what == ObservedWait::For::nothing) return;
  TimelineSpan span;
  span.track = actors_[slice.worker].track;
  const Actor& peer = actors_[slice.wait.peer];
  span.peer_rank = peer.program != nullptr ? peer.rank : peer.owner;
  if (slice.wait.what == ObservedWait::For::free_slot)
    return draft_.add_wait(span, TimelineSpan::Kind::free_slot, slice.free, slice.start);
  const Arrival& came = arrival(slice.wait.connection, slice.wait.slot);
  draft_.add_arrival(span, slice.free, slice.start, came.unhindered, came.at);
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
  span.call = actor.label.call;
  draft_.add(span);
}

void TimelineRecorder::relays(std::uint32_t id, std::uint32_t, Instant start, Instant end,
                              Bytes payload) {
  const Actor& relay = actors_[id];
  if (!draft_.filter().shows(relay.owner)) return;
  TimelineSpan span;
  span.kind = TimelineSpan::Kind::message;
  span.track = proxy_track(relay);
  span.start = start;
  span.end = end;
  span.bytes = payload;
  span.peer_rank = relay.rank;
  draft_.add(span);
}

void TimelineRecorder::departs(std::uint32_t connection, std::uint32_t slot, Instant unhindered) {
  arrival(connection, slot).unhindered = unhindered;
}

void TimelineRecorder::arrives(std::uint32_t connection, std::uint32_t slot, Instant at) {
  arrival(connection, slot).at = at;
}

}  // namespace fabricast
