#pragma once
// The rungs of the network as carriers of slices (sim/links/carrier.hpp), for a machine whose first
// links are those of the cluster. What they have in common stands here: queue pairs, ways, order.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/hardware/cluster/network_plan.hpp"
#include "sim/base/digest.hpp"
#include "sim/base/queues.hpp"
#include "sim/links/carrier.hpp"
#include "sim/links/machine.hpp"

namespace fabricast {

/// REQUIRES: plan.carries(). Throws Error where the rung cannot do what is asked.
std::unique_ptr<Carrier> make_carrier(const Cluster& cluster, const NetworkPlan& plan);

/// What all rungs do alike: they carry the fabric, port to port. Links inside nodes stay with the
/// machine, whose workers pause and hold them.
class FabricCarrier : public Carrier {
 public:
  FabricCarrier(const Cluster& cluster, const NetworkPlan& plan);

  bool takes(std::uint32_t link) const override {
    return link < cluster_.links() && cluster_.is_fabric_link(LinkId{link});
  }
  std::uint32_t add_way(std::span<const std::uint32_t> links) final;
  Duration latency(std::uint32_t way) const final { return ways_[way].latency; }
  void send(std::uint32_t way, Instant at, Bytes wire) final;
  std::uint64_t digest() const final { return digest_; }

 protected:
  /// All ways that its switches may pick between the ends of `fabric`: one by destination or by the
  /// hash of the queue pair, else all shortest ones.
  std::vector<std::vector<std::uint32_t>> routes(const std::vector<std::uint32_t>& fabric,
                                                 std::uint32_t queue_pair) const;
  /// A queue pair, numbered from 0, over the links of `fabric` or others between the same two
  /// ports. `number`: among those between these.
  virtual void lay(const std::vector<std::uint32_t>& fabric, std::uint32_t number) = 0;
  /// Bytes of a slice; those of one queue pair come in order.
  struct Part {
    std::uint32_t queue_pair = 0;
    std::uint64_t slice = 0;  ///< of its way, from 0
    Bytes bytes;
  };
  virtual void post(const Part& part, Instant at) = 0;
  /// The part's last byte is there at `at`.
  void done(std::uint32_t queue_pair, std::uint64_t slice, Instant at);
  /// Tells of what is done and in order; false when there is nothing.
  bool report(const OnArrival& on_arrival);

  const Cluster& cluster_;
  const NetworkPlan plan_;

 private:
  struct Slice {
    std::uint32_t parts = 0;  ///< that have yet to arrive
    Instant at;
  };
  /// The links of one piece of each slice: NCCL takes several NICs for one.
  struct Route {
    std::uint32_t mark = 0;        ///< of its links, piece_mark()
    std::uint32_t first_pair = 0;  ///< queue pair
  };
  struct Way {
    Duration latency;
    std::uint32_t first_route = 0, routes = 0;  ///< one, unless slices are cut into pieces
    std::uint64_t first = 0, sent = 0;          ///< slices: that has yet to arrive, of all
  };

  void add_route(std::uint32_t way, std::uint32_t mark, const std::vector<std::uint32_t>& links);
  void post_route(const Route& route, std::uint64_t number, Slice& slice, Instant at, Bytes wire);

  std::vector<Way> ways_;
  std::vector<Route> routes_;
  Queues<Slice> slices_;  ///< by way
  std::vector<std::uint32_t> way_of_pair_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> queue_pairs_;  ///< by port links
  std::vector<std::pair<std::uint32_t, Instant>> arrivals_, reported_;
  std::uint64_t digest_ = 0xcbf29ce484222325u;
};

std::unique_ptr<Carrier> make_server_carrier(const Cluster& cluster, const NetworkPlan& plan);
std::unique_ptr<Carrier> make_flow_carrier(const Cluster& cluster, const NetworkPlan& plan);
std::unique_ptr<Carrier> make_packet_carrier(const Cluster& cluster, const NetworkPlan& plan);

}  // namespace fabricast
