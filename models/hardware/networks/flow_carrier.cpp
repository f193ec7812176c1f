// The flow rung as a carrier: a slice is a fluid over all links of the fabric on its way at once. A
// queue pair is one flow, which sends one slice at a time. Where switches choose (adaptive routing,
// spraying), the equal links of a step are one pool: its rate is the sum of theirs (adaptive: what
// is slow or busy gets less), or as many times the slowest (spraying: every link gets as much).

#include <algorithm>

#include "models/hardware/networks/carriers.hpp"
#include "models/hardware/networks/fabric_nets.hpp"
#include "models/hardware/networks/refusals.hpp"
#include "sim/base/fifo.hpp"

namespace fabricast {
namespace {

class FlowCarrier final : public FabricCarrier {
 public:
  FlowCarrier(const Cluster& cluster, const NetworkPlan& plan)
      : FabricCarrier(cluster, plan), net_(flow_network(cluster)), carried_(cluster.links()) {
    for (const BackgroundLoad& load : plan.background) add_background(index_of(load.link), load);
  }

  bool advance(Instant until, const OnArrival& on_arrival) override {
    for (;;) {
      if (report(on_arrival)) return true;
      const Instant next = net_.next(until);
      if (next == FlowNetwork::kForever || next > until) return false;
      net_.run_until(next, [this](std::uint32_t flow) { ended(flow); });
    }
  }
  Instant now() const override { return net_.now(); }
  Bytes carried(std::uint32_t link) const override {
    const auto pool = pool_of_.find(link);
    if (pool == pool_of_.end()) return carried_[link];
    return carried_[link] + Bytes{carried_[pool->second.id].count / pool->second.links};
  }
  std::uint64_t events() const override { return net_.events(); }

 private:
  struct QueuePair {
    std::vector<std::uint32_t> links;
    std::uint32_t flow = kNone;  ///< the same for all its slices
    Fifo<Part> parts;            ///< the first one is under way
  };
  struct Pool {
    std::uint32_t id = 0;  ///< as a link of net_
    std::int64_t links = 0;
  };

  void add_background(std::uint32_t link, const BackgroundLoad& load) {
    const auto whole = static_cast<double>(cluster_.link(load.link).rate.bytes_per_s);
    const Bandwidth rate{static_cast<std::int64_t>(whole * load.share)};
    const std::uint32_t links[] = {link};
    pair_of_flow_.push_back(kNone);
    net_.add_flow({net_.now(), FluidSpec::kEndless, links, 1, load.priority, rate, false});
  }

  void lay(const std::vector<std::uint32_t>& fabric, std::uint32_t number) override {
    QueuePair& pair = pairs_.emplace_back();
    const auto choices = routes(fabric, number);
    for (std::size_t step = 0; step < choices.front().size(); ++step)
      pair.links.push_back(link_of_step(choices, step));
  }

  /// The one link, or the pool of all.
  std::uint32_t link_of_step(const std::vector<std::vector<std::uint32_t>>& choices,
                             std::size_t step) {
    std::vector<std::uint32_t> links;
    for (const std::vector<std::uint32_t>& way : choices) links.push_back(way[step]);
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
    if (links.size() == 1) return links.front();
    const auto known = pool_of_.find(links.front());
    return known != pool_of_.end() ? known->second.id : add_pool(links);
  }

  std::uint32_t add_pool(const std::vector<std::uint32_t>& links) {
    Bandwidth sum, least{INT64_MAX};
    for (const std::uint32_t link : links) {
      const Bandwidth rate = cluster_.link(LinkId{link}).rate;
      sum.bytes_per_s += rate.bytes_per_s;
      least = std::min(least, rate);
    }
    const auto count = static_cast<std::int64_t>(links.size());
    if (plan_.routing == Routing::spray) sum = {least.bytes_per_s * count};
    const std::uint32_t id = net_.add_link({sum, cluster_.link(LinkId{links.front()}).latency});
    carried_.emplace_back();
    for (const std::uint32_t link : links) pool_of_[link] = {id, count};
    for (const BackgroundLoad& load : plan_.background)
      if (std::ranges::binary_search(links, index_of(load.link))) add_background(id, load);
    return id;
  }

  void post(const Part& part, Instant at) override {
    QueuePair& pair = pairs_[part.queue_pair];
    for (const std::uint32_t link : pair.links) carried_[link] += part.bytes;
    pair.parts.push(part);
    if (pair.parts.size() == 1) start(pair, at);
  }

  /// The first part of those that wait.
  void start(QueuePair& pair, Instant at) {
    const Part& part = pair.parts.front();
    at = std::max(at, net_.now());
    if (pair.flow != kNone) return net_.send_again(pair.flow, at, part.bytes);
    pair_of_flow_.push_back(part.queue_pair);
    pair.flow = net_.add_flow({at, part.bytes, pair.links, 1, plan_.priority, {}, true});
  }

  void ended(std::uint32_t flow) {
    QueuePair& pair = pairs_[pair_of_flow_[flow]];
    const Part part = pair.parts.pop();
    done(part.queue_pair, part.slice, net_.arrived(flow));
    if (!pair.parts.empty()) start(pair, net_.now());
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;

  FlowNetwork net_;
  std::vector<QueuePair> pairs_;
  std::vector<std::uint32_t> pair_of_flow_;
  std::map<std::uint32_t, Pool> pool_of_;
  std::vector<Bytes> carried_;  ///< by link of net_
};

}  // namespace

std::unique_ptr<Carrier> make_flow_carrier(const Cluster& cluster, const NetworkPlan& plan) {
  const bool chooses = plan.routing == Routing::adaptive || plan.routing == Routing::spray;
  if (chooses && cluster.fabric().kind == FabricConfig::Kind::dragonfly)
    refuse(Refused::chosen_routes_in_flows);
  return std::make_unique<FlowCarrier>(cluster, plan);
}

}  // namespace fabricast
