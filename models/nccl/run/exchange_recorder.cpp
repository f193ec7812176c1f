#include "models/nccl/run/exchange_recorder.hpp"

#include <algorithm>
#include <string_view>

namespace fabricast {
namespace {

constexpr std::string_view kPartNames[] = {
    "send 0", "send 1", "send 2", "send 3", "send 4", "send 5", "send 6", "send 7", "recv 0",
    "recv 1", "recv 2", "recv 3", "recv 4", "recv 5", "recv 6", "recv 7", "copy"};

}  // namespace

ExchangeRecorder::ExchangeRecorder(const JoinedExchange& exchange,
                                   const std::vector<CallLabel>& labels, const JobRanks& ranks,
                                   TimelineDraft& draft)
    : exchange_(exchange),
      labels_(labels),
      ranks_(ranks),
      draft_(draft),
      lanes_(exchange.blocks()) {
  ExchangeBatch batch;
  for (std::uint32_t block = 0; block < exchange.blocks(); ++block) {
    Lanes used{};
    for (std::uint32_t cursor = 0; exchange.next(block, cursor, batch);) {
      for (std::size_t i = 0; i < batch.sends.size(); ++i) used[kSend + i] = 1;
      for (std::size_t i = 0; i < batch.receives.size(); ++i) used[kReceive + i] = 1;
      if (!batch.copies.empty()) used[kCopy] = 1;
      show_links(block, batch);
    }
    add_tracks(block, used);
  }
}

ExchangeRecorder::Owner ExchangeRecorder::owner_of_block(std::uint32_t block) const {
  const std::uint32_t number = exchange_.part_of(block);
  const JoinedExchange::Part& part = exchange_.parts()[number];
  const auto place = static_cast<int>(part.schedule->places().place(block - part.first_block));
  const int channels = part.schedule->channels();
  const CallLabel& label = labels_[number];
  return {ranks_[label.stream][static_cast<std::size_t>(place / channels)], place % channels,
          label};
}

/// Threads of a part: one a rank, then those that help, one a block.
ExchangeRecorder::Owner ExchangeRecorder::owner_of_thread(std::uint32_t thread) const {
  const auto& parts = exchange_.parts();
  const auto at = std::ranges::find_if(parts, [&](const JoinedExchange::Part& part) {
    return thread - part.first_thread < part.schedule->threads();
  });
  const CallLabel& label = labels_[static_cast<std::size_t>(at - parts.begin())];
  const std::vector<int>& ranks = ranks_[label.stream];
  const auto place =
      static_cast<int>(at->schedule->places().thread_place(thread - at->first_thread));
  const int helper = place - static_cast<int>(ranks.size()), channels = at->schedule->channels();
  const int rank = helper < 0 ? place : helper / channels;
  return {ranks[static_cast<std::size_t>(rank)],
          helper < 0 ? TimelineTrack::kWholeRank : helper % channels, label};
}

void ExchangeRecorder::add_tracks(std::uint32_t block, const Lanes& used) {
  Lanes& tracks = lanes_[block];
  tracks.fill(kHidden);
  const Owner owner = owner_of_block(block);
  if (!draft_.filter().shows(owner.rank)) return;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (used[part] == 0) continue;
    tracks[part] = draft_.track({TimelineTrack::Kind::worker, owner.rank, owner.channel,
                                 kPartNames[part], owner.label.stream});
  }
}

/// Those between two ranks of which one is shown.
void ExchangeRecorder::show_links(std::uint32_t block, const ExchangeBatch& batch) {
  ExchangeWay way;
  for (const ExchangeLane& lane : batch.sends) {
    const bool shown =
        draft_.filter().shows(rank_of(block)) || draft_.filter().shows(rank_of(lane.peer));
    if (!shown) continue;
    exchange_.way(block, lane, way);
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
  end = {lanes_[block][(sending ? kSend : kReceive) + lane], 0, owner_of_block(block).label.call,
         rank_of(peer), at};
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
    span.call = lane.call;
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
  span.call = owner_of_block(block).label.call;
  draft_.add(span);
}

std::uint32_t ExchangeRecorder::proxy_track(std::uint32_t thread) {
  if (thread >= proxy_tracks_.size()) proxy_tracks_.resize(std::size_t{thread} + 1, kHidden);
  std::uint32_t& track = proxy_tracks_[thread];
  if (track != kHidden) return track;
  const Owner owner = owner_of_thread(thread);
  if (draft_.filter().shows(owner.rank))
    track = draft_.track(
        {TimelineTrack::Kind::proxy, owner.rank, owner.channel, {}, owner.label.stream});
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
