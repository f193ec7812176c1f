#include "models/nccl/schedules/post_costs.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {
namespace {

/// The rate of doing both one after the other; 0 = takes no time.
Bandwidth in_turn(Bandwidth a, Bandwidth b) {
  if (a.bytes_per_s == 0) return b;
  if (b.bytes_per_s == 0) return a;
  const auto x = static_cast<double>(a.bytes_per_s), y = static_cast<double>(b.bytes_per_s);
  return {std::llround(x * y / (x + y))};
}

/// Of the threads that copy, at either end.
PostCost copying(const NetworkCosts& costs, const NetworkSettings& network) {
  PostCost out;
  out.post = costs.post;
  out.rate = costs.copy_rate;
  if (copies_alone(network)) out.hands = network.sockets.threads;
  out.piece = costs.task_min;
  return out;
}

/// A host that matches messages copies them from its memory to the GPU's: up to this size by
/// GDRCopy, above by the driver.
Bytes gdrcopy_up_to(const NetworkCosts& costs, const NetworkSettings& network) {
  return network.copies_by_driver ? Bytes{} : network.safe_copy.value_or(costs.safe_copy);
}

void add_copies_into_gpu(PostCost& out, const NetworkCosts& costs, const NetworkSettings& network) {
  out.copied = gdrcopy_up_to(costs, network);
  out.copied_post = costs.driver_copy;
  if (network.copies_by_driver) {
    out.large_post += costs.driver_copy;  // of the bytes that come with the request
  } else {
    out.near_copy = costs.gdrcopy_rate;
  }
}

/// As libfabric makes it (prov/cxi/src: cxip_info.c raises the threshold to what fits a command of
/// the NIC, cxip_txc.c adds what a Get fetches at least).
Bytes rendezvous_above(const NetworkCosts& costs, const NetworkSettings& network) {
  if (costs.rendezvous_threshold.count == 0) return {};
  const Bytes threshold = network.rendezvous_threshold.value_or(costs.rendezvous_threshold);
  const Bytes get_min = network.rendezvous_get_min.value_or(costs.rendezvous_get_min);
  return {std::max(threshold.count, costs.inject_max.count) + get_min.count};
}

}  // namespace

NetworkCosts network_costs(const SoftwareCosts& software, const NodeGraph& node, NetKind kind) {
  NetworkCosts out = software.network[static_cast<std::size_t>(kind)];
  const Bandwidth by_cpu = node.ll_check_rate();
  if (by_cpu.bytes_per_s > 0) out.ll_check_rate = by_cpu;
  return out;
}

PostCost post_cost(const NetworkCosts& costs, const NetworkSettings& network, Protocol protocol,
                   bool into_gpu) {
  PostCost out = copying(costs, network);
  out.post += costs.piece_post * (network.pieces - 1);
  if (protocol == Protocol::ll) out.rate = in_turn(costs.ll_check_rate, out.rate);
  // Helpers sleep when they have nothing to do, at either end (NCCL 2.18 to 2.30,
  // transport/net_socket.cc, persistentSocketThread): a message comes so much later, but others
  // are on their way meanwhile.
  if (copies_alone(network)) out.each_delay = costs.helper_wake * 2;
  out.large = rendezvous_above(costs, network);
  out.large_post = costs.rendezvous_post;
  // LL is sent from host memory.
  if (network.injects && network.copies_by_driver && protocol != Protocol::ll) {
    out.tiny = costs.inject_max;
    out.tiny_post = costs.inject_copy;
  }
  if (network.matches_in_software && into_gpu) {
    if (passes_receiver(costs, network, protocol, into_gpu)) {
      out.copied = gdrcopy_up_to(costs, network);
      out.copied_receipt = costs.sent_ll;
    } else {
      add_copies_into_gpu(out, costs, network);
    }
  }
  out.large_delay = costs.rendezvous_latency;
  // Only Simple is flushed (NCCL 2.18 to 2.30, transport/net.cc, recvProxyProgress), by a read that
  // the proxy posts as it posts a message.
  if (protocol == Protocol::simple) {
    out.receipt = costs.post;
    out.large_receipt = costs.post + costs.rendezvous_post;
  }
  return out;
}

PostCost receipt_cost(const NetworkCosts& costs, const NetworkSettings& network,
                      Protocol protocol) {
  PostCost out = copying(costs, network);
  if (network.matches_in_software && protocol == Protocol::ll) {
    out.large = rendezvous_above(costs, network);
    add_copies_into_gpu(out, costs, network);
  }
  // A size goes ahead of its bytes, in a system call of its own at either end (NCCL 2.18 to 2.30,
  // transport/net_socket.cc, ncclNetSocketTest): the receiver reads it while the bytes are sent.
  // Not modelled: from 2.27 on up to NCCL_SOCKET_INLINE bytes (128) go in one call with their size.
  if (out.rate.bytes_per_s > 0) out.ahead = {costs.post.ps / 2};
  return out;
}

}  // namespace fabricast
