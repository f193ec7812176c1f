// The packet rung as a carrier: the fabric from NIC port to NIC port in packets, under InfiniBand's
// credits or Ethernet's pauses, marks and DCQCN. Ports are as fast as on the other rungs.

#include <algorithm>
#include <cmath>
#include <set>

#include "models/hardware/networks/carriers.hpp"
#include "models/hardware/networks/fabric_nets.hpp"
#include "models/hardware/networks/refusals.hpp"
#include "sim/packet/lossless.hpp"

namespace fabricast {
namespace {

/// What a lane's buffer holds: 64 KiB at 400 Gb/s.
constexpr Duration kBuffered = transfer_time(PacketConfig{}.lane_buffer, {50'000'000'000});

/// One lane for each priority in use, the lowest first.
std::vector<std::uint8_t> priorities(const NetworkPlan& plan) {
  std::set<std::uint8_t> out = {plan.priority};
  for (const BackgroundLoad& load : plan.background) out.insert(load.priority);
  return {out.begin(), out.end()};
}

PacketConfig packet_config(const Cluster& cluster, const NetworkPlan& plan) {
  const FabricSwitchPart& leaf = cluster.fabric().leaf;
  PacketConfig config;
  // Faster ports have so much more: else the credits of a lane, not the link, would be the limit.
  config.lane_buffer = std::max(config.lane_buffer, credit_buffer(leaf.port_rate, kBuffered));
  config.lanes.clear();
  for (const std::uint8_t priority : priorities(plan)) config.lanes.push_back({1, priority});
  config.seed = plan.seeds.first;
  config.spread = plan.routing == Routing::adaptive ? Spread::adaptive
                  : plan.routing == Routing::spray  ? Spread::spray
                                                    : Spread::ecmp;
  if (!leaf.is_ethernet()) return config;
  config.flow_control = FlowControl::pause;
  config.pause.response = transfer_time(PauseHeadroom{}.response, leaf.port_rate);
  if (!cluster.fabric().dcqcn) return config;
  // 4 kB and 16 kB per Gb/s (alibaba-edu/High-Precision-Congestion-Control, run.py).
  const std::int64_t gbits = leaf.port_rate.bytes_per_s / 125'000'000;
  config.marking = {{4'000 * gbits}, {16'000 * gbits}, 0.2};
  return config;
}

class PacketCarrier final : public FabricCarrier {
 public:
  PacketCarrier(const Cluster& cluster, const NetworkPlan& plan)
      : FabricCarrier(cluster, plan),
        fabric_(packet_fabric(cluster, packet_config(cluster, plan), plan.seeds,
                              PortModel::within_nodes)),
        carried_(cluster.links()) {
    for (const BackgroundLoad& load : plan.background) add_background(load);
  }

  bool advance(Instant until, const OnArrival& on_arrival) override {
    const auto arrived = [this](std::uint32_t message) { receive(message); };
    while (!report(on_arrival)) {
      if (!net().step(until, arrived)) return false;
    }
    return true;
  }
  Instant now() const override { return fabric_.net.now(); }
  /// Where switches choose, of a link between them what came over it, others' bytes included, as if
  /// all packets were full.
  Bytes carried(std::uint32_t link) const override {
    if (!chooses_ || !cluster_.is_trunk(LinkId{link}) || link >= cluster_.cables())
      return carried_[link];
    const FabricSwitchPart& leaf = cluster_.fabric().leaf;
    const double share = static_cast<double>(leaf.packet_payload.count) /
                         static_cast<double>((leaf.packet_payload + leaf.packet_headers).count);
    const Bytes wire = fabric_.net.counts(link - fabric_.first_link).carried;
    return {std::llround(static_cast<double>(wire.count) * share)};
  }
  std::uint64_t events() const override { return fabric_.net.events(); }

 private:
  struct QueuePair {
    std::uint32_t id = 0;              ///< in net()
    std::vector<std::uint32_t> links;  ///< by destination or hash; as planned where switches choose
  };

  PacketNetwork& net() { return fabric_.net; }

  std::uint32_t lane_of(std::uint8_t priority) const {
    const std::vector<std::uint8_t> all = priorities(plan_);
    return static_cast<std::uint32_t>(std::ranges::find(all, priority) - all.begin());
  }

  QueuePairSpec spec(std::uint8_t priority) const {
    QueuePairSpec out;
    out.lane = lane_of(priority);
    out.retry = {plan_.retry.timeout, plan_.retry.count, {}};
    if (cluster_.fabric().leaf.is_ethernet() && cluster_.fabric().dcqcn) out.dcqcn = DcqcnSpec{};
    return out;
  }

  void lay(const std::vector<std::uint32_t>& fabric, std::uint32_t number) override {
    const auto choices = routes(fabric, number);
    QueuePairSpec pair = spec(plan_.priority);
    pair.from = fabric_.host(cluster_.link_from(LinkId{fabric.front()}));
    pair.to = fabric_.host(cluster_.link_to(LinkId{fabric.back()}));
    pair.number = number;
    std::vector<std::uint32_t> links;
    if (choices.size() == 1) {
      for (const std::uint32_t link : choices.front()) links.push_back(link - fabric_.first_link);
      pair.links = links;
    } else {
      pair.in_order = false;
      chooses_ = true;
    }
    pairs_.push_back({net().add_queue_pair(pair), choices.front()});
  }

  void post(const Part& part, Instant at) override {
    const QueuePair& pair = pairs_[part.queue_pair];
    for (const std::uint32_t link : pair.links) carried_[link] += part.bytes;
    note(net().send(pair.id, at, part.bytes), part);
  }

  void note(std::uint32_t message, const Part& part) {
    messages_.resize(std::max(messages_.size(), message + std::size_t{1}));
    messages_[message] = part;
  }

  void receive(std::uint32_t message) {
    const Part part = messages_[message];
    if (part.slice == kBackground) {
      note(net().send(part.queue_pair, net().now(), part.bytes), part);
    } else {
      done(part.queue_pair, part.slice, net().now());
    }
  }

  /// Messages without end over one link, from a host beside the switch that the link leaves, whose
  /// port is as fast as the share.
  void add_background(const BackgroundLoad& load) {
    const Cluster::FabricEnd from = cluster_.link_from(load.link), to = cluster_.link_to(load.link);
    if (!from.is_switch) refuse(Refused::background_of_nic, cluster_.link_name(load.link));
    const std::uint32_t link = index_of(load.link) - fabric_.first_link;
    const PacketLinkSpec crossed = net().link(link);
    const auto rate = static_cast<double>(crossed.rate.bytes_per_s) * load.share;
    QueuePairSpec pair = spec(load.priority);
    pair.from = net().add_host();
    std::vector<std::uint32_t> links = {
        net().add_link({pair.from, crossed.from, {static_cast<std::int64_t>(rate)}, {}, {}})};
    links.push_back(link);
    if (to.is_switch) {
      pair.to = net().add_host();
      links.push_back(net().add_link({crossed.to, pair.to, crossed.rate, {}, {}}));
    } else {
      pair.to = crossed.to;
    }
    pair.links = links;
    const std::uint32_t id = net().add_queue_pair(pair);
    constexpr Bytes kMessage{std::int64_t{1} << 20};
    for (int i = 0; i < 2; ++i) note(net().send(id, {}, kMessage), {id, kBackground, kMessage});
  }

  static constexpr std::uint64_t kBackground = UINT64_MAX;

  PacketFabric fabric_;
  std::vector<QueuePair> pairs_;
  std::vector<Part> messages_;
  std::vector<Bytes> carried_;
  bool chooses_ = false;  ///< a switch, among several ways
};

}  // namespace

std::unique_ptr<Carrier> make_packet_carrier(const Cluster& cluster, const NetworkPlan& plan) {
  return std::make_unique<PacketCarrier>(cluster, plan);
}

}  // namespace fabricast
