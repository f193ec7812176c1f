// Formulas run in double and are stored to float at every assignment, as in NCCL.

#include <algorithm>
#include <limits>

#include "models/nccl/tuner/tuner_tables.hpp"
#include "models/nccl/tuner/tuning_formulas.hpp"

namespace fabricast {
namespace {

using namespace tuner_tables;

class BandwidthFormula {
 public:
  BandwidthFormula(const TunerInput& input, Collective collective, Algorithm algorithm,
                   Protocol protocol)
      : in_(input),
        graph_(graph_of(input, algorithm)),
        collective_(collective),
        algorithm_(algorithm),
        protocol_(protocol),
        gpu_(generation(input.compute_capability_min, input.version)),
        by_nodes_(static_cast<std::size_t>(std::min(input.nodes, 3) - 1)),
        ranks_per_node_(static_cast<float>(input.ranks) / static_cast<float>(input.nodes)) {}

  float of_algorithm() const {
    switch (algorithm_) {
      case Algorithm::tree:
        return tree() * .5F;
      case Algorithm::ring:
        return shared(ring());
      case Algorithm::collnet_direct:
        if (in_.version >= kNccl2_31)
          return (is_gather() ? collnet_direct_gather() : collnet_reduce_2_31()) * .5F;
        return is_gather() ? collnet_direct_gather() : collnet_direct_reduce() * .5F;
      case Algorithm::collnet_chain:
        return (in_.version >= kNccl2_31 ? collnet_reduce_2_31() : channels() * graph_.bw_intra) *
               .5F;
      case Algorithm::nvls:
      case Algorithm::nvls_tree:
        return in_.version < kNccl2_31 ? nvls_bus() * nvls_share() : shared(nvls_bus());
      case Algorithm::pat:
        return static_cast<float>(bus() * (in_.version < kNccl2_24 ? .85 : .75));
    }
    return 0;
  }

 private:
  float channels() const { return static_cast<float>(graph_.channel_count()); }
  double channels_double() const { return graph_.channel_count(); }
  bool is_gather() const { return collective_ != Collective::all_reduce; }

  float bus() const {
    float bw = in_.nodes <= 2 ? graph_.bw_intra : graph_.bw_inter;
    if (in_.version >= kNccl2_31) {
      bw = in_.nodes == 1 ? graph_.bw_intra : graph_.bw_inter;
      if (algorithm_ != Algorithm::ring) bw = std::min(graph_.bw_intra, graph_.bw_inter);
    }
    return channels() * bw;
  }

  const Ceilings& top() const { return ceilings(gpu_, in_.version); }
  /// Between nodes, LL is limited by the hosts rather than by the GPUs.
  double ll_max() const {
    const bool amd =
        in_.cpu == HostCpu::amd || (in_.cpu == HostCpu::mixed_x86 && in_.version >= kNccl2_24);
    const std::size_t row = in_.nodes == 1 ? index_of(ll_generation(gpu_, in_.version))
                            : amd          ? 1
                                           : 0;
    return kCeilings[row].ll[by_nodes_];
  }

  /// Up to 2.20 NCCL thought less of it.
  double ll_share() const {
    if (in_.version >= kNccl2_21) return .5;
    const bool reduces = collective_ == Collective::all_reduce || collective_ == Collective::reduce;
    return in_.nodes > 1 || reduces ? 1.0 / 4.0 : 1.0 / 3.0;
  }

  float ring() const {
    if (protocol_ == Protocol::ll)
      return static_cast<float>(std::min(ll_max(), bus() * ll_share()));
    if (protocol_ == Protocol::ll128) {
      const double share = in_.version < kNccl2_23 && ranks_per_node_ < 2 ? 0.7 : 0.92;
      return static_cast<float>(
          std::min(bus() * share, channels_double() * top().ring_ll128[by_nodes_]));
    }
    return bus();
  }

  /// Of the algorithm, from that of the links. 2.31 multiplies before it divides.
  float shared(float bus) const {
    if (in_.version < kNccl2_31) return bus * ring_share();
    return bus * static_cast<float>(in_.ranks) / static_cast<float>(ring_steps());
  }

  /// The message over what passes the busiest port.
  float ring_share() const { return static_cast<float>((1.0 * in_.ranks) / ring_steps()); }
  int ring_steps() const {
    return collective_ == Collective::all_reduce ? 2 * (in_.ranks - 1)
           : collective_ == Collective::all_gather || collective_ == Collective::reduce_scatter
               ? in_.ranks - 1
               : in_.ranks;
  }

