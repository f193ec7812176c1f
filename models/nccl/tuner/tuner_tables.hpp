#pragma once
// The measured figures of NCCL's tuning model: src/graph/tuning.cc at v2.21.5-1, v2.27.7-1 and
// v2.30.7-1. Only the files of the tuner include this.

#include <array>

#include "models/nccl/base/types.hpp"

namespace fabricast::tuner_tables {

template <typename T>
using ByProtocol = std::array<T, kProtocols>;
using ByNodes = std::array<double, 3>;  ///< 1, 2, more nodes

/// Generations the model tells apart. Up to 2.24 it takes Blackwell for Hopper.
enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };
constexpr Generation generation(int compute_capability, NcclVersion version) {
  if (compute_capability >= 100 && version >= kNccl2_25) return Generation::blackwell;
  if (compute_capability >= 90) return Generation::hopper;
  return compute_capability >= 80 ? Generation::ampere : Generation::volta;
}
constexpr std::size_t index_of(Generation g) { return static_cast<std::size_t>(g); }

/// Ceilings in GB/s: LL of the whole operation; LL128 and Tree per channel.
struct Ceilings {
  ByNodes ll, ring_ll128, tree_ll128, tree;
};
inline constexpr std::array<Ceilings, 4> kCeilings = {{
    {{39, 39, 20.4}, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10}},
    {{87.7, 22.5, 19}, {20, 20, 20}, {20, 20, 20}, {24, 23.6, 17.8}},
    {{141, 45, 35}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, {38.7, 41.4, 36}},
    {{282, 90, 70}, {73.4, 73.4, 73.4}, {73.4, 73.4, 58}, {77.4, 82.8, 72}},
}};
/// Blackwell was measured again for 2.28, and its rings for 2.29.
inline constexpr Ceilings kBlackwell2_28 = {
    {282, 90, 70}, {73.4, 34.6, 73.4}, {55.6, 31.67, 20}, {70, 42.8, 24}};
inline constexpr Ceilings kBlackwell2_29 = {
    {282, 90, 70}, {40, 40, 40}, {55.6, 31.67, 20}, {70, 42.8, 24}};
/// Before 2.29.7, whose source is the one that was read, a ring of LL128 inside a node counts less:
/// with 2.29.2 a B200 node and a GB200 tray (ai-dynamo/aiconfigurator) leave LL128 for Simple,
/// and LL for LL128, where 33 to 34.6 GB/s a channel would do so, as 2.28 has between two nodes.
inline constexpr Ceilings kBlackwell2_29_2 = {
    {282, 90, 70}, {34.6, 40, 40}, {55.6, 31.67, 20}, {70, 42.8, 24}};

/// Of LL on one node of Hopper up to 2.20: what Ampere has.
constexpr Generation ll_generation(Generation g, NcclVersion version) {
  return version < kNccl2_21 && g > Generation::ampere ? Generation::ampere : g;
}

constexpr const Ceilings& ceilings(Generation g, NcclVersion version) {
  if (g == Generation::blackwell && version >= kNccl2_28) {
    if (version < kNccl2_29) return kBlackwell2_28;
    return version < kNccl2_29_7 ? kBlackwell2_29_2 : kBlackwell2_29;
  }
  return kCeilings[index_of(g)];
}

/// From 2.28 on: GB/s per channel of NVLSTree, and what NVLS reaches of the links inside a node.
inline constexpr std::array<ByNodes, 4> kNvlsTreeCeilings = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
inline constexpr ByNodes kBlackwellNvlsTree2_28 = {0, 96, 43.8};
constexpr const ByNodes& nvls_tree_ceilings(Generation g, NcclVersion version) {
  const bool is_old = g == Generation::blackwell && version < kNccl2_30;
  return is_old ? kBlackwellNvlsTree2_28 : kNvlsTreeCeilings[index_of(g)];
}
inline constexpr std::array<float, 4> kNvlsEfficiency = {0, 0, 0.85F, 0.74F};

/// Microseconds of one algorithm, by protocol: once per operation, then per step over each kind of
/// hop.
struct Latencies {
  ByProtocol<float> base, nvlink, pci, net;
};
inline constexpr Latencies kRing = {
    {6.6F, 14.0F, 8.4F}, {0.6F, 1.9F, 3.4F}, {1.0F, 2.5F, 5.7F}, {2.7F, 4.0F, 14.0F}};
/// Tree Simple of 2.19 to 2.22 carries a fitted penalty in its steps instead of a base.
inline constexpr Latencies kTree2_18 = {
    {6.8F, 14.0F, 0.0F}, {0.6F, 1.25F, 4.0F}, {1.0F, 1.9F, 6.0F}, {5.0F, 8.5F, 14.0F}};
