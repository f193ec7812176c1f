#include "models/nccl/memory/communicator_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "models/nccl/call/connection_ends.hpp"
#include "models/nccl/communicator/p2p_call.hpp"
#include "models/nccl/memory/buffer_count.hpp"
#include "models/nccl/memory/connections.hpp"
#include "models/nccl/sendrecv/p2p_traffic.hpp"
#include "sim/base/add_once.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

using Purpose = MemoryPurpose;
constexpr MemoryPlace kGpu = MemoryPlace::gpu, kHost = MemoryPlace::host;

// What a kernel reads of a peer, and of a communicator with all its channels: several KB at most,
// which whole pages hide. Assumed: above what 2.29 has (src/include/device.h).
constexpr std::int64_t kPeerBytes = 640, kCommunicatorBytes = 64 << 10;
/// What a pool of sends and receives holds per channel: NCCL_SHARED_STEPS (src/transport/net.cc).
constexpr std::int64_t kPoolSlots = 16;
/// The segment in /dev/shm through which a rank's operations get to proxies. Logs of 2.18 to 2.2x
/// say this size ("Error while creating shared memory segment ... (size 33030528)").
constexpr std::int64_t kProxyQueueBytes = 33'030'528;

class Counting {
 public:
  Counting(const Cluster& cluster, const Communicator& communicator, const Environment& environment,
           const CommunicatorUse& use)
      : cluster_(cluster),
        c_(communicator),
        input_(communicator.model.input),
        use_(use),
        rules_(transport_rules(communicator)),
        count_(communicator.ranks, read_memory_settings(environment, communicator.version).cumem) {
    out_.settings = read_memory_settings(environment, c_.version);
    out_.channels = input_.channels.communicator;
    out_.sendrecv_channels = c_.p2p.channels;
    out_.channels_per_peer = c_.p2p.per_peer;
    if (input_.nvls && input_.nvls_graph.channel_count() > 0 && input_.nvls_heads > 0) {
      out_.nvls_heads = input_.nvls_heads;
      out_.nvls_channels = c_.version >= kNccl2_20 && c_.version < kNccl2_22
                               ? out_.channels  // as many as the communicator has
                               : input_.nvls_setup.channels;
    }
    settle_connected();
  }

  CommunicatorMemory all() && {
    add_structures();
    add_nvls();
    add_connections();
    add_collnet();
    if (!out_.settings.lazy) add_pools_of_all();
    add_sends();
    add_host();
    for (int rank = 0; rank < c_.ranks; ++rank) out_.ranks.push_back(count_.of(rank));
    return std::move(out_);
  }

 private:
  using Ends = ConnectionEnds;

  bool connects(Algorithm algorithm) const {
    return std::ranges::find(out_.connected, algorithm) != out_.connected.end();
  }
  bool has_collnet() const { return input_.collnet && c_.nodes > 1; }

  void settle_connected() {
    for (const Algorithm algorithm : use_.algorithms) add_once(out_.connected, algorithm);
    if (!out_.settings.lazy) {
      add_once(out_.connected, Algorithm::ring);
      add_once(out_.connected, Algorithm::tree);
      if (out_.nvls_heads > 0) {
        add_once(out_.connected, Algorithm::nvls);
        if (c_.nodes > 1) add_once(out_.connected, Algorithm::nvls_tree);
      }
      if (has_collnet()) {
        add_once(out_.connected, Algorithm::collnet_direct);
        add_once(out_.connected, Algorithm::collnet_chain);
      }
    }
    std::ranges::sort(out_.connected);
  }

  /// src/channel.cc: three allocations per channel, one more for the heads of NVLS, one for
  /// CollNet; src/init.cc, devCommSetup.
  void add_structures() {
    const int channels = std::max(out_.channels, out_.sendrecv_channels);
    const std::int64_t ranks = c_.ranks, node_ranks = c_.gpus_per_node;
    count_.add_everywhere(Purpose::communicator, kGpu, kCommunicatorBytes);
    count_.add_everywhere(Purpose::channels, kGpu, ranks * kPeerBytes, channels);
    count_.add_everywhere(Purpose::channels, kGpu, (ranks + 1 + node_ranks) * 8, channels);
    count_.add_everywhere(Purpose::channels, kGpu, ranks * 4, channels);
    if (out_.nvls_heads > 0) {
      const int of_nvls = c_.version < kNccl2_20 ? out_.nvls_channels : out_.channels;
      count_.add_everywhere(Purpose::channels, kGpu, node_ranks * kPeerBytes, of_nvls);
    }
    if (has_collnet()) count_.add_everywhere(Purpose::channels, kGpu, kPeerBytes, out_.channels);
  }

