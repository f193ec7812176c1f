// Those who come to a server, a link or a thread, in the same round of an instant, over connections
// that share, are served one after another, in an order that nobody knows: on average one is
// through when it and half of the others have been served, and so it is here. The first byte passes
// a link at once, so that the next link of a way does not count the others again. The server is
// free when it has served all of them, and what comes later waits for that. So it is a matter of
// time alone who is served when: whoever stands where another stands in a symmetric machine is
// served when the other one is, and one can stand for both.
//
// A round is over before any of its servers is booked. Ways of several links are then crossed step
// by step, all slices side by side; of those that are equal in all one goes for the others.

#include <algorithm>
#include <cassert>

#include "sim/machines/executor_access.hpp"

namespace fabricast {
namespace {

constexpr std::uint32_t kSoon = 4;  ///< pieces from now on: what they need is asked for

/// After what time one is through, `all` being the time of all of them.
constexpr Duration through(std::int64_t one, std::int64_t all) { return {one + (all - one) / 2}; }

}  // namespace

/// Asks for what finish() touches of the pieces behind this one: of each in steps, in which the
/// address follows from what was asked for one step before.
template <class Stamp>
void Executor<Stamp>::prefetch_ends(std::size_t piece) const {
  const auto ends_at = [&](std::size_t steps) -> const Connection* {
    const std::size_t at = piece + steps * kSoon;
    if (at >= pieces_.size() || pieces_[at].next_leg != kNobody) return nullptr;
    return &connections_[pieces_[at].connection];
  };
  if (const std::size_t at = piece + 4 * kSoon; at < pieces_.size()) {
    const Piece& far = pieces_[at];
    if (far.next_leg == kNobody) {
      __builtin_prefetch(&connections_[far.connection], 1);
    } else {
      __builtin_prefetch(&legs_[far.next_leg], 1);
    }
  }
  if (const Connection* const end = ends_at(3)) {
    prefetch_far(*end, pieces_[piece + 3 * kSoon].slot);
    if (end->receiver_waits) __builtin_prefetch(&waits_[end->to], 1);
    if (end->from_relay) __builtin_prefetch(&workers_[end->from]);
  }
  if (const Connection* const end = ends_at(2); end != nullptr && end->from_relay)
    __builtin_prefetch(&connections_[workers_[end->from].first_in], 1);
  if (const Connection* const end = ends_at(1); end != nullptr && end->from_relay) {
    const Connection& input = connections_[workers_[end->from].first_in];
    if (input.sender_waits) __builtin_prefetch(&waits_[input.from], 1);
  }
}

/// The same of what post() touches.
template <class Stamp>
void Executor<Stamp>::prefetch_ways(std::size_t post) const {
  if (const std::size_t at = post + 4 * kSoon; at < posts_.size())
    __builtin_prefetch(&connections_[posts_[at].connection], 1);
  if (const std::size_t at = post + 2 * kSoon; at < posts_.size()) {
    const Connection& output = connections_[posts_[at].connection];
    __builtin_prefetch(&hops_[output.path - kFirstCut]);
    if (output.first_leg != kNobody) __builtin_prefetch(&legs_[output.first_leg], 1);
  }
}

/// Books what the round that has ended asked for.
template <class Stamp>
void Executor<Stamp>::settle() {
  if (!posts_.empty()) settle_posts();
  settle_pieces();
  pieces_.clear();
}

/// Scratch of servers with another number is stale.
template <class Stamp>
void Executor<Stamp>::start_round() {
  if (++round_ == 0) ++round_;
  shares_.clear();
  claims_.clear();
}

/// Threads first: what is posted goes over links. All posts of a round come now.
template <class Stamp>
void Executor<Stamp>::settle_posts() {
  start_round();
  const auto busy = [this](const Post& its) {
    return Duration{its.cost.busy.ps * workers_[its.relay].copies};
  };
  for (const Post& its : posts_) {
    Thread& thread = threads_[workers_[its.relay].server];
    if (thread.round != round_) {
      thread.round = round_;
      thread.total = thread.after = {};
      thread.begin = thread.shown = later(its.start, thread.free);
    }
    thread.total += busy(its);
    thread.after.ps += its.cost.after.ps * workers_[its.relay].copies;
  }
  for (std::size_t i = 0; i < posts_.size(); ++i) {
    prefetch_ways(i);
    const Post& its = posts_[i];
    Thread& thread = threads_[workers_[its.relay].server];
    thread.free = thread.begin.plus(thread.total + thread.after, Cause::latency);
    if (is_watched()) {
      const Stamp from = thread.shown;
      thread.shown = from.plus(busy(its), Cause::latency);
      show_post(its, from, thread.shown);
    }
    const Duration took = through(its.cost.busy.ps, thread.total.ps);
    post(its, thread.begin.plus(took, Cause::latency), alone_);
  }
  posts_.clear();
}

/// Whether the piece does as one before it does: over the same links, at the same time, with as
/// much, as those of several channels do. Then that one stands for it, too.
template <class Stamp>
bool Executor<Stamp>::goes_with_another(std::uint32_t number) {
  if constexpr (Stamp::kCausal) return false;  // what caused its times may differ
  Piece& piece = pieces_[number];
  Foremost& foremost = foremost_[piece.hop];
  const auto is_equal = [&](const Piece& other) {
    return other.wire == piece.wire && other.first.ps == piece.first.ps &&
           other.last.ps == piece.last.ps && other.hop_end == piece.hop_end;
  };
  if (foremost.round != round_ || !is_equal(pieces_[foremost.piece])) {
    foremost = {round_, number};
    return false;
  }
  pieces_[foremost.piece].copies += piece.copies;
  piece.copies = 0;
  piece.hop = foremost.piece;
  return true;
}

template <class Stamp>
void Executor<Stamp>::settle_pieces() {
  // Most links have one slice in a round: these need no shares.
  start_round();
  crossing_.clear();
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    if (!Stamp::kCausal && i + 2 * kSoon < pieces_.size())
      __builtin_prefetch(&foremost_[pieces_[i + 2 * kSoon].hop], 1);
    if (goes_with_another(i)) continue;
    crossing_.push_back({i, {}, {}});
    for (std::uint32_t hop = pieces_[i].hop; hop != pieces_[i].hop_end; ++hop) {
      auto& link = transit_.links.sharing(hops_[hop] & kLinkBits);
      link.is_shared = link.round == round_;
      link.round = round_;
    }
  }
  std::erase_if(crossing_, [this](const CrossingPiece& crossing) {
    Piece& piece = pieces_[crossing.piece];
    if (piece.wide || piece.copies > 1) return false;
    for (std::uint32_t hop = piece.hop; hop != piece.hop_end; ++hop)
      if (transit_.links.sharing(hops_[hop]).is_shared) return false;
    cross(piece);
    return true;
  });
  while (settle_step()) {
  }
  finish_pieces();
}

