// Goal: bytes take the way that NCCL's transports give them: NVLink in a node, the NIC's own PCIe
// switch with GPUDirect, host memory without it or with LL, a neighbour's memory with PXN.
// Method: on the presets, the links of each way by name, in order; then for every pair of GPUs,
// NICs and protocols that the ways are unbroken chains from GPU to slots and from there to the
// receiver.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/io/topologies/load.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/call/transport.hpp"

using namespace fabricast;

namespace {

using Names = std::vector<std::string>;

/// "node0: gpu3 -> pcisw3", ...
Names names(const Cluster& cluster, const std::vector<LinkId>& links) {
  Names out;
  for (const LinkId link : links) {
    const std::string name = cluster.link_name(link);
    out.push_back(name.substr(0, name.find(" (")));
  }
  return out;
}

Cluster preset(const std::string& name, int nodes) {
  return load_cluster({name, nodes, ""}, load_catalogue());
}

Transport way(const Cluster& cluster, Protocol protocol, Endpoint from, Endpoint to) {
  const Members all = Members::first(1, static_cast<int>(cluster.node().gpus().size()));
  return plan_transport(cluster, all.gpus(), protocol, from, to);
}

}  // namespace

TEST_CASE("inside a node: NVLink through the switch, whatever the protocol") {
  const Cluster cluster = preset("dgx-h100", 2);
  for (const Protocol protocol : kAllProtocols) {
    const Transport got = way(cluster, protocol, {1, 2, -1}, {1, 7, -1});
    CHECK(got.kind == HopKind::nvlink);
    CHECK(names(cluster, got.into_slots) ==
          Names{"node1: gpu2 -> nvswitch", "node1: nvswitch -> gpu7"});
    CHECK(got.network.empty());
  }
}

TEST_CASE("inside a node without NVLink: PCIe through the CPU") {
  const Cluster cluster = preset("pcie-2gpu", 1);
  const Transport got = way(cluster, Protocol::simple, {0, 0, -1}, {0, 1, -1});
  CHECK(got.kind == HopKind::pcie);
  // From one root port to another: gpu0's limits.
  CHECK(names(cluster, got.into_slots) ==
        Names{"node0: gpu0 -> cpu0", "node0: cpu0 -> cpu0", "node0: cpu0 -> gpu1"});
  CHECK(got.network.empty());
}

TEST_CASE("GPUDirect: from the GPU's memory through its own switch, NIC to NIC, and so up again") {
  const Cluster cluster = preset("dgx-h100", 2);
  for (const Protocol protocol : {Protocol::simple, Protocol::ll128}) {
    const Transport got = way(cluster, protocol, {0, 2, 2}, {1, 2, 2});
    CHECK(got.kind == HopKind::net);
    CHECK(got.proxy_gpu == 2);
    CHECK(got.into_slots.empty());  // slots in its own memory
    CHECK(names(cluster, got.network) ==
          Names{"node0: gpu2 -> pcisw2", "node0: pcisw2 -> mlx5_4", "node0: mlx5_4 -> leaf2.0",
                "leaf2.0 -> node1: mlx5_4", "node1: mlx5_4 -> pcisw2", "node1: pcisw2 -> gpu2"});
    // GPU to its socket: nothing of its own, then one PCIe switch of 115 ns; at both ends.
    CHECK(got.sender_flag == nanoseconds(115));
    CHECK(got.receiver_flag == nanoseconds(115));
  }
}

TEST_CASE("LL goes through pinned host memory at both ends, GPUDirect or not") {
  const Cluster cluster = preset("dgx-h100", 2);
  const Transport got = way(cluster, Protocol::ll, {0, 5, 5}, {1, 5, 5});
  CHECK(got.proxy_gpu == 5);
  CHECK(names(cluster, got.into_slots) == Names{"node0: gpu5 -> pcisw5", "node0: pcisw5 -> cpu1"});
  CHECK(names(cluster, got.network) == Names{"node0: cpu1 -> pcisw5", "node0: pcisw5 -> mlx5_9",
                                             "node0: mlx5_9 -> leaf5.0", "leaf5.0 -> node1: mlx5_9",
                                             "node1: mlx5_9 -> pcisw5", "node1: pcisw5 -> cpu1",
                                             "node1: cpu1 -> pcisw5", "node1: pcisw5 -> gpu5"});
}