  void add_nvls() {
    if (out_.nvls_heads == 0) return;
    const NvlsBytes bytes = nvls_bytes(c_.settings.buffers, input_.nvls_setup.chunk, c_.version);
    const std::int64_t heads = out_.nvls_heads;
    // Of all channels of the communicator, whether or not NVLS uses them.
    count_.add_everywhere(Purpose::nvls_credits, kGpu, bytes.credit * 2 * heads * out_.channels);
    if (connects(Algorithm::nvls) || connects(Algorithm::nvls_tree))
      count_.add_everywhere(Purpose::nvls_buffers, kGpu,
                            bytes.buffer * 2 * heads * out_.nvls_channels);
  }

  void add_connections() {
    for (int channel = 0; channel < out_.channels; ++channel)
      for (const Connection& made : connections_of(c_, out_.connected, channel)) add(made);
  }

  void add(const Connection& made) {
    const int from_node = c_.members.node(made.from);
    Endpoint from{0, c_.members.gpu(made.from), made.from_nic};
    Endpoint to{c_.members.node(made.to) == from_node ? 0 : 1, c_.members.gpu(made.to),
                made.to_nic};
    const Ends& ends = ends_of(from, to);
    const auto [bytes, is_shm] = bytes_of(from.gpu, to.gpu, ends);
    const bool is_net = ends.kind == HopKind::net;
    const int sender = is_net ? c_.members.rank(from_node, ends.proxy_gpu) : made.from;
    count_.add(sender, is_net ? Purpose::net_send : Purpose::p2p_send, kGpu, bytes.send_gpu);
    count_.add(made.to, is_net ? Purpose::net_receive : Purpose::p2p_receive, kGpu,
               bytes.receive_gpu);
    count_.add(sender, is_shm ? Purpose::shm_send : Purpose::net_send_host, kHost, bytes.send_host);
    count_.add(made.to, is_shm ? Purpose::shm_receive : Purpose::net_receive_host, kHost,
               bytes.receive_host);
    if (is_net) uses_proxy_ = true;
  }

  struct Sized {
    ConnectionBytes bytes;
    bool is_shm = false;
  };
  Sized bytes_of(int from_gpu, int to_gpu, const Ends& ends) const {
    const BufferSizes& buffers = c_.settings.buffers;
    switch (ends.kind) {
      case HopKind::shm:
        return {shm_bytes(buffers, out_.settings.sender_holds_shm), true};
      case HopKind::net:
        return {net_bytes(buffers, ends.sends_gdr, ends.receives_gdr)};
      case HopKind::nvlink:
      case HopKind::pcie:
        break;
    }
    return {p2p_bytes(buffers, reads(from_gpu, to_gpu, ends.kind))};
  }
  /// src/graph/paths.cc, ncclTopoCheckP2p.
  bool reads(int from_gpu, int to_gpu, HopKind kind) const {
    if (out_.settings.p2p_read) return *out_.settings.p2p_read;
    const auto sm = [&](int gpu) {
      return cluster_.node().gpus()[static_cast<std::size_t>(gpu)].part.sm;
    };
    return kind == HopKind::nvlink && sm(from_gpu) == 80 && sm(to_gpu) == 80;
  }

  const Ends& ends_of(const Endpoint& from, const Endpoint& to,
                      std::optional<int> proxy_gpu = std::nullopt) {
    const std::tuple key(to.node != from.node, from.gpu, to.gpu, from.nic, to.nic,
                         proxy_gpu.value_or(-1));
    const auto known = ends_.find(key);
    if (known != ends_.end()) return known->second;
    return ends_
        .emplace(key, connection_ends(cluster_, c_.members.gpus(), from, to, rules_, proxy_gpu))
        .first->second;
  }

  /// Heads take part in operations through one pool (src/transport/coll_net.cc, sharedBuffersInit).
  void add_collnet() {
    if (!connects(Algorithm::collnet_direct) && !connects(Algorithm::collnet_chain)) return;
    const std::int64_t bytes = 2 * c_.settings.buffers.simple.count * out_.channels;
    std::set<int> heads;
    for (const GraphChannel& channel : input_.collnet_chain.channels)
      heads.insert(channel.gpu_order.front());
    for (int rank = 0; rank < c_.ranks; ++rank)
      if (heads.contains(rank % c_.gpus_per_node))
        count_.add(rank, Purpose::collnet_pool, kGpu, bytes);
    uses_proxy_ = true;
  }