/// All have crossed their links.
template <class Stamp>
void Executor<Stamp>::finish_pieces() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    prefetch_ends(i);
    Piece& piece = pieces_[i];
    if (piece.copies == 0) {
      piece.first = pieces_[piece.hop].first;
      piece.last = pieces_[piece.hop].last;
    }
    finish(piece);
  }
}

/// The pieces that share links cross those of the next step of their ways. False: all are there.
template <class Stamp>
bool Executor<Stamp>::settle_step() {
  start_round();
  bool is_under_way = false;
  for (const CrossingPiece& crossing : crossing_)
    is_under_way = request_links(pieces_[crossing.piece]) || is_under_way;
  if (!is_under_way) return false;
  for (CrossingPiece& crossing : crossing_) cross_next_links(crossing);
  for (std::uint32_t i = 0; i < shares_.size(); ++i) {
    if (transit_.links.sharing(shares_[i].link).count != i) continue;  // behind an earlier one
    auto& link = transit_.links[shares_[i].link];
    for (std::uint32_t at = i; at != kNobody; at = shares_[at].later) {
      Share& share = shares_[at];
      share.begin = transit_.links.begin(link, share.head, {share.total});
      transit_.show(share.link, share.begin, share.begin.plus({share.total}, Cause::link), {1});
    }
  }
  for (const Claim& claim : claims_) {
    CrossingPiece& crossing = crossing_[claim.who];
    const Share& share = shares_[claim.share];
    auto& link = transit_.links[share.link];
    link.carried.count += claim.wire.count * claim.times;
    const Stamp first = transit_.links.leaves(link, share.head, share.begin);
    const Duration took = through(claim.occupied, share.total);
    const Stamp last = later(pieces_[crossing.piece].last, share.begin.plus(took, Cause::link));
    const Duration latency = transit_.links.latency(link);
    crossing.first = later(crossing.first, first.plus(latency, Cause::latency));
    crossing.last = later(crossing.last, last.plus(latency, Cause::latency));
  }
  for (const CrossingPiece& crossing : crossing_) {
    if (crossing.last.ps < 0) continue;  // there already
    pieces_[crossing.piece].first = crossing.first;
    pieces_[crossing.piece].last = crossing.last;
  }
  return true;
}

