#include "models/nccl/call/same_run.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "models/nccl/sendrecv/p2p_rounds.hpp"

namespace fabricast {
namespace {

/// Releases that do decided work otherwise than those before them: what they decide otherwise is in
/// the run itself. Of sends and receives: src/enqueue.cc and src/device/sendrecv.h, as p2p_rounds,
/// p2p_message and p2p_schedule have them.
constexpr std::array kOfAlgorithms = {kNccl2_20, kNccl2_21, kNccl2_22, kNccl2_23,
                                      kNccl2_24, kNccl2_26, kNccl2_29};
constexpr std::array kOfMessages = {kNccl2_22, kMirroredBase, kGroupedRanks, kNccl2_29};

template <std::size_t kCount>
bool is_same_era(const std::array<NcclVersion, kCount>& eras, NcclVersion a, NcclVersion b) {
  const auto era = [&](NcclVersion version) {
    return std::ranges::upper_bound(eras, version) - eras.begin();
  };
  return era(a) == era(b);
}

// Each takes its parts by name, so that a new part does not compile before it is looked at here.

bool is_same(const GraphChannel& a, const GraphChannel& b) {
  const auto tied = [](const GraphChannel& of) {
    const auto& [order, in, out] = of;
    return std::tie(order, in, out);
  };
  return tied(a) == tied(b);
}

/// What the search says of speeds and paths has led to the channels, and acts no more.
bool is_same(const ChannelGraph& a, const ChannelGraph& b) {
  return a.pattern == b.pattern && a.cross_nic == b.cross_nic &&
         a.same_channels == b.same_channels &&
         std::ranges::equal(
             a.channels, b.channels,
             [](const GraphChannel& x, const GraphChannel& y) { return is_same(x, y); });
}

bool is_same(const HeadRules& a, const HeadRules& b) {
  const auto tied = [](const HeadRules& of) {
    const auto& [heads, chunk, tree_chunk] = of;
    return std::tie(heads, chunk, tree_chunk);
  };
  return tied(a) == tied(b);
}

bool is_same(const TransportRules& a, const TransportRules& b) {
  const auto tied = [](const TransportRules& of) {
    const auto& [gdr, c2c, pxn_c2c, gdr_read, pxn, p2p, traffic, network, domain_of, domain_nics] =
        of;
    return std::tie(gdr, c2c, pxn_c2c, gdr_read, pxn, p2p, traffic, network, domain_of,
                    domain_nics);
  };
  return tied(a) == tied(b);
}

bool is_same(const P2pRules& a, const P2pRules& b) {
  const auto tied = [](const P2pRules& of) {
    const auto& [version, several_nodes, ranks, channels, ll_threshold, ll_over_net, buffers] = of;
    return std::tie(several_nodes, ranks, channels, ll_threshold, ll_over_net);
  };
  return is_same_era(kOfMessages, a.version, b.version) && tied(a) == tied(b) &&
         a.buffers.ll == b.buffers.ll;  // that of Simple has led to the chunk
}

bool is_same(const P2pPlan& a, const P2pPlan& b) {
  const auto tied = [](const P2pPlan& of) {
    const auto& [rules, nics, group_size, shared_buffers] = of;
    return std::tie(nics, group_size, shared_buffers);
  };
  return is_same(a.rules, b.rules) && tied(a) == tied(b);
}

/// What is one number or list, the count aside.
auto plain(const CollectiveRun& of) {
  const auto& [version, collective, algorithm, protocol, count, element_bytes, root, calls,
               in_place, channels, communicator_channels, threads, buffers, graph, members, heads,
               transport, p2p, traffic, custom, launches_in_a_row, faults] = of;
  return std::tie(collective, element_bytes, root, calls, in_place, protocol, channels, members,
                  launches_in_a_row);
}

/// And of what the tuner says.
bool is_same_choice(const CollectiveRun& a, const CollectiveRun& b) {
  const auto tied = [](const CollectiveRun& of) {
    return std::tie(of.algorithm, of.communicator_channels, of.threads);
  };
  return is_same_era(kOfAlgorithms, a.version, b.version) && tied(a) == tied(b) &&
         a.buffers.of(a.protocol) == b.buffers.of(b.protocol) && is_same(a.graph, b.graph) &&
         is_same(a.heads, b.heads);
}

bool is_looked_at(const CollectiveRun& run) {
  return run.custom == nullptr && run.traffic == nullptr && run.faults.gpus.empty() &&
         run.faults.outages.empty();
}

}  // namespace

bool is_same_work(const CollectiveRun& a, const CollectiveRun& b) {
  return a.count == b.count && is_same_but_for_size(a, b);
}

bool is_same_but_for_size(const CollectiveRun& a, const CollectiveRun& b) {
  return is_looked_at(a) && is_looked_at(b) && plain(a) == plain(b) &&
         is_same(a.transport, b.transport) &&
         (a.has_algorithm() ? is_same_choice(a, b) : is_same(a.p2p, b.p2p));
}

}  // namespace fabricast