TEST_CASE("PXN: a far GPU sends from the memory of the one beside the NIC; nobody receives so") {
  // hgx-h200-2nic: both NICs hang beside GPU 3, GPU 4 on the other socket.
  const Cluster cluster = preset("hgx-h200-2nic", 2);
  const Transport got = way(cluster, Protocol::simple, {0, 4, 1}, {1, 4, 1});
  CHECK(got.proxy_gpu == 3);
  CHECK(names(cluster, got.into_slots) ==
        Names{"node0: gpu4 -> nvswitch", "node0: nvswitch -> gpu3"});
  // The receiver is too far for GPUDirect: the NIC writes to the memory of the receiver's CPU.
  CHECK(names(cluster, got.network) ==
        Names{"node0: gpu3 -> pcisw3", "node0: pcisw3 -> mlx5_1", "node0: mlx5_1 -> leaf1.0",
              "leaf1.0 -> node1: mlx5_1", "node1: mlx5_1 -> pcisw3", "node1: pcisw3 -> cpu0",
              "node1: cpu0 -> cpu1", "node1: cpu1 -> cpu1", "node1: cpu1 -> cpu1",
              "node1: cpu1 -> pcisw4", "node1: pcisw4 -> gpu4"});
  // Flags: from GPU 4 over its switch (115 ns) and the sockets (root complex 200 + 120 ns) to the
  // memory of GPU 3's proxy; at the receiver to the memory of its own CPU.
  CHECK(got.sender_flag == nanoseconds(115 + 320));
  CHECK(got.receiver_flag == nanoseconds(115));
}

TEST_CASE("PXN with LL: the proxy is the neighbour's, its host memory the bounce buffer") {
  const Cluster cluster = preset("hgx-h200-2nic", 2);
  const Transport got = way(cluster, Protocol::ll, {0, 4, 1}, {1, 3, 1});
  CHECK(got.proxy_gpu == 3);
  CHECK(names(cluster, got.into_slots) ==
        Names{"node0: gpu4 -> pcisw4", "node0: pcisw4 -> cpu1", "node0: cpu1 -> cpu0"});
  CHECK(names(cluster, got.network) == Names{"node0: cpu0 -> pcisw3", "node0: pcisw3 -> mlx5_1",
                                             "node0: mlx5_1 -> leaf1.0", "leaf1.0 -> node1: mlx5_1",
                                             "node1: mlx5_1 -> pcisw3", "node1: pcisw3 -> cpu0",
                                             "node1: cpu0 -> pcisw3", "node1: pcisw3 -> gpu3"});
}

TEST_CASE("PXN needs the neighbour in the communicator, else host memory it is") {
  // NCCL's topology holds the communicator's GPUs only: with two per node, GPU 3 is none of them.
  const Cluster cluster = preset("hgx-h200-2nic", 2);
  const Transport got =
      plan_transport(cluster, Members::first(1, 2).gpus(), Protocol::simple, {0, 1, 0}, {1, 0, 0});
  CHECK(got.proxy_gpu == 1);
  // The buffer's memory counts where it is written, and again with GPU 0's loads at the receiver.
  CHECK(names(cluster, got.into_slots) ==
        Names{"node0: gpu1 -> pcisw1", "node0: pcisw1 -> cpu0", "node0: cpu0 -> cpu0"});
  CHECK(names(cluster, got.network) == Names{"node0: cpu0 -> pcisw3", "node0: pcisw3 -> mlx5_0",
                                             "node0: mlx5_0 -> leaf0.0", "leaf0.0 -> node1: mlx5_0",
                                             "node1: mlx5_0 -> pcisw3", "node1: pcisw3 -> cpu0",
                                             "node1: cpu0 -> cpu0", "node1: cpu0 -> cpu0",
                                             "node1: cpu0 -> pcisw0", "node1: pcisw0 -> gpu0"});
  CHECK(plan_transport(cluster, Members::first(1, 4).gpus(), Protocol::simple, {0, 1, 0}, {1, 0, 0})
            .proxy_gpu == 3);
}

