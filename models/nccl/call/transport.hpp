#pragma once
// How the bytes of a channel get from one rank to the next: over NVLink, over PCIe, or through the
// network by a proxy (src/transport/{p2p,shm,net}.cc). Says which links they cross, nothing of
// time.

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/environment/search_settings.hpp"
#include "models/nccl/node/network.hpp"

namespace fabricast {

/// A GPU of the cluster and the NIC its channel uses there (ignored inside a node).
struct Endpoint {
  int node = 0;
  int gpu = 0;
  int nic = 0;

  bool operator==(const Endpoint&) const = default;
};

/// From where the proxy sends through two NICs to where the receiver reads.
struct NicRoute {
  int from_nic = 0, to_nic = 0;
  std::vector<LinkId> links;

  bool operator==(const NicRoute&) const = default;
};

struct Transport {
  HopKind kind{};
  /// What the sending GPU's stores cross into the slots: the peer's memory, or, for the network,
  /// the memory from which the proxy sends (the GPU's own: nothing to cross).
  std::vector<LinkId> into_slots;
  /// Network only: from there through both NICs to where the receiver reads.
  std::vector<LinkId> network;
  /// Network only: where NICs are fused, the ways of the other pieces, the first of which takes
  /// `network`.
  std::vector<NicRoute> beside;
  /// Network only: GPU whose process' proxy thread sends (PXN: the one next to the NIC).
  int proxy_gpu = 0;
  bool receives_gdr = false;  ///< network only: into the receiving GPU's memory, of LL, too
  /// Network only: flags between a GPU and its proxy lie in host memory; one way, at either end.
  Duration sender_flag, receiver_flag;
  /// Network only: what the NIC wrote to the GPU is flushed by a read before the GPU may see it.
  Duration flush;

  bool operator==(const Transport&) const = default;
};

/// Ways of pieces of one message as one path: what all have in common at either end carries all,
/// between stand their links side by side.
std::vector<std::uint32_t> side_by_side(const std::vector<std::vector<std::uint32_t>>& routes);

/// Which GPUs of a node have blocks that send and receive, and to whom.
struct GpuTraffic {
  /// `trees`: both ways, each by threads of its own.
  enum class Kind : std::uint8_t { one_way, rings, both_ways, trees };
  /// A step of a channel's ring, by GPU of the node; `other_node` at one end: by this NIC.
  struct Step {
    int channel = 0, from = 0, to = 0, nic = 0;
    bool operator==(const Step&) const = default;
  };
  static constexpr int other_node = -1;
  Kind kind = Kind::one_way;
  std::vector<Step> rings = {};

  bool operator==(const GpuTraffic&) const = default;
};

/// What the environment says of the ways; as it is when nothing is set.
struct TransportRules {
  PathType gdr_level = PathType::pxb;  ///< NCCL_NET_GDR_LEVEL: farthest NIC with GPUDirect RDMA
  /// How far NCCL takes a NIC behind the CPU that a GPU has NVLink-C2C to.
  PathType c2c_nic = PathType::phb;
  bool pxn_c2c = false;               ///< NCCL_PXN_C2C: others may send through that GPU
  std::optional<bool> gdr_read;       ///< NCCL_NET_GDR_READ: GPUDirect for what is sent
  bool pxn = true;                    ///< NCCL_PXN_DISABLE turns it off
  std::optional<PathType> p2p_level;  ///< NCCL_P2P_LEVEL; LOC with NCCL_P2P_DISABLE
  GpuTraffic traffic =
      {};  ///< what stores to host memory and loads from it at once does both slower
  NetworkSettings network;
  /// By GPU of the node: those with different numbers have neither P2P nor shared memory. Empty:
  /// all have.
  std::vector<int> domain_of = {};
  /// By these numbers, of every NIC of the first group its counterpart in this one. Empty: groups
  /// are joined by the NICs nearest to their GPUs.
  std::vector<std::vector<int>> domain_nics = {};
};
TransportRules transport_rules(const SearchSettings& settings, NcclVersion version);

/// Of sends and receives, and of algorithms other than Ring: one way where the root alone sends or
/// receives, or has one other rank.
GpuTraffic traffic_of(Collective collective, int ranks);
/// Of Ring: its steps on this graph.
GpuTraffic ring_traffic(const ChannelGraph& graph, const Members& members);

/// Inside a node NVLink where there is any, else PCIe; to host memory over NVLink-C2C where a GPU
/// has it; through the receiver's host memory (SHM) where P2P is not allowed so far; through the
/// NICs next to both where neither is. Between nodes: GPUDirect RDMA where NIC and GPU allow it and
/// are at most so far apart as the rules say, else through pinned host memory; LL always through
/// host memory. Where a host falls apart, `nic` is one of its first group. A sender more than
/// several PCIe switches (PXB) away uses PXN when a GPU with NVLink to it stands next to the NIC
/// and is one of `gpus`: those of each node that are in the communicator. `proxy_gpu`: through whom
/// to send is settled already. REQUIRES: two different GPUs. A network hop crosses no link of the
/// fabric where both ends have one NIC: it turns round there.
Transport plan_transport(const Cluster& cluster, std::span<const int> gpus, Protocol protocol,
                         Endpoint from, Endpoint to, const TransportRules& rules = {},
                         std::optional<int> proxy_gpu = std::nullopt);

/// Links of the fabric from the NIC of one node to that of another one.
std::vector<LinkId> fabric_way(const Cluster& cluster, Endpoint from, Endpoint to);

/// plan_transport() for sends and receives. The flags of a proxy that sends for other GPUs lie
/// beside its CPU, and to a GPU beside another one they take longer (0.3 us on two sockets). Every
/// GPU of the node sends through it in turn, so each is taken to be as far from it as they are on
/// average (assumed): then a node's rails are alike, and one of them is simulated.
class MessagePlanner {
 public:
  /// `gpus`: of each node that are in the communicator. All arguments outlive the planner.
  MessagePlanner(const Cluster& cluster, std::span<const int> gpus, const TransportRules& rules)
      : cluster_(cluster), gpus_(gpus), rules_(rules) {}

  Transport plan(Protocol protocol, Endpoint from, Endpoint to, std::optional<int> proxy_gpu) const;

 private:
  Duration flag_to(int relay) const;

  const Cluster& cluster_;
  std::span<const int> gpus_;
  const TransportRules& rules_;
  mutable std::map<int, Duration> flags_;  ///< by relay
};

}  // namespace fabricast
