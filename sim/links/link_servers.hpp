#pragma once
// Links as servers with a queue in order of arrival: a link is booked for wire_bytes / rate from
// max(arrival of the first byte, busy until), and bytes pass cut-through. On a link of several
// lanes the first byte waits only for what is booked beyond the one slice that each other lane
// carries. Many senders meet there, and some are booked long before their bytes come: what comes
// earlier fills the time until then (sim/links/idle_times.hpp).

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <vector>

#include "sim/base/large_pages.hpp"
#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"
#include "sim/links/idle_times.hpp"
#include "sim/links/machine.hpp"

namespace fabricast {

/// Costs by bytes: few different sizes are under way at any time.
struct Cost {
  std::int64_t bytes = -1;
  Duration busy;
  Duration delay;  ///< of a relay: see PostCost
  Bytes wire;
  Duration after{};           ///< of a relay: PostCost::receiving
  Duration ahead{};           ///< of a relay, too
  Duration keeping{};         ///< of a worker: WorkerClass::keep_rate
  Duration ahead_of_links{};  ///< of a worker: WorkerClass::copied_ahead
};
struct CostTable {
  static constexpr unsigned kBits = 4;
  std::array<Cost, 1u << kBits> entries{};
  std::uint64_t recent = 0;

  Cost& entry(std::int64_t bytes) {
    if (entries[recent].bytes != bytes) {
      recent = static_cast<std::uint64_t>(bytes) * 0x9E3779B97F4A7C15u >> (64 - kBits);
    }
    return entries[recent];
  }
};

template <class Stamp>
class LinkServers {
 public:
  /// Half a cache line: who looks a link up at random waits for little else.
  struct alignas(32) Link {
    Stamp free;  ///< busy until
    Bytes carried;
    Duration occupied;         ///< for how long what it carried last occupied it
    std::uint32_t recent = 0;  ///< the wire bytes of that; 0: nothing, or too many to tell
    std::uint16_t kind = 0;
    std::uint16_t more_lanes = 0;  ///< than one
  };
  /// Scratch of those who book a link together, see Executor: of the round with this number,
  struct Sharing {
    std::uint32_t round = 0;
    std::uint32_t count = 0;  ///< how many
    Bytes wire;               ///< of the first of them
    Stamp begin;              ///< when they come; once booked, when the link begins with them
    bool is_shared = false;   ///< whether several slices cross it
    bool differ = false;      ///< whether they differ in size or time; else:
    bool is_booked = false;
  };

  /// Numbered from 0.
  std::uint32_t add(LinkSpec spec) {
    const auto known = std::find_if(kinds_.begin(), kinds_.end(),
                                    [&](const Kind& kind) { return kind.spec == spec; });
    Link link;
    link.kind = static_cast<std::uint16_t>(known - kinds_.begin());
    assert(spec.lanes >= 1 && spec.lanes - 1 <= UINT16_MAX);
    link.more_lanes = static_cast<std::uint16_t>(spec.lanes - 1);
    if (known == kinds_.end()) {
      kinds_.push_back({spec, {}});
      latencies_.push_back(spec.latency);
    }
    links_.push_back(link);
    sharing_.emplace_back();
    const auto number = static_cast<std::uint32_t>(links_.size() - 1);
    if (link.more_lanes > 0) {
      idle_of_.resize(links_.size());
      idle_of_[number] = static_cast<std::uint32_t>(idle_.size());
      idle_.emplace_back();
    }
    return number;
  }

  std::size_t size() const { return links_.size(); }
  std::size_t memory_bytes() const { return links_.capacity() * sizeof(Link); }
  const HugePageVector<Link>& all() const { return links_; }
  /// Of links of several lanes, in the order in which they were added.
  std::vector<IdleTimes>& idle() { return idle_; }
  const std::vector<IdleTimes>& idle() const { return idle_; }
  Link& operator[](std::uint32_t id) { return links_[id]; }
  const Link& operator[](std::uint32_t id) const { return links_[id]; }
  Sharing& sharing(std::uint32_t id) { return sharing_[id]; }
  Duration latency(const Link& link) const { return latencies_[link.kind]; }
  Duration latency(std::uint32_t id) const { return latency(links_[id]); }
  bool gathers(std::uint32_t id) const { return kinds_[links_[id].kind].spec.gathers; }