TEST_CASE("one NIC per socket: PXN goes to the GPU beside the channel's NIC") {
  const Cluster cluster = preset("hgx-h200-2nic-split", 2);
  CHECK(way(cluster, Protocol::simple, {0, 0, 0}, {1, 3, 0}).proxy_gpu == 3);
  CHECK(way(cluster, Protocol::simple, {0, 0, 1}, {1, 4, 1}).proxy_gpu == 4);
  // GPU 4 beside its NIC needs nobody; across the fabric to GPU 3 its bytes change rails.
  const Transport got = way(cluster, Protocol::simple, {0, 4, 1}, {1, 3, 0});
  CHECK(got.proxy_gpu == 4);
  CHECK(got.into_slots.empty());
  const Names network = names(cluster, got.network);
  REQUIRE(network.size() == 8);
  CHECK(network[0] == "node0: gpu4 -> pcisw4");
  CHECK(network[2] == "node0: mlx5_1 -> leaf1.0");
  CHECK(network[3].starts_with("leaf1.0 -> spine"));
  CHECK(network[5] == "leaf0.0 -> node1: mlx5_0");
  CHECK(network[7] == "node1: pcisw3 -> gpu3");
}

TEST_CASE("no GPUDirect on either side: through the CPU, whatever the protocol") {
  const Cluster cluster = preset("pcie-2gpu", 2);
  for (const Protocol protocol : kAllProtocols) {
    const Transport got = way(cluster, protocol, {0, 1, 0}, {1, 0, 0});
    CHECK(got.proxy_gpu == 1);
    const bool bulk = protocol != Protocol::ll;  // LL loads no memory
    Names near = {"node0: gpu1 -> cpu0"};
    Names far = {"node0: cpu0 -> mlx5_0", "node0: mlx5_0 -> leaf0.0", "leaf0.0 -> node1: mlx5_0",
                 "node1: mlx5_0 -> cpu0"};
    if (bulk) near.push_back("node0: cpu0 -> cpu0");
    if (bulk) far.insert(far.end(), 2, "node1: cpu0 -> cpu0");
    far.push_back("node1: cpu0 -> gpu0");
    CHECK(names(cluster, got.into_slots) == near);
    CHECK(names(cluster, got.network) == far);
    CHECK(got.sender_flag == Duration{});  // the GPU sits on the root complex
  }
}

namespace {

/// The name without its node, "" for switches of the fabric.
struct End {
  std::string node, device;

  bool operator==(const End&) const = default;
};

End end_of(const std::string& text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 2)};
}

/// Follows the links by name from `at`; where the chain ends, or "broken".
End follow(const Cluster& cluster, const std::vector<LinkId>& links, End at) {
  for (const std::string& name : names(cluster, links)) {
    const std::size_t arrow = name.find(" -> ");
    const End from = end_of(name.substr(0, arrow));
    End to = end_of(name.substr(arrow + 4));
    if (to.node.empty() && !to.device.starts_with("leaf") && !to.device.starts_with("spine"))
      to.node = from.node;  // within a node only the first end names it
    if (!(from == at)) return {"broken", name};
    at = to;
  }
  return at;
}

}  // namespace