  std::int64_t pool_bytes() const {
    return kPoolSlots * out_.sendrecv_channels * c_.p2p.chunk.count;
  }

  /// A communicator that connects at once has a pool for its sends, and one at each GPU through
  /// which it sends by PXN, whether or not it is on several nodes.
  void add_pools_of_all() {
    uses_proxy_ = true;
    for (int rank = 0; rank < c_.ranks; ++rank) pools_.insert({rank, rank});
    if (c_.nodes > 1 && c_.joined.empty()) {
      const P2pNics nics(c_.graphs.topology, out_.sendrecv_channels, c_.settings.p2p.pxn_level);
      for (int rank = 0; rank < c_.ranks; ++rank)
        for (int to = 0; to < c_.gpus_per_node; ++to)
          pools_.insert({rank, relay(rank, nics.exit(rank % c_.gpus_per_node, to, 0).proxy_gpu)});
    }
    for (const auto& [of, at] : pools_) count_.add(at, Purpose::sendrecv_pool, kGpu, pool_bytes());
  }
  int relay(int rank, int local) const {
    return rank / c_.gpus_per_node * c_.gpus_per_node + local;
  }

  /// All channels of a pair are connected, however large its messages are.
  void add_sends() {
    if (use_.sends.empty() || c_.ranks == 1) return;
    if (!c_.joined.empty()) {
      throw Error(
          "the GPUs of a host fall apart into groups that NCCL joins by the network; what sends "
          "and "
          "receives between them allocate is not known here",
          "NCCL_NET_DISABLE_INTRA=1 keeps a node together; or leave them out of --collective");
    }
    if (c_.nodes > 1) plan_ = p2p_plan(c_);
    if (std::ranges::find(use_.sends, Collective::alltoall) != use_.sends.end()) {
      for (int rank = 0; rank < c_.ranks; ++rank) {
        for (int peer = 0; peer < c_.gpus_per_node; ++peer)
          add_both(rank, peer, peer != rank % c_.gpus_per_node, c_.nodes - 1);
      }
      return;
    }
    std::set<std::pair<int, int>> done;
    for (const Collective collective : use_.sends) {
      const P2pTraffic traffic(collective, c_.ranks, Bytes{1});
      for (int from = 0; from < c_.ranks; ++from) {
        for (int to = 0; to < c_.ranks; ++to) {
          if (from == to || traffic.bytes(from, to) == P2pTraffic::kNone) continue;
          if (!done.insert({from, to}).second) continue;
          const bool is_near = from / c_.gpus_per_node == to / c_.gpus_per_node;
          add_send(from, to % c_.gpus_per_node, is_near, !is_near);
          add_receive(to, from % c_.gpus_per_node, is_near, !is_near);
        }
      }
    }
  }

  void add_both(int rank, int peer, int near, int far) {
    add_send(rank, peer, near, far);
    add_receive(rank, peer, near, far);
  }

  /// To so many ranks with GPU `peer` of the own node and of others.
  void add_send(int rank, int peer, int near, int far) {
    const int local = rank % c_.gpus_per_node, each = out_.channels_per_peer;
    if (near > 0) {
      const auto [bytes, is_shm] = near_bytes(local, peer);
      count_.add(rank, Purpose::sendrecv_send, kGpu, bytes.send_gpu, each);
      if (is_shm) count_.add(rank, Purpose::shm_send, kHost, bytes.send_host, each);
    }
    if (far == 0) return;
    uses_proxy_ = true;
    const Far& way = far_of(local, peer);
    const int at = relay(rank, way.relays.front().first);
    if (!plan_.shared_buffers) {
      const ConnectionBytes bytes =
          net_bytes(c_.settings.buffers, way.relays.front().second, way.receives_gdr);
      count_.add(at, Purpose::sendrecv_send, kGpu, bytes.send_gpu, each * far);
      count_.add(at, Purpose::sendrecv_host, kHost, bytes.send_host, each * far);
      return;
    }
    count_.add(at, Purpose::sendrecv_host, kHost, far_flags(), each * far);
    for (const auto& [gpu, gdr] : way.relays)
      if (pools_.insert({rank, relay(rank, gpu)}).second)
        count_.add(relay(rank, gpu), Purpose::sendrecv_pool, gdr ? kGpu : kHost, pool_bytes());
  }

