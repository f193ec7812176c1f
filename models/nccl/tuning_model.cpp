#include "models/nccl/tuner.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "models/nccl/eligibility.hpp"
#include "models/nccl/tuner_tables.hpp"

namespace fabricast {
namespace {

using namespace tuner_tables;

constexpr int floor_log2(int x) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(x))) - 1;
}

/// The communicator, with what several formulas need.
struct Model {
  const TunerInput& in;
  Generation gpu;
  std::size_t by_nodes;  ///< index into ByNodes
  float ranks_per_node;

  explicit Model(const TunerInput& input)
      : in(input),
        gpu(generation(input.compute_capability_min, input.version)),
        by_nodes(static_cast<std::size_t>(std::min(input.nodes, 3) - 1)),
        ranks_per_node(static_cast<float>(input.ranks) / static_cast<float>(input.nodes)) {}

  const ChannelGraph& graph(Algorithm a) const { return a == Algorithm::tree ? in.tree : in.ring; }
  /// Ring steps of a collective; also the parts a ring's bandwidth divides into.
  int steps(Collective c) const {
    switch (c) {
      case Collective::all_reduce:
        return 2 * (in.ranks - 1);
      case Collective::all_gather:
      case Collective::reduce_scatter:
        return in.ranks - 1;
      default:
        return in.ranks;
    }
  }
};

// ---- bandwidth. Formulas run in double and are stored to float at every assignment, as in NCCL.

float ring_bus_bandwidth(const Model& m, Protocol p, float bus, const Ceilings& top,
                         double ll_max) {
  const double channels = m.in.ring.channel_count();
  if (p == Protocol::ll) return static_cast<float>(std::min(ll_max, bus * .5));
  if (p == Protocol::ll128) {
    const double share = m.in.version < kNccl2_22 && m.ranks_per_node < 2 ? 0.7 : 0.92;
    return static_cast<float>(std::min(bus * share, channels * top.ring_ll128[m.by_nodes]));
  }
  return bus;
}

float tree_bus_bandwidth(const Model& m, Protocol p, float bus, const Ceilings& top,
                         double ll_max) {
  const double channels = m.in.tree.channel_count();
  bus = static_cast<float>(std::min(bus * .92, channels * top.tree[m.by_nodes]));
  if (p == Protocol::ll) bus = static_cast<float>(std::min(bus * 1.0 / 3.8, ll_max));
  if (p == Protocol::ll128) {
    const double share = m.in.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
    bus = static_cast<float>(std::min(bus * share, channels * top.tree_ll128[m.by_nodes]));
  }
  if (m.in.tree.pattern == GraphPattern::tree) bus = static_cast<float>(bus * .85);
  return bus;
}

float bandwidth_of(const Model& m, Collective c, Algorithm a, Protocol p) {
  const ChannelGraph& g = m.graph(a);
  const Ceilings& top = ceilings(m.gpu, m.in.version);
  // Between nodes, LL is limited by the hosts rather than by the GPUs.
  const bool amd =
      m.in.cpu == HostCpu::amd || (m.in.cpu == HostCpu::mixed_x86 && m.in.version >= kNccl2_27);
  const std::size_t ll_row = m.in.nodes == 1 ? index_of(m.gpu) : amd ? 1 : 0;
  const double ll_max = kCeilings[ll_row].ll[m.by_nodes];
  const float bus =
      static_cast<float>(g.channel_count()) * (m.in.nodes <= 2 ? g.bw_intra : g.bw_inter);
  if (a == Algorithm::tree) return tree_bus_bandwidth(m, p, bus, top, ll_max) * .5F;
  const float share = static_cast<float>((1.0 * m.in.ranks) / m.steps(c));
  return ring_bus_bandwidth(m, p, bus, top, ll_max) * share;
}

// ---- latency, in microseconds

struct HopLatency {
  float intra = 0, inter = 0;
};

HopLatency hops(const Model& m, Algorithm a, Protocol p) {
  const Latencies& tree = m.in.version < kNccl2_22 ? kTree2_21 : kTree2_27;
  const Latencies& own = a == Algorithm::tree ? tree : kRing;
  const ChannelGraph& g = m.graph(a);
  const std::size_t i = index_of(p);
  HopLatency hop;
  hop.intra = g.type_intra == PathType::nvl ? own.nvlink[i] : own.pci[i];
  const bool power_tree = m.in.cpu == HostCpu::power && a == Algorithm::tree;
  if (power_tree && p == Protocol::simple && g.type_intra != PathType::nvl)
    hop.intra = kRing.pci[i];
  // With one rank a node 2.22+ takes the network figures of Tree for every algorithm.
  const bool as_tree = m.in.version >= kNccl2_22 && m.ranks_per_node == 1;
  hop.inter = (as_tree ? tree : own).net[i] + g.latency_inter_us;
  if (p == Protocol::simple) hop.inter += g.latency_inter_us;  // the flush of received data
  return hop;
}

/// What the CPU needs to post one network message.
float net_overhead(const Model& m) {
  if (m.in.settings.net_overhead_us) return *m.in.settings.net_overhead_us;
  return m.in.cpu == HostCpu::amd ? 2.0F : 1.0F;
}