/// A piece comes to the links of the next step of its way, if there is one.
template <class Stamp>
bool Executor<Stamp>::request_links(const Piece& piece) {
  if (piece.hop == piece.hop_end) return false;
  const std::uint32_t next = step_end(hops_.data(), piece.hop, piece.hop_end);
  for (std::uint32_t hop = piece.hop; hop != next; ++hop) {
    auto& link = transit_.links.sharing(hops_[hop] & kLinkBits);
    const Bytes wire = transit_.on_link(hops_[hop], piece.wire);
    if (wire.count == 0) continue;
    if (link.round != round_) {
      link.round = round_;
      link.count = 0;
      link.wire = wire;
      link.begin = piece.first;
      link.differ = link.is_booked = false;
    }
    link.differ = link.differ || link.wire != wire || link.begin.ps != piece.first.ps;
    link.count += times_[hop] * std::uint32_t{piece.copies};
  }
  return true;
}

/// And crosses them: all that came have come.
template <class Stamp>
void Executor<Stamp>::cross_next_links(CrossingPiece& crossing) {
  Piece& piece = pieces_[crossing.piece];
  crossing.first.ps = crossing.last.ps = -1;
  if (piece.hop == piece.hop_end) return;
  const std::uint32_t next = step_end(hops_.data(), piece.hop, piece.hop_end);
  for (; piece.hop != next; ++piece.hop) {
    const std::uint32_t id = hops_[piece.hop] & kLinkBits;
    const Bytes wire = transit_.on_link(hops_[piece.hop], piece.wire);
    const std::int64_t times = std::int64_t{times_[piece.hop]} * piece.copies;
    auto& link = transit_.links[id];
    auto& sharing = transit_.links.sharing(id);
    Stamp first = piece.first, last = piece.last;
    if (transit_.is_lossy() && transit_.failing.has(id)) {
      assert(times == 1);  // joint pieces are of runs without outages
      transit_.pass(id, first, last, wire);
    } else if (wire.count > 0 && sharing.differ) {
      if (!sharing.is_booked) sharing.count = kNobody;
      sharing.is_booked = true;
      const auto who = static_cast<std::uint32_t>(&crossing - crossing_.data());
      add_claim(id, sharing.count, who, first, transit_.links.occupied(link, wire), times, wire);
      continue;
    } else if (wire.count > 0) {
      const std::int64_t one = transit_.links.occupied(link, wire).ps;
      if (!sharing.is_booked) {
        sharing.is_booked = true;
        const Duration all{one * sharing.count};
        sharing.begin = transit_.links.begin(link, sharing.begin, all);
        link.carried.count += wire.count * sharing.count;
        transit_.show(id, sharing.begin, sharing.begin.plus(all, Cause::link), wire);
      }
      first = transit_.links.leaves(link, first, sharing.begin);
      last = later(last, sharing.begin.plus(through(one, one * sharing.count), Cause::link));
    }
    const Duration latency = transit_.links.latency(link);
    crossing.first = later(crossing.first, first.plus(latency, Cause::latency));
    crossing.last = later(crossing.last, last.plus(latency, Cause::latency));
  }
}

/// `share_of_link`: its first share in this round; kNobody: none so far.
template <class Stamp>
void Executor<Stamp>::add_claim(std::uint32_t id, std::uint32_t& share_of_link, std::uint32_t who,
                                Stamp head, Duration occupied, std::int64_t times, Bytes wire) {
  const auto number = static_cast<std::uint32_t>(shares_.size());
  std::uint32_t before = kNobody, at = share_of_link;
  while (at != kNobody && shares_[at].head.ps < head.ps) {
    before = at;
    at = shares_[at].later;
  }
  if (at == kNobody || shares_[at].head.ps != head.ps) {
    (before == kNobody ? share_of_link : shares_[before].later) = number;
    shares_.push_back({id, at, head, {}, 0});
    at = number;
  }
  shares_[at].total += occupied.ps * times;
  claims_.push_back({who, at, occupied.ps, times, wire});
}

template void Executor<PlainStamp>::settle();
template void Executor<PlainStamp>::settle_posts();
template void Executor<CausalStamp>::settle();
template void Executor<CausalStamp>::settle_posts();

}  // namespace fabricast