  void add_receive(int rank, int peer, int near, int far) {
    const int local = rank % c_.gpus_per_node, each = out_.channels_per_peer;
    if (near > 0) {
      const auto [bytes, is_shm] = near_bytes(peer, local);
      count_.add(rank, Purpose::sendrecv_receive, kGpu, bytes.receive_gpu, each);
      if (is_shm) count_.add(rank, Purpose::shm_receive, kHost, bytes.receive_host, each);
    }
    if (far == 0) return;
    uses_proxy_ = true;
    const Far& way = far_of(peer, local);
    if (!plan_.shared_buffers) {
      const ConnectionBytes bytes =
          net_bytes(c_.settings.buffers, way.relays.front().second, way.receives_gdr);
      count_.add(rank, Purpose::sendrecv_receive, kGpu, bytes.receive_gpu, each * far);
      count_.add(rank, Purpose::sendrecv_host, kHost, bytes.receive_host, each * far);
      return;
    }
    count_.add(rank, Purpose::sendrecv_host, kHost, far_flags(), each * far);
    if (entered_.insert(rank).second)
      count_.add(rank, Purpose::sendrecv_pool, way.receives_gdr ? kGpu : kHost, pool_bytes());
  }

  Sized near_bytes(int from, int to) {
    const Endpoint a{0, gpu(from), 0}, b{0, gpu(to), 0};
    return bytes_of(a.gpu, b.gpu, ends_of(a, b));
  }
  std::int64_t far_flags() const {
    return 2 * kFlagBytes + (plan_.rules.ll_over_net ? c_.settings.buffers.ll.count : 0);
  }
  int gpu(int local) const { return c_.members.gpus()[static_cast<std::size_t>(local)]; }

  /// From a GPU to one of another node. Which of its channels a pair takes is left open: all of
  /// them stand for these.
  struct Far {
    std::vector<std::pair<int, bool>> relays;  ///< local ranks that send, and whether by GPUDirect
    bool receives_gdr = false;
  };
  const Far& far_of(int from, int to) {
    const auto [known, is_new] = far_.try_emplace({from, to});
    if (!is_new) return known->second;
    for (int channel = 0; channel < out_.sendrecv_channels; ++channel) {
      const P2pExit exit = plan_.nics.exit(from, to, channel);
      const Ends& ends = ends_of({0, gpu(from), exit.nic},
                                 {1, gpu(to), plan_.nics.entry(to, channel)}, gpu(exit.proxy_gpu));
      add_once(known->second.relays, std::pair(exit.proxy_gpu, ends.sends_gdr));
      known->second.receives_gdr = ends.receives_gdr;
    }
    return known->second;
  }

  void add_host() {
    count_.add_everywhere(Purpose::work_queue, out_.settings.work_fifo_on_gpu ? kGpu : kHost,
                          out_.settings.work_fifo);
    if (uses_proxy_) count_.add_everywhere(Purpose::proxy_queue, kHost, kProxyQueueBytes);
  }

  const Cluster& cluster_;
  const Communicator& c_;
  const TunerInput& input_;
  const CommunicatorUse& use_;
  TransportRules rules_;
  BufferCount count_;
  CommunicatorMemory out_;
  bool uses_proxy_ = false;
  std::map<std::tuple<bool, int, int, int, int, int>, Ends> ends_;
  std::set<std::pair<int, int>> pools_;  ///< of a rank's sends, at a rank
  std::set<int> entered_;                ///< ranks with a pool for what they receive
  P2pPlan plan_;
  std::map<std::pair<int, int>, Far> far_;
};

}  // namespace

std::int64_t RankMemory::bytes(MemoryPlace place) const {
  std::int64_t sum = 0;
  for (const MemoryRow& row : rows)
    if (row.place == place) sum += row.bytes;
  return sum;
}

int CommunicatorMemory::fullest() const {
  const auto most =
      std::ranges::max_element(ranks, {}, [](const RankMemory& rank) { return rank.bytes(kGpu); });
  return static_cast<int>(most - ranks.begin());
}

CommunicatorMemory communicator_memory(const Cluster& cluster, const Communicator& communicator,
                                       const Environment& environment, const CommunicatorUse& use) {
  if (communicator.ranks > kMemoryRanksMax) {
    throw Error(fmt::format("a communicator of {} ranks: memory is counted for up to {}",
                            communicator.ranks, kMemoryRanksMax),
                "from some nodes on a rank takes the same: ask for fewer");
  }
  return Counting(cluster, communicator, environment, use).all();
}

}  // namespace fabricast