inline constexpr Latencies kTree2_21 = {
    {6.8F, 14.0F, 0.0F}, {0.6F, 1.25F, 28.0F}, {1.0F, 1.9F, 28.0F}, {5.0F, 8.5F, 28.0F}};
inline constexpr Latencies kTree2_23 = {
    {6.8F, 14.0F, 8.4F}, {0.6F, 1.25F, 4.0F}, {1.0F, 1.9F, 4.0F}, {5.0F, 8.5F, 14.0F}};
inline constexpr Latencies kCollNetDirect2_18 = {{}, {0, 0, 8}, {0, 0, 8}, {0, 0, 10.7F}};
inline constexpr Latencies kCollNetChain2_18 = {{}, {0, 0, 4.75F}, {0, 0, 8}, {0, 0, 14}};
inline constexpr Latencies kNvls2_18 = {{0, 0, 23}, {}, {}, {0, 0, 18}};
inline constexpr Latencies kNvlsTree2_18 = {{0, 0, 23}, {}, {}, {0, 0, 19}};
inline constexpr Latencies kNvls2_19 = {{}, {0, 0, 23}, {}, {0, 0, 18}};
inline constexpr Latencies kNvlsTree2_19 = {{}, {0, 0, 23}, {}, {0, 0, 14}};
inline constexpr Latencies kCollNetDirect = {{}, {0, 0, 3.7F}, {0, 0, 3.7F}, {0, 0, 31}};
inline constexpr Latencies kCollNetChain = {{}, {0, 0, 2.8F}, {0, 0, 2.8F}, {0, 0, 30}};
inline constexpr Latencies kNvls = {{}, {0, 0, 25}, {}, {0, 0, 18}};
inline constexpr Latencies kNvlsTree = {{}, {0, 0, 25}, {}, {0, 0, 14}};
inline constexpr Latencies kNvlsTree2_28 = {{}, {0, 0, 25}, {}, {0, 0, 20.9F}};
inline constexpr Latencies kPat = {{8, 8, 8}, {0, 0, 4}, {0, 0, 4}, {0, 0, 14}};

constexpr const Latencies& latencies(Algorithm algorithm, NcclVersion version) {
  switch (algorithm) {
    case Algorithm::tree:
      if (version < kNccl2_19) return kTree2_18;
      return version < kNccl2_23 ? kTree2_21 : kTree2_23;
    case Algorithm::ring:
      return kRing;
    case Algorithm::collnet_direct:
      return version < kNccl2_19 ? kCollNetDirect2_18 : kCollNetDirect;
    case Algorithm::collnet_chain:
      return version < kNccl2_19 ? kCollNetChain2_18 : kCollNetChain;
    case Algorithm::nvls:
      if (version < kNccl2_19) return kNvls2_18;
      return version < kNccl2_21 ? kNvls2_19 : kNvls;
    case Algorithm::nvls_tree:
      if (version < kNccl2_19) return kNvlsTree2_18;
      if (version < kNccl2_21) return kNvlsTree2_19;
      return version < kNccl2_28 ? kNvlsTree : kNvlsTree2_28;
    case Algorithm::pat:
      return kPat;
  }
  return kRing;
}

/// What Tree reaches of its bandwidth at messages of 64 * 2^i bytes; from 2^23 on all of it.
inline constexpr int kTreeCorrections = 23;
/// NVLSTree from 2.29 on, on Blackwell with x86 hosts takes those of Tree, one more of them.
inline constexpr int kNvlsTreeCorrections = 24;
inline constexpr ByProtocol<std::array<float, kNvlsTreeCorrections>> kTreeCorrection = {{
    {1.0F, 1.0F, 1.0F, 1.0F, .9F, .8F, .7F, .7F,  .7F,  .7F,  .6F,  .5F,
     .4F,  .4F,  .5F,  .6F,  .7F, .8F, .9F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F},
    {1.0F, 1.0F, 1.0F, 1.0F, 1.0F, .9F, .8F, .8F, .8F, .7F,  .6F,  .6F,
     .6F,  .6F,  .6F,  .6F,  .8F,  .9F, .9F, .9F, .9F, 1.0F, 1.0F, 1.0F},
    {.9F, .9F, .9F, .9F, .9F, .9F, .9F, .8F, .7F, .6F, .6F, .5F,
     .5F, .5F, .5F, .6F, .7F, .8F, .7F, .7F, .8F, .9F, .9F, .9F},
}};

}  // namespace fabricast::tuner_tables
