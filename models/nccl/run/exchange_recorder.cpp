#include "models/nccl/run/exchange_recorder.hpp"

#include <string_view>

namespace fabricast {
namespace {

constexpr std::string_view kPartNames[] = {
    "send 0", "send 1", "send 2", "send 3", "send 4", "send 5", "send 6", "send 7", "recv 0",
    "recv 1", "recv 2", "recv 3", "recv 4", "recv 5", "recv 6", "recv 7", "copy"};

}  // namespace

ExchangeRecorder::ExchangeRecorder(const P2pSchedule& schedule, int ranks,
                                   const TimelineFilter& filter, Duration run)
    : schedule_(schedule),
      ranks_(ranks),
      channels_(schedule.channels()),
      draft_(filter, run),
      lanes_(schedule.blocks()),
      proxy_tracks_(schedule.threads(), kHidden) {
  ExchangeBatch batch;
  for (std::uint32_t block = 0; block < schedule.blocks(); ++block) {
    Lanes used{};
    for (std::uint32_t cursor = 0; schedule.next(block, cursor, batch);) {
      for (std::size_t i = 0; i < batch.sends.size(); ++i) used[kSend + i] = 1;
      for (std::size_t i = 0; i < batch.receives.size(); ++i) used[kReceive + i] = 1;
      if (!batch.copies.empty()) used[kCopy] = 1;
      show_links(block, batch);
    }
    add_tracks(block, used);
  }
}

void ExchangeRecorder::add_tracks(std::uint32_t block, const Lanes& used) {
  Lanes& tracks = lanes_[block];
  tracks.fill(kHidden);
  const int rank = rank_of(block), channel = channel_of(block);
  if (!draft_.filter().shows(rank)) return;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (used[part] == 0) continue;
    tracks[part] = draft_.add_track({TimelineTrack::Kind::worker, rank, channel, kPartNames[part]});
  }
}

/// Those between two ranks of which one is shown.
void ExchangeRecorder::show_links(std::uint32_t block, const ExchangeBatch& batch) {
  ExchangeWay way;
  for (const ExchangeLane& lane : batch.sends) {
    const bool shown =
        draft_.filter().shows(rank_of(block)) || draft_.filter().shows(rank_of(lane.peer));
    if (!shown) continue;
    schedule_.way(block, lane, way);
    for (const std::uint32_t link : way.near) draft_.show_link(link & kLinkBits);
    for (const std::uint32_t link : way.far) draft_.show_link(link & kLinkBits);
  }
}

void ExchangeRecorder::opens(std::uint32_t number, std::uint32_t block, std::uint32_t peer,
                             bool sending, std::uint32_t lane, Instant at) {
  if (number >= messages_.size()) messages_.resize(std::size_t{number} + 1);
  Message& message = messages_[number];
  if (message.ends == 2) message = {};  // it was another's
  ++message.ends;
  End& end = sending ? message.sender : message.receiver;
  end = {lanes_[block][(sending ? kSend : kReceive) + lane], 0, rank_of(peer), at};
}

void ExchangeRecorder::handles(std::uint32_t number, bool sending, Instant start, Instant end,
                               Bytes payload) {
  Message& message = messages_[number];
  End& lane = sending ? message.sender : message.receiver;
  TimelineSpan span;
  span.track = lane.track;
  span.peer_rank = lane.peer_rank;
  if (lane.track != kHidden) {
    if (sending) {
      draft_.add_wait(span, TimelineSpan::Kind::free_slot, lane.free, start);
    } else {
      const Arrival& came = message.chunks[lane.chunk % kSlots];
      draft_.add_arrival(span, lane.free, start, came.unhindered, came.at);
    }
    span.kind = TimelineSpan::Kind::slice;
    span.start = start;
    span.end = end;
    span.name = sending ? "send" : "recv";
    span.bytes = payload;
    span.slice = lane.chunk;
    draft_.add(span);
  }
  ++lane.chunk;
  lane.free = end;
}

void ExchangeRecorder::copies(std::uint32_t block, std::uint32_t, Instant start, Instant end,
                              Bytes bytes) {
  TimelineSpan span;
  span.track = lanes_[block][kCopy];
  if (span.track == kHidden) return;
  span.kind = TimelineSpan::Kind::slice;
  span.peer_rank = rank_of(block);
  span.start = start;
  span.end = end;
  span.name = "copy";
  span.bytes = bytes;
  draft_.add(span);
}

/// Threads: one a rank, then those that help, one a block.
std::uint32_t ExchangeRecorder::proxy_track(std::uint32_t thread) {
  std::uint32_t& track = proxy_tracks_[thread];
  if (track != kHidden) return track;
  const int place = static_cast<int>(schedule_.copies().thread_place(thread));
  const int helper = place - ranks_;
  const int rank = helper < 0 ? place : helper / channels_;
  if (draft_.filter().shows(rank)) {
    track = draft_.add_track({TimelineTrack::Kind::proxy,
                              rank,
                              helper < 0 ? TimelineTrack::kWholeRank : helper % channels_,
                              {}});
  }
  return track;
}

void ExchangeRecorder::posts(std::uint32_t number, std::uint32_t thread, bool sending,
                             Instant start, Instant end, Bytes payload) {
  const Message& message = messages_[number];
  TimelineSpan span;
  span.track = proxy_track(thread);
  if (span.track == kHidden) return;
  span.kind = sending ? TimelineSpan::Kind::message : TimelineSpan::Kind::clear_to_send;
  span.peer_rank = (sending ? message.sender : message.receiver).peer_rank;
  span.start = start;
  span.end = end;
  span.bytes = payload;
  draft_.add(span);
}

void ExchangeRecorder::departs(std::uint32_t number, Instant unhindered) {
  Message& message = messages_[number];
  message.chunks[message.departed++ % kSlots].unhindered = unhindered;
}

void ExchangeRecorder::arrives(std::uint32_t number, Instant at) {
  Message& message = messages_[number];
  message.chunks[message.arrived++ % kSlots].at = at;
}

}  // namespace fabricast
