// Goal: `fabricast topo` prints what a person or a script expects from the real tools.
// Method: whole lines compared; tabs where nvidia-smi writes tabs.

#include <doctest/doctest.h>

#include "models/io/topo_views/topo_text.hpp"
#include "models/io/topologies/load.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

Cluster cluster_of(const std::string& preset, int nodes) {
  return load_cluster({preset, nodes, ""}, load_catalogue());
}

}  // namespace

TEST_CASE("CPU masks become ranges of cores") {
  CHECK(core_ranges("00000000,00ffffff") == "0-23");
  CHECK(core_ranges("00ffffff,00000000") == "32-55");
  CHECK(core_ranges("00fffc00,0fffc000,000003ff,f0003fff") == "0-13,28-41,78-91,106-119");
  CHECK(core_ranges("5") == "0,2");
  CHECK(core_ranges("80000000,80000001") == "0,31,63");
  CHECK(core_ranges("0").empty());
}

TEST_CASE("the matrix of nvidia-smi topo -m") {
  CHECK(topo_matrix(cluster_of("pcie-2gpu", 1).node()) ==
        "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tNODE\tNODE\t0-15\t0\t\tN/A\n"
        "GPU1\tNODE\t X \tNODE\t0-15\t0\t\tN/A\n"
        "NIC0\tNODE\tNODE\t X \t\t\t\t\n"
        R"(
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0

)");
  const std::string h100 = topo_matrix(cluster_of("dgx-h100", 1).node());
  CHECK(
      h100.find("\nGPU5\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tSYS\tSYS\tSYS\tSYS\tNODE\t"
                "PIX\tNODE\tNODE\t32-55\t1\t\tN/A\n") != std::string::npos);
  CHECK(h100.find("\n  NIC5: mlx5_9\n") != std::string::npos);
}

TEST_CASE("the tree shows each device with its part and its links") {
  CHECK(topo_tree(cluster_of("pcie-2gpu", 2)) ==
        R"(pcie-2gpu: Workstation: 2 x RTX A6000 on PCIe, 1 x 25 Gb/s
2 nodes, each with 2 GPUs and 1 NIC

cpu0      AMD_Milan_7543  NUMA 0, cores 0-15
  gpu0    RTX_A6000       PCIe gen4 x16 26 GB/s   0000:25:00.0
  gpu1    RTX_A6000       PCIe gen4 x16 26 GB/s   0000:61:00.0
  mlx5_0  ConnectX-4-Lx   PCIe gen3 x8 6.15 GB/s  0000:c1:00.0  port 1 25 Gb/s, rail 0, no GPUDirect RDMA

fabric default: rail-optimised two-tier fat-tree, non-blocking, 1 leaf (QM9700-like at 25 Gb/s); assumed (no fabric named), switch radix not checked
  node to leaf   3 GB/s payload, 475 ns with the NIC it leaves
)");
  const std::string h100 = topo_tree(cluster_of("dgx-h100", 1));
  CHECK(h100.find("NUMA 1, cores 32-55, 22 GB/s to cpu0\n") != std::string::npos);
  CHECK(h100.find("NVLink x18 to nvswitch 370.8 GB/s\n") != std::string::npos);
  CHECK(h100.find("nvswitch  4 x NVSwitch3, one plane\n") != std::string::npos);
}

TEST_CASE("the way between two devices, link by link") {
  const Cluster cluster = cluster_of("dgx-h100", 2);
  CHECK(topo_pair(cluster, "gpu0", "gpu5") ==
        R"(gpu0 -> gpu5: NVL
  node0: gpu0 -> nvswitch (NVLink x18)   370.8 GB/s       0 ns
  node0: nvswitch -> gpu5 (NVLink x18)   370.8 GB/s     330 ns
bottleneck 370.8 GB/s (node0: gpu0 -> nvswitch (NVLink x18)), one-way latency 330 ns
)");
  CHECK(topo_pair(cluster, "gpu0", "node1/gpu0") ==
        R"(gpu0 -> node1/gpu0: NET
  node0: gpu0 -> pcisw0 (PCIe gen5 x16)      55.4 GB/s       0 ns
  node0: pcisw0 -> mlx5_0 (PCIe gen5 x16)    55.4 GB/s     115 ns
  node0: mlx5_0 -> leaf0.0 (400 Gb/s)          48 GB/s     475 ns
  leaf0.0 -> node1: mlx5_0 (400 Gb/s)          48 GB/s     245 ns
  node1: mlx5_0 -> pcisw0 (PCIe gen5 x16)    55.4 GB/s     450 ns
  node1: pcisw0 -> gpu0 (PCIe gen5 x16)      55.4 GB/s     115 ns
bottleneck 48 GB/s (node0: mlx5_0 -> leaf0.0 (400 Gb/s)), one-way latency 1.4 us
)");
  CHECK(topo_pair(cluster, "gpu0", "mlx5_0").starts_with("gpu0 -> mlx5_0: PIX\n"));
  CHECK(topo_pair(cluster, "gpu0", "mlx5_3").starts_with("gpu0 -> mlx5_3: PHB\n"));
  CHECK(topo_pair(cluster, "gpu0", "mlx5_6").starts_with("gpu0 -> mlx5_6: SYS\n"));
  CHECK(
      topo_pair(cluster_of("dgx-a100", 1), "gpu0", "mlx5_1").starts_with("gpu0 -> mlx5_1: PXB\n"));
  // GPUs of a node with two NICs beside GPU 3 take them in turn.
  const Cluster two_nics = cluster_of("hgx-h200-2nic", 2);
  CHECK(topo_pair(two_nics, "gpu4", "node1/gpu5").find("mlx5_0 -> leaf0.0") != std::string::npos);
  CHECK(topo_pair(two_nics, "gpu4", "node1/gpu5").find("leaf1.0 -> node1: mlx5_1") !=
        std::string::npos);
}

TEST_CASE("pairs that do not exist") {
  const Cluster cluster = cluster_of("dgx-h100", 2);
  const auto pair = [&](const char* from, const char* to) {
    return error_text([&] { topo_pair(cluster, from, to); });
  };
  CHECK(pair("gpu0", "gpu9") == "dgx-h100 has no device \"gpu9\"\nhint: did you mean \"gpu0\"?");
  CHECK(pair("gpu0", "node2/gpu0") == "there is no node2: the cluster has 2 nodes, counted from 0");
  CHECK(pair("gpu0", "host1/gpu0") ==
        "\"host1/gpu0\" is not a device of a node\nhint: write it like node1/gpu3");
  CHECK(pair("gpu0", "node/gpu0") ==
        "\"node/gpu0\" is not a device of a node\nhint: write it like node1/gpu3");
  CHECK(pair("gpu0", "node0/gpu0") == "\"gpu0\" and \"node0/gpu0\" are the same device");
  CHECK(pair("nvswitch", "gpu0") ==
        "\"nvswitch\" only passes traffic on\nhint: name a GPU, a NIC or a CPU");
}
