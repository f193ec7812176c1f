#pragma once
// Who gets how much: max-min fair rates of flows over directed links, by progressive filling
// (Bertsekas, Gallager: Data Networks, 6.5.2). Knows neither time nor bytes.
//
// All flows of a priority are filled at equal rate per weight until a link is full or a flow
// reaches its cap; flows of lower priority share what is left. A change fills only the flows it
// concerns, around the rates of all others; whoever then has more than his share on a link they
// fill up, or could have more on the link that limits him, joins in, until nobody does.
//
// Rates are integers of 2^-16 B/s, rounded down: no link is ever overbooked, and results are the
// same from every compiler.

#include <cassert>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

/// A rate in 2^-16 B/s: fair shares are seldom whole. At most 140 TB/s.
struct FineRate {
  static constexpr unsigned kFractionBits = 16;
  std::int64_t count = 0;

  constexpr auto operator<=>(const FineRate&) const = default;
  static constexpr FineRate of(Bandwidth rate) {
    assert(rate.bytes_per_s >= 0 && rate.bytes_per_s < INT64_MAX >> kFractionBits);
    return {rate.bytes_per_s << kFractionBits};
  }
  constexpr Bandwidth whole() const { return {count >> kFractionBits}; }  ///< rounded down
};

class MaxMin {
 public:
  struct FlowShare {
    std::span<const std::uint32_t> links;  ///< copied; a link named twice is crossed twice
    std::uint32_t weight = 1;              ///< >= 1
    std::uint8_t priority = 0;             ///< the highest takes all it can, then the next
    Bandwidth cap;                         ///< of this flow; 0 = none
  };

  std::uint32_t add_link(Bandwidth capacity);
  void set_capacity(std::uint32_t link, Bandwidth capacity);  ///< may be 0
  /// Its rate is 0 until the next solve(). Ids are those of removed flows, else they count up.
  /// REQUIRES: a link or a cap.
  std::uint32_t add(const FlowShare& share);
  void remove(std::uint32_t flow);
  /// @{ Stands aside, with rate 0, and takes part again: remove() and add() of a flow that keeps
  /// its id and its links. REQUIRES: it takes part; it stands aside.
  void leave(std::uint32_t flow);
  void rejoin(std::uint32_t flow);
  /// @}

  /// Brings the rates up to date. Returns the flows whose rate changed and their new rates; valid
  /// until the next call of anything.
  struct Change {
    std::uint32_t flow;
    FineRate rate;
  };
  std::span<const Change> solve();

  FineRate rate(std::uint32_t flow) const { return flows_[flow].rate; }
  /// The sum of the rates on a link.
  FineRate load(std::uint32_t link) const { return links_[link].load; }
  std::uint64_t visits() const { return visits_; }  ///< flows filled so far: the work done

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;  ///< as a limit: the flow's own cap, or none

  struct Hop {
    std::uint32_t link, flow;
    std::uint32_t place;  ///< in Link::crossings
  };
  struct Crossing {
    std::uint32_t hop, flow;
  };
  struct Link {
    FineRate capacity, load;
    std::vector<Crossing> crossings;  ///< of all flows
    std::int64_t all_weight = 0;      ///< of these
    std::uint32_t limited = 0;        ///< flows that this link limits
    bool dirty = false;               ///< in dirty_links_
    bool changed = false;             ///< its capacity is a new one
    // While solving:
    std::uint64_t round = 0;             ///< == round_: in touched_
    std::vector<std::uint32_t> reached;  ///< flows of these that take part
    FineRate left;
    std::int64_t weight = 0;         ///< of the flows still being filled
    std::uint32_t next_limited = 0;  ///< flows that it limits from now on
  };
  struct alignas(64) Flow {
    FineRate rate, next, cap;
    std::uint32_t first_hop = 0, hops = 0;
    std::uint32_t weight = 1;
    std::uint32_t limit = kNone, next_limit = kNone;
    std::uint64_t round = 0;  ///< == round_: in reached_; 0 = never solved
    std::uint8_t priority = 0;
    bool filled = false;
  };
  /// A link, or a flow's cap (id + links_.size()), and the level per weight at which it is reached.
  using Candidate = std::pair<std::int64_t, std::uint32_t>;

  std::span<Hop> hops_of(const Flow& flow) { return {hops_.data() + flow.first_hop, flow.hops}; }
  void mark(std::uint32_t link);
  void touch(std::uint32_t link);
  void reach(std::uint32_t flow);
  void reach_first();
  bool reach_wronged(std::uint32_t link);
  void fill_all();
  void fill(std::uint8_t priority);
  void freeze(std::uint32_t flow, FineRate rate, std::uint32_t limit);
  void push(std::int64_t level, std::uint32_t id);
  void commit();

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> free_flows_;
  std::vector<std::vector<std::uint32_t>> free_hops_;  ///< by number of hops
  std::vector<std::uint32_t> dirty_links_, new_flows_;

  std::uint64_t round_ = 0, visits_ = 0;
  std::vector<std::uint32_t> reached_, touched_;  ///< flows and links that take part
  struct Standing {  ///< of the flows of one priority that take part, on one link
    std::uint8_t priority = 0;
    std::int64_t highest = -1, limited = -1;  ///< levels: of all, and of those the link limits
  };
  std::vector<Standing> standings_;
  std::vector<Candidate> candidates_;
  std::vector<Change> changes_;
};

}  // namespace fabricast