  /// The first byte comes at `head`, the last is not there before `last`; both become when they
  /// leave the link, its latency not yet passed. Returns when the link is done with them.
  [[gnu::always_inline]] Stamp cross(Link& link, Stamp& head, Stamp& last, Bytes wire) {
    if (wire.count == 0) return head;
    return book(link, occupied(link, wire), head, last, wire);
  }
  /// Books the link for what comes at `head`. Returns when it begins with that, if it does nothing
  /// else until it is done.
  [[gnu::always_inline]] Stamp begin(Link& link, const Stamp& head, Duration busy) {
    if (link.more_lanes > 0) return begin_between(link, head, busy);
    const Stamp begin = later(head, link.free);
    link.free = begin.plus(busy, Cause::link);
    return begin;
  }
  /// When the first byte is there, and the last.
  struct Ends {
    Stamp first, last;
  };
  /// Links that follow one another, and their latencies.
  /// REQUIRES: there are bytes. It calls nothing before it leaves, so that it saves no registers.
  [[gnu::noinline]] Ends cross_all(const std::uint32_t* link, const std::uint32_t* end, Stamp head,
                                   Stamp last, Bytes wire) {
    return cross_here(link, end, head, last, wire);
  }
  [[gnu::always_inline]] Ends cross_here(const std::uint32_t* link, const std::uint32_t* end,
                                         Stamp head, Stamp last, Bytes wire) {
    Link* const links = links_.data();
    for (; link != end; ++link) {
      Link& next = links[*link];
      if (next.recent != wire.count || next.more_lanes > 0)
        return cross_others(link, end, head, last, wire);
      pass(next, head, last, wire);
    }
    return {head, last};
  }
  /// When the first byte leaves that came at `head` and whose bytes are booked from `begin` on.
  /// REQUIRES: occupied() was asked for them.
  [[gnu::always_inline]] Stamp leaves(const Link& link, const Stamp& head,
                                      const Stamp& begin) const {
    if (link.more_lanes == 0) return begin;
    return later(head, begin.plus(link.occupied * -std::int64_t{link.more_lanes}, Cause::link));
  }

  /// For how long these bytes occupy the link.
  [[gnu::always_inline]] Duration occupied(Link& link, Bytes wire) {
    if (link.recent != wire.count) {
      link.recent = wire.count <= UINT32_MAX ? static_cast<std::uint32_t>(wire.count) : 0;
      link.occupied = kinds_[link.kind].busy(wire);
    }
    return link.occupied;
  }

 private:
  /// A link and its latency.
  [[gnu::always_inline]] void pass(Link& link, Stamp& head, Stamp& last, Bytes wire) {
    const Duration latency = latencies_[link.kind];
    book(link, link.occupied, head, last, wire);
    head = head.plus(latency, Cause::latency);
    last = last.plus(latency, Cause::latency);
  }
  /// The same as cross_all() from a link on that did not carry as many bytes before, or
  /// has several lanes.
  [[gnu::noinline]] Ends cross_others(const std::uint32_t* link, const std::uint32_t* end,
                                      Stamp head, Stamp last, Bytes wire) {
    for (; link != end; ++link) {
      occupied(links_[*link], wire);
      pass(links_[*link], head, last, wire);
    }
    return {head, last};
  }
  [[gnu::always_inline]] Stamp book(Link& link, Duration busy, Stamp& head, Stamp& last,
                                    Bytes wire) {
    const Stamp begins = begin(link, head, busy);
    const Stamp done = begins.plus(busy, Cause::link);
    head = leaves(link, head, begins);
    link.carried += wire;
    last = later(last, done);
    return done;
  }
  /// The same as begin() on several lanes.
  [[gnu::noinline]] Stamp begin_between(Link& link, const Stamp& head, Duration busy) {
    const Stamp was = link.free;
    IdleTimes& idle = idle_[idle_of_[static_cast<std::size_t>(&link - links_.data())]];
    const std::int64_t done = idle.fill(head.ps, busy.ps, was.ps);
    if (done <= was.ps) return head.plus({done - busy.ps - head.ps}, Cause::link);
    const Stamp& from = later(head, was);
    link.free = from.plus({done - from.ps}, Cause::link);
    return link.free.plus({-busy.ps}, Cause::link);
  }

  struct Kind {
    LinkSpec spec;
    CostTable costs;

    [[gnu::noinline]] Duration busy(Bytes wire) {
      Cost& cost = costs.entry(wire.count);
      if (cost.bytes != wire.count) cost = {wire.count, transfer_time(wire, spec.rate), {}, wire};
      return cost.busy;
    }
  };

  HugePageVector<Link> links_;
  HugePageVector<Sharing> sharing_;
  std::vector<std::uint32_t> idle_of_;  ///< by link, of those of several lanes
  std::vector<IdleTimes> idle_;
  std::vector<Kind> kinds_;
  std::vector<Duration> latencies_;  ///< by kind
};

}  // namespace fabricast
