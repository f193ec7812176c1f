// The chunk rung with routes of its own: links of the fabric serve slices in order of arrival, and
// each slice takes the way that its queue pair hashes to (ECMP), the one whose next link is free
// first (adaptive), or one by lot (spraying).

#include <algorithm>

#include "models/hardware/networks/carriers.hpp"
#include "models/hardware/networks/refusals.hpp"
#include "sim/base/event_heap.hpp"
#include "sim/base/random.hpp"
#include "sim/links/link_servers.hpp"

namespace fabricast {
namespace {

class ServerCarrier final : public FabricCarrier {
 public:
  ServerCarrier(const Cluster& cluster, const NetworkPlan& plan)
      : FabricCarrier(cluster, plan),
        first_(index_of(cluster.first_fabric_link())),
        lots_(plan.seeds.first) {
    for (std::uint32_t id = first_; id < cluster.cables(); ++id) {
      const ClusterLink link = cluster.link(LinkId{id});
      links_.add({link.rate, link.latency});
    }
  }

  bool advance(Instant until, const OnArrival& on_arrival) override {
    while (!report(on_arrival)) {
      if (queue_.empty() || queue_.earliest() > until) return false;
      now_ = queue_.earliest();
      ++events_;
      pass(queue_.pop());
    }
    return true;
  }
  Instant now() const override { return now_; }
  Bytes carried(std::uint32_t link) const override {
    return link < first_ || link - first_ >= links_.size() ? Bytes{}
                                                           : links_[link - first_].carried;
  }
  std::uint64_t events() const override { return events_; }

 private:
  /// Links of links_, one after another in hops_.
  struct Route {
    std::uint32_t first = 0, links = 0;
  };
  struct QueuePair {
    std::uint32_t first = 0, ways = 0;  ///< in ways_
  };
  /// A slice that comes to link `hop` of `way` now.
  struct Passage {
    Part part;
    std::uint32_t way = 0, hop = 0;
    Instant last;  ///< when its last byte can be there at the earliest
  };

  void lay(const std::vector<std::uint32_t>& fabric, std::uint32_t number) override {
    QueuePair& pair = pairs_.emplace_back();
    pair.first = static_cast<std::uint32_t>(ways_.size());
    for (const std::vector<std::uint32_t>& links : routes(fabric, number)) {
      ways_.push_back(
          {static_cast<std::uint32_t>(hops_.size()), static_cast<std::uint32_t>(links.size())});
      for (const std::uint32_t link : links) hops_.push_back(link - first_);
    }
    pair.ways = static_cast<std::uint32_t>(ways_.size()) - pair.first;
  }

  void post(const Part& part, Instant at) override { queue_.push(at, {part, 0, 0, at}); }

  void pass(Passage passage) {
    const QueuePair& pair = pairs_[passage.part.queue_pair];
    // The NIC's port is the same on all ways: the leaf chooses.
    if (passage.hop == 1 && pair.ways > 1) passage.way = choose(pair);
    const Route& way = ways_[pair.first + passage.way];
    auto& link = links_[hops_[way.first + passage.hop]];
    PlainStamp head{now_.ps}, last{passage.last.ps};
    links_.cross(link, head, last, passage.part.bytes);
    const Duration latency = links_.latency(link);
    passage.last = {last.ps + latency.ps};
    if (++passage.hop == way.links)
      return done(passage.part.queue_pair, passage.part.slice, passage.last);
    queue_.push({head.ps + latency.ps}, passage);
  }

  std::uint32_t choose(const QueuePair& pair) {
    const std::uint32_t lot = lots_.below(pair.ways);
    if (plan_.routing == Routing::spray) return lot;
    // From the lot on, so that ties go anywhere. Further choices count when the first is equal.
    const auto is_free_before = [&](std::uint32_t a, std::uint32_t b) {
      const Route &one = ways_[pair.first + a], &two = ways_[pair.first + b];
      for (std::uint32_t hop = 1; hop + 2 < one.links; ++hop) {
        const std::int64_t mine = free_at(one, hop), other = free_at(two, hop);
        if (mine != other) return mine < other;
      }
      return false;
    };
    std::uint32_t best = lot;
    for (std::uint32_t i = 1; i < pair.ways; ++i) {
      const std::uint32_t way = (lot + i) % pair.ways;
      if (is_free_before(way, best)) best = way;
    }
    return best;
  }

  std::int64_t free_at(const Route& way, std::uint32_t hop) const {
    return std::max(links_[hops_[way.first + hop]].free.ps, now_.ps);
  }

  std::uint32_t first_;
  LinkServers<PlainStamp> links_;
  std::vector<QueuePair> pairs_;
  std::vector<Route> ways_;
  std::vector<std::uint32_t> hops_;
  EventHeap<Passage> queue_;
  Random lots_;
  Instant now_;
  std::uint64_t events_ = 0;
};

}  // namespace

std::unique_ptr<Carrier> make_server_carrier(const Cluster& cluster, const NetworkPlan& plan) {
  if (!plan.background.empty()) refuse(Refused::background_on_chunk);
  return std::make_unique<ServerCarrier>(cluster, plan);
}

}  // namespace fabricast
