#include "models/nccl/call/same_run.hpp"

#include <algorithm>
#include <tuple>

namespace fabricast {
namespace {

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

/// What is one number or list.
auto plain(const CollectiveRun& of) {
  const auto& [version, collective, algorithm, protocol, count, element_bytes, root, calls,
               in_place, channels, communicator_channels, threads, buffers, graph, members, heads,
               transport, p2p, traffic, custom, launches_in_a_row, faults] = of;
  return std::tie(version, collective, algorithm, protocol, count, element_bytes, root, calls,
                  in_place, channels, communicator_channels, threads, members, launches_in_a_row);
}

bool is_looked_at(const CollectiveRun& run) {
  return run.has_algorithm() && run.custom == nullptr && run.faults.gpus.empty() &&
         run.faults.outages.empty();
}

}  // namespace

bool is_same_work(const CollectiveRun& a, const CollectiveRun& b) {
  return is_looked_at(a) && is_looked_at(b) && plain(a) == plain(b) &&
         a.buffers.of(a.protocol) == b.buffers.of(b.protocol) && is_same(a.graph, b.graph) &&
         is_same(a.heads, b.heads) && is_same(a.transport, b.transport);
}

}  // namespace fabricast