  float tree() const {
    auto bw = static_cast<float>(std::min(bus() * .92, channels_double() * top().tree[by_nodes_]));
    if (protocol_ == Protocol::ll) bw = static_cast<float>(std::min(bw * 1.0 / 3.8, ll_max()));
    if (protocol_ == Protocol::ll128) {
      const double share = in_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
      bw =
          static_cast<float>(std::min(bw * share, channels_double() * top().tree_ll128[by_nodes_]));
    }
    if (graph_.pattern == GraphPattern::tree) bw = static_cast<float>(bw * .85);
    return bw;
  }

  /// Each GPU sends through its own NIC.
  float collnet_direct_gather() const {
    if (in_.version >= kNccl2_27)
      return ranks_per_node_ * std::min(graph_.bw_intra, graph_.bw_inter * 0.9F);
    const float bw = ranks_per_node_ * graph_.bw_intra;
    const float w = (ranks_per_node_ - 1) / 7;  // measured with 1 and with 8 GPUs per node
    return static_cast<float>(bw * (w * 0.85 + (1 - w) * 0.95));
  }

  /// Works at full speed where every GPU has its own NIC.
  float collnet_direct_reduce() const {
    const float bw = channels() * graph_.bw_intra / gpus_per_nic();
    return in_.compute_capability_min >= 90 ? static_cast<float>(bw * .85) : bw;
  }

  /// What 2.31 has left of its reduce_scatter's figure when it comes to all_reduce: nothing, where
  /// GPUs share the NIC that speaks with CollNet.
  float collnet_reduce_2_31() const {
    if (in_.ranks / in_.nodes > in_.collnet_heads) return 0;
    return collnet_direct_gather() / gpus_per_nic();
  }

  /// GPUs that share a NIC, half of what is above one.
  float gpus_per_nic() const {
    auto q = static_cast<float>(ranks_per_node_ / (1.0 * graph_.channel_count()));
    q -= (q - 1) / 2;
    return q;
  }

  float nvls_bus() const {
    if (in_.version < kNccl2_19) return bus();
    if (in_.version >= kNccl2_28) return nvls_bus_2_28();
    const float intra = graph_.bw_intra, inter = graph_.bw_inter;
    if (algorithm_ == Algorithm::nvls_tree)
      return channels() * std::min(intra, in_.nodes <= 2 ? inter : inter / 2);
    if (in_.version < kNccl2_27 || !is_gather()) return channels() * std::min(intra, inter);
    return channels() * std::min(intra * (ranks_per_node_ - 1) / ranks_per_node_, inter * 0.9F);
  }

  float nvls_bus_2_28() const {
    const bool is_tree = algorithm_ == Algorithm::nvls_tree;
    if (graph_.channel_count() < 2) return 0;
    float intra = graph_.bw_intra * kNvlsEfficiency[index_of(gpu_)] * (channels() - 1) / channels();
    intra *= is_gather() ? (ranks_per_node_ - 1) / ranks_per_node_ : 2;  // reduces and spreads
    const float inter = graph_.bw_inter * (in_.nodes <= 2 && is_tree ? 2.0F : 1.0F);
    const float ceiling = is_tree
                              ? static_cast<float>(nvls_tree_ceilings(gpu_, in_.version)[by_nodes_])
                              : std::numeric_limits<float>::max();
    return channels() * std::min({intra, inter, ceiling});
  }

  float nvls_share() const {
    if (in_.version < kNccl2_19 && algorithm_ == Algorithm::nvls_tree)
      return static_cast<float>(.70 * in_.nodes / (2 * (in_.nodes - 1)));
    if (is_gather() && in_.version >= kNccl2_23) return 1;
    return in_.version < kNccl2_28 ? static_cast<float>(5.0 / 6.0) : ring_share();
  }

  const TunerInput& in_;
  const ChannelGraph& graph_;
  Collective collective_;
  Algorithm algorithm_;
  Protocol protocol_;
  Generation gpu_;
  std::size_t by_nodes_;  ///< index into ByNodes
  float ranks_per_node_;
};

}  // namespace

const ChannelGraph& graph_of(const TunerInput& input, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return input.ring;
    case Algorithm::tree:
    case Algorithm::pat:
      return input.tree;
    case Algorithm::collnet_direct:
      return input.collnet_direct;
    case Algorithm::collnet_chain:
      return input.collnet_chain;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return input.nvls_graph;
  }
  return input.ring;
}

float tuned_bandwidth_GBps(const TunerInput& input, Collective collective, Algorithm algorithm,
                           Protocol protocol) {
  if (graph_of(input, algorithm).channels.empty()) return 0;
  return BandwidthFormula(input, collective, algorithm, protocol).of_algorithm();
}

}  // namespace fabricast
