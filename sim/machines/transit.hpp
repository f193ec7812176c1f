#pragma once
// How bytes cross links, for both kinds of machine, which share one transit where they share a
// clock: the links, those of them that go down, who carries slices in their place, and where ways
// of different latency join. With a CausalStamp only: outages, a carrier, an observer.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/base/radix_heap.hpp"
#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"
#include "sim/links/carrier.hpp"
#include "sim/links/failing_links.hpp"
#include "sim/links/link_servers.hpp"
#include "sim/links/machine.hpp"

namespace fabricast {

/// Who is told of what links carry.
class LinkObserver {
 public:
  virtual ~LinkObserver() = default;
  /// A link carries bytes of one slice.
  virtual void books(std::uint32_t link, Instant from, Instant to) = 0;
};

template <class Stamp>
class Transit {
 public:
  LinkServers<Stamp> links;
  MultimemWire multimem;
  FailingLinks<Stamp> failing;
  Carrier* carrier = nullptr;        ///< outlives the run
  LinkObserver* observer = nullptr;  ///< outlives the run
  std::size_t aboard = 0;            ///< slices that are with the carrier

  bool is_lossy() const { return Stamp::kCausal && !failing.empty(); }

  /// Is a link of a path, marks allowed, crossed with the carrier?
  bool is_carried(std::uint32_t marked) const {
    if constexpr (Stamp::kCausal) return carrier != nullptr && carrier->takes(marked & kLinkBits);
    return false;
  }
  /// Leaves a slice to the carrier. REQUIRES: there is one.
  void hand_over(std::uint32_t way, Instant at, Bytes wire) {
    ++aboard;
    carrier->send(way, at, wire);
  }
  /// Lets the carrier run until its next event is later than the queue's.
  void wait_for_carrier(const RadixHeap& queue, const Carrier::OnArrival& on_arrival) {
    const auto count = [&](std::uint32_t way, Instant at) {
      --aboard;
      on_arrival(way, at);
    };
    while (aboard > 0 && carrier->advance(queue.empty() ? kNever : queue.earliest(), count)) {
    }
  }

  /// What a link of a path, with its marks, carries of a slice.
  Bytes on_link(std::uint32_t marked, Bytes wire) const {
    return is_multimem(marked) ? multimem(wire) : piece_of(marked, wire);
  }
  /// A link carries the slice, as LinkServers::cross(); if it is down, later. `behind`: when a link
  /// that goes down was done with what this slice follows, which becomes when it is done with it.
  [[gnu::always_inline]] void pass(std::uint32_t id, Stamp& head, Stamp& last, Bytes wire,
                                   Stamp* behind = nullptr) {
    if constexpr (Stamp::kCausal) {
      if (observer != nullptr || !failing.empty()) return pass_seen(id, head, last, wire, behind);
    }
    links.cross(links[id], head, last, wire);
  }
  /// Tells of bytes on a link.
  void show(std::uint32_t link, Stamp from, Stamp to, Bytes wire) const {
    if constexpr (Stamp::kCausal) {
      if (observer != nullptr && wire.count > 0) observer->books(link, {from.ps}, {to.ps});
    }
  }

  /// Of a way's links alone: of each step the longest.
  Duration latency(std::span<const std::uint32_t> way) const {
    Duration sum;
    const auto end = static_cast<std::uint32_t>(way.size());
    for (std::uint32_t hop = 0, next = 0; hop != end; hop = next) {
      next = step_end(way.data(), hop, end);
      sum += step_latency(way.data(), hop, next);
    }
    return sum;
  }

  /// Finds the links that slices reach with different lead times (latency between the event that
  /// books the link and the arrival): they are booked on arrival, by an event of its own, so that
  /// the lead is 0. That can make leads further on differ, so it goes round until nothing changes;
  /// within a round the order of ways counts for nothing. `joins`: links that are booked so
  /// anyway. `each_way(visit)` calls visit(way, lead at its begin) for all ways. A retransmitted
  /// slice arrives late, so links behind one that goes down cannot be booked ahead.
  template <class EachWay>
  std::vector<bool> joints(std::vector<bool> joins, const EachWay& each_way) const {
    if (is_lossy()) {
      each_way([&](std::span<const std::uint32_t> way, std::int64_t) { mark_behind(way, joins); });
    }
    std::vector<std::int64_t> leads;
    for (bool changed = true; changed;) {
      changed = false;
      leads.assign(links.size(), kUnknown);
      each_way([&](std::span<const std::uint32_t> way, std::int64_t lead) {
        note_leads(way, lead, joins, leads);
      });
      for (std::uint32_t link = 0; link < links.size(); ++link)
        if (leads[link] == kDiffer) joins[link] = changed = true;
    }
    return joins;
  }
  /// Is a link of the step booked on arrival?
  static bool joins_at(const std::vector<bool>& joins, const std::uint32_t* way, std::uint32_t hop,
                       std::uint32_t end) {
    return std::any_of(way + hop, way + end,
                       [&](std::uint32_t link) { return joins[link & kLinkBits]; });
  }

 private:
  static constexpr std::int64_t kUnknown = -1, kDiffer = -2;

  Duration step_latency(const std::uint32_t* way, std::uint32_t hop, std::uint32_t next) const {
    Duration most;
    for (; hop != next; ++hop) most = std::max(most, links.latency(way[hop] & kLinkBits));
    return most;
  }

  [[gnu::noinline]] void pass_seen(std::uint32_t id, Stamp& head, Stamp& last, Bytes wire,
                                   Stamp* behind) {
    auto& link = links[id];
    const auto through =
        failing.send_again(id, link, head, last, wire, behind == nullptr ? Stamp{} : *behind);
    const Stamp end = through ? *through : links.cross(link, head, last, wire);
    if (behind != nullptr && failing.has(id)) *behind = end;
    show(id, through ? head : end.plus(link.occupied * -1, Cause::link), end, wire);
  }

  void mark_behind(std::span<const std::uint32_t> way, std::vector<bool>& joins) const {
    bool is_behind = false;
    for (const std::uint32_t marked : way) {
      const std::uint32_t link = marked & kLinkBits;
      if (is_behind) joins[link] = true;
      is_behind = is_behind || failing.has(link);
    }
  }

  void note_leads(std::span<const std::uint32_t> way, std::int64_t lead,
                  const std::vector<bool>& joins, std::vector<std::int64_t>& leads) const {
    const auto end = static_cast<std::uint32_t>(way.size());
    for (std::uint32_t hop = 0, next = 0; hop != end; hop = next) {
      next = step_end(way.data(), hop, end);
      if (is_carried(way[hop])) {
        lead = 0;
        continue;
      }
      if (joins_at(joins, way.data(), hop, next)) lead = 0;
      for (std::uint32_t i = hop; i != next; ++i) {
        const std::uint32_t link = way[i] & kLinkBits;
        if (joins[link]) continue;
        leads[link] = leads[link] == kUnknown || leads[link] == lead ? lead : kDiffer;
      }
      lead += step_latency(way.data(), hop, next).ps;
    }
  }
};

}  // namespace fabricast