TEST_CASE("every way is a chain: GPU to slots, slots to the receiver") {
  for (const std::string& name : preset_names()) {
    CAPTURE(name);
    const Cluster cluster = preset(name, 3);
    const NodeGraph& node = cluster.node();
    const auto gpus = static_cast<int>(node.gpus().size());
    const auto nics = static_cast<int>(node.nics().size());
    const auto gpu = [&](int of_node, int g) {
      const VertexId vertex = node.gpus()[static_cast<std::size_t>(g)].vertex;
      return End{"node" + std::to_string(of_node), node.vertex(vertex).name};
    };
    for (const Protocol protocol : kAllProtocols) {
      for (int a = 0; a < gpus; ++a) {
        for (int b = 0; b < gpus; ++b) {
          if (a != b) {
            const Transport near = way(cluster, protocol, {1, a, -1}, {1, b, -1});
            CHECK(follow(cluster, near.into_slots, gpu(1, a)) == gpu(1, b));
          }
          const int out_nic = (a + b) % nics, in_nic = b % nics;
          const Transport far = way(cluster, protocol, {2, a, out_nic}, {0, b, in_nic});
          const End slots = follow(cluster, far.into_slots, gpu(2, a));
          CHECK(slots.node == "node2");
          CHECK(follow(cluster, far.network, slots) == gpu(0, b));
          // Slots: in the memory of the proxy's GPU or of a CPU.
          CHECK((slots == gpu(2, far.proxy_gpu) || slots.device.starts_with("cpu")));
        }
      }
    }
  }
}

namespace {

Transport way(const Cluster& cluster, Endpoint from, Endpoint to, const char* variable) {
  Environment environment;
  environment.set(variable);
  std::vector<std::string> warnings;
  const TransportRules rules =
      transport_rules(read_search_settings(environment, kNccl2_21_5, warnings), kNccl2_21_5);
  const Members all = Members::first(1, static_cast<int>(cluster.node().gpus().size()));
  return plan_transport(cluster, all.gpus(), Protocol::simple, from, to, rules);
}

}  // namespace

TEST_CASE("the environment moves the ways: GPUDirect, PXN and P2P off, or allowed farther") {
  const Cluster dgx = preset("dgx-h100", 2);
  CHECK(way(dgx, Protocol::simple, {0, 2, 2}, {1, 2, 2}).into_slots.empty());
  // Without GPUDirect through host memory; reads only concern the sender.
  const Transport no_gdr = way(dgx, {0, 2, 2}, {1, 2, 2}, "NCCL_NET_GDR_LEVEL=LOC");
  CHECK(names(dgx, no_gdr.into_slots) ==
        Names{"node0: gpu2 -> pcisw2", "node0: pcisw2 -> cpu0", "node0: cpu0 -> cpu0"});
  CHECK(names(dgx, no_gdr.network).back() == "node1: pcisw2 -> gpu2");
  CHECK(no_gdr.network.size() == 10);
  CHECK_FALSE(no_gdr.receives_gdr);
  for (const Protocol protocol : kAllProtocols)
    CHECK(way(dgx, protocol, {0, 2, 2}, {1, 2, 2}).receives_gdr);
  const Transport no_read = way(dgx, {0, 2, 2}, {1, 2, 2}, "NCCL_NET_GDR_READ=0");
  CHECK(no_read.into_slots == no_gdr.into_slots);
  CHECK(no_read.network.size() == 6);
  // Without PXN the far GPU's own proxy sends, from host memory.
  CHECK(way(dgx, Protocol::simple, {0, 2, 5}, {1, 5, 5}).proxy_gpu == 5);
  CHECK(way(dgx, {0, 2, 5}, {1, 5, 5}, "NCCL_PXN_DISABLE=1").proxy_gpu == 2);
  // Without P2P through the receiver's host memory.
  const Transport no_p2p = way(dgx, {0, 0, -1}, {0, 1, -1}, "NCCL_P2P_DISABLE=1");
  CHECK(no_p2p.kind == HopKind::shm);
  CHECK(names(dgx, no_p2p.into_slots) == Names{"node0: gpu0 -> pcisw0", "node0: pcisw0 -> cpu0",
                                               "node0: cpu0 -> cpu0", "node0: cpu0 -> cpu0",
                                               "node0: cpu0 -> pcisw1", "node0: pcisw1 -> gpu1"});
  CHECK(way(dgx, {0, 0, -1}, {0, 1, -1}, "NCCL_P2P_LEVEL=NVL").kind == HopKind::nvlink);
  CHECK(way(dgx, {0, 0, -1}, {0, 1, -1}, "NCCL_P2P_DISABLE=true").kind == HopKind::nvlink);
}