float ring_latency(const Model& m, Collective c, Protocol p) {
  const std::size_t i = index_of(p);
  HopLatency hop = hops(m, Algorithm::ring, p);
  const int steps = m.steps(c);
  const int nodes = m.in.nodes;
  if (c == Collective::broadcast || c == Collective::reduce) {
    const bool nvlink = m.in.ring.type_intra == PathType::nvl;
    const auto raw = [&](const Latencies& l) {
      return nodes > 1 ? l.net[i] : nvlink ? l.nvlink[i] : l.pci[i];
    };
    if (m.in.ring.same_channels) return kRing.base[i] + raw(kRing);
    const Latencies& tree = m.in.version < kNccl2_22 ? kTree2_21 : kTree2_27;
    return kRing.base[i] + static_cast<float>(steps) * raw(p == Protocol::simple ? tree : kRing);
  }
  if (nodes > 1) {
    hop.intra = std::max(hop.intra, net_overhead(m) * (p == Protocol::simple ? 3.0F : 1.0F));
  }
  int inter_steps = 0;
  if (nodes > 1) {
    const int once = nodes - 1;
    inter_steps = c != Collective::all_reduce ? once
                  : m.in.version < kNccl2_22  ? 2 * nodes
                                              : 2 * once;
  }
  return kRing.base[i] + (static_cast<float>(steps - inter_steps) * hop.intra +
                          static_cast<float>(inter_steps) * hop.inter);
}

float tree_latency(const Model& m, Protocol p) {
  const Latencies& own = m.in.version < kNccl2_22 ? kTree2_21 : kTree2_27;
  const HopLatency hop = hops(m, Algorithm::tree, p);
  const int chain = m.in.ranks / m.in.nodes - 1;
  return own.base[index_of(p)] + 2.0F * (static_cast<float>(chain) * hop.intra +
                                         static_cast<float>(floor_log2(m.in.nodes)) * hop.inter);
}

// ---- the race

TunedPair tuned_pair(const Model& m, Collective c, Algorithm a, Protocol p) {
  TunedPair pair;
  pair.excluded = why_excluded(m.in, c, a, p);
  if (!exists(a, c)) return pair;
  pair.latency_us = a == Algorithm::tree ? tree_latency(m, p) : ring_latency(m, c, p);
  if (pair.excluded.empty()) pair.bandwidth_GBps = bandwidth_of(m, c, a, p);
  return pair;
}

void give_ring_back(const Model& m, Collective c, TuningModel& model) {
  auto& of_collective = model.pairs[index_of(c)];
  for (const Algorithm a : kModelled) {
    for (const TunedPair& pair : of_collective[index_of(a)]) {
      if (pair.excluded.empty()) return;
    }
  }
  if (!rings_return(m.in, c)) return;
  for (const Protocol p : kAllProtocols) {
    TunedPair& pair = of_collective[index_of(Algorithm::ring)][index_of(p)];
    pair.excluded.clear();
    pair.bandwidth_GBps = bandwidth_of(m, c, Algorithm::ring, p);
  }
}

void set_thread_limits(const Model& m, TuningModel& model) {
  const ChannelGraph& ring = m.in.ring;
  constexpr float kPciBandwidth = 12;  // GB/s: what x16 of PCIe gen 3 carries (src/graph/topo.h)
  const bool slow = ring.bw_intra * static_cast<float>(ring.channel_count()) <= kPciBandwidth;
  for (const Algorithm a : kModelled) {
    auto& threads = model.threads_max[index_of(a)];
    auto& least = model.bytes_per_thread[index_of(a)];
    const int simple = a == Algorithm::ring && slow ? 256 : 512;
    threads[index_of(Protocol::ll)] = m.in.settings.threads.value_or(512);
    threads[index_of(Protocol::ll128)] = m.in.settings.threads_ll128.value_or(640);
    threads[index_of(Protocol::simple)] = m.in.settings.threads.value_or(simple);
    least[index_of(Protocol::ll)] = a == Algorithm::ring ? 8 * m.in.ranks : 8;
    least[index_of(Protocol::ll128)] = 8;
    least[index_of(Protocol::simple)] = 64;
  }
}

}  // namespace

HostCpu host_cpu(std::string_view arch, std::string_view vendor) {
  if (arch == "arm64") return HostCpu::arm;
  if (arch == "ppc64") return HostCpu::power;
  if (vendor == "AuthenticAMD") return HostCpu::amd;
  if (vendor == "CentaurHauls" || vendor == "  Shanghai  ") return HostCpu::zhaoxin;
  return HostCpu::intel;
}

TuningModel tuning_model(const TunerInput& input) {
  assert(input.nodes >= 1 && input.ranks >= input.nodes);
  assert(input.ring.channel_count() > 0 && input.tree.channel_count() > 0);
  TuningModel model;
  model.input = input;
  const Model m(model.input);
  for (const Collective c : kAllCollectives) {
    if (!is_tuned(c)) continue;
    for (const Algorithm a : kModelled) {
      for (const Protocol p : kAllProtocols) {
        model.pairs[index_of(c)][index_of(a)][index_of(p)] = tuned_pair(m, c, a, p);
      }
    }
    give_ring_back(m, c, model);
  }
  set_thread_limits(m, model);
  return model;
}

}  // namespace fabricast
