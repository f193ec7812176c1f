#include <algorithm>
#include <bit>

#include "models/nccl/tuner/tuner_tables.hpp"
#include "models/nccl/tuner/tuning_formulas.hpp"

namespace fabricast {
namespace {

using namespace tuner_tables;

constexpr int floor_log2(int x) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(x))) - 1;
}

struct HopLatency {
  float intra = 0, inter = 0;
};

class LatencyFormula {
 public:
  LatencyFormula(const TunerInput& input, Collective collective, Algorithm algorithm,
                 Protocol protocol)
      : in_(input),
        graph_(graph_of(input, algorithm)),
        own_(latencies(algorithm, input.version)),
        tree_(latencies(Algorithm::tree, input.version)),
        collective_(collective),
        algorithm_(algorithm),
        protocol_(protocol),
        others_(input.ranks / input.nodes - 1) {}

  float of_algorithm() const {
    const HopLatency hop = hops();
    const float base = own_.base[index_of(protocol_)];
    const int log2_nodes = floor_log2(in_.nodes);
    switch (algorithm_) {
      case Algorithm::tree:
        return base + 2.0F * (static_cast<float>(others_) * hop.intra +
                              static_cast<float>(log2_nodes) * hop.inter);
      case Algorithm::ring:
        return ring(hop);
      case Algorithm::collnet_direct:
        // Each further GPU costs some serialisation.
        return static_cast<float>(base +
                                  (2 * (static_cast<float>(std::min(1, others_)) * hop.intra +
                                        others_ * (in_.version < kNccl2_19 ? 0.5 : 0.4)) +
                                   hop.inter));
      case Algorithm::collnet_chain:
        return base + (static_cast<float>(2 * others_) * hop.intra + hop.inter);
      case Algorithm::nvls:
        if (in_.version < kNccl2_19) return in_.nodes > 1 ? base + own_.net[2] : base;
        return in_.nodes > 1 ? hop.intra + hop.inter : hop.intra;
      case Algorithm::nvls_tree:
        if (in_.version < kNccl2_19)
          return base + static_cast<float>(2 * (in_.nodes - 1)) * own_.net[2];
        return base + (hop.intra + static_cast<float>(2 * log2_nodes) * hop.inter);
      case Algorithm::pat:
        return static_cast<float>(base + log2_nodes * (hop.inter / 3.5) + in_.ranks * 2.8);
    }
    return base;
  }

 private:
  bool is_nvlink() const { return graph_.type_intra == PathType::nvl; }

  HopLatency hops() const {
    const std::size_t i = index_of(protocol_);
    HopLatency hop;
    hop.intra = is_nvlink() ? own_.nvlink[i] : own_.pci[i];
    const bool power_tree = in_.cpu == HostCpu::power && algorithm_ == Algorithm::tree;
    if (power_tree && protocol_ == Protocol::simple && !is_nvlink()) hop.intra = kRing.pci[i];
    // With one rank a node 2.23 to 2.30 take the network figures of Tree for every algorithm.
    const bool as_tree =
        in_.version >= kNccl2_23 && in_.version < kNccl2_31 && in_.ranks == in_.nodes;
    hop.inter = (as_tree ? tree_ : own_).net[i] + graph_.latency_inter_us;
    if (protocol_ == Protocol::simple) hop.inter += graph_.latency_inter_us;  // a flush
    if (in_.version >= kNccl2_31 && in_.nodes == 1) hop.inter = hop.intra;
    return hop;
  }

  /// What the CPU needs to post one network message.
  float net_overhead() const {
    if (in_.settings.net_overhead_us) return *in_.settings.net_overhead_us;
    return in_.cpu == HostCpu::amd ? 2.0F : 1.0F;
  }

  float ring(HopLatency hop) const {
    if (collective_ == Collective::broadcast || collective_ == Collective::reduce)
      return pipeline();
    const bool all_reduce = collective_ == Collective::all_reduce;
    const int steps = (all_reduce ? 2 : 1) * (in_.ranks - 1);
    int inter_steps = 0;
    if (in_.nodes > 1) {
      hop.intra =
          std::max(hop.intra, net_overhead() * (protocol_ == Protocol::simple ? 3.0F : 1.0F));
      const int once = in_.nodes - 1;
      inter_steps = !all_reduce ? once : in_.version < kNccl2_23 ? 2 * in_.nodes : 2 * once;
    }
    return own_.base[index_of(protocol_)] + (static_cast<float>(steps - inter_steps) * hop.intra +
                                             static_cast<float>(inter_steps) * hop.inter);
  }

  /// Broadcast and Reduce: one hop where all channels take the same way, else all of them.
  float pipeline() const {
    const std::size_t i = index_of(protocol_);
    const auto raw = [&](const Latencies& l) {
      const bool over_net = in_.nodes > 1 && in_.version < kNccl2_31;
      return over_net ? l.net[i] : is_nvlink() ? l.nvlink[i] : l.pci[i];
    };
    if (graph_.same_channels) return own_.base[i] + raw(own_);
    return own_.base[i] +
           static_cast<float>(in_.ranks) * raw(protocol_ == Protocol::simple ? tree_ : own_);
  }

  const TunerInput& in_;
  const ChannelGraph& graph_;
  const Latencies& own_;
  const Latencies& tree_;
  Collective collective_;
  Algorithm algorithm_;
  Protocol protocol_;
  int others_;  ///< ranks of the node beside this one
};

}  // namespace

float tuned_latency_us(const TunerInput& input, Collective collective, Algorithm algorithm,
                       Protocol protocol) {
  return LatencyFormula(input, collective, algorithm, protocol).of_algorithm();
}

}  // namespace fabricast
