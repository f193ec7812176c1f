// Goal: what a communicator allocates is what NCCL's source and logs say.
// Method: sizes added up by hand; whole communicators beside figures that users measured or logged,
// each with its source; over presets and releases that every connection has two ends.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/io/topologies/load.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/call/connection_ends.hpp"
#include "models/nccl/memory/communicator_memory.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Made {
  Cluster cluster;
  CommunicatorConfig config;
  Communicator communicator;

  CommunicatorMemory memory(const CommunicatorUse& use = {}) const {
    return communicator_memory(cluster, communicator, config.environment, use);
  }
};

Made made(const std::string& topology, int nodes, int gpus, NcclVersion version,
          const std::vector<std::string>& variables = {}) {
  Cluster cluster = load_cluster({topology, nodes, "", false, gpus}, load_catalogue());
  CommunicatorConfig config;
  config.version = version;
  config.gpus_per_node = gpus;
  for (const std::string& one : variables) config.environment.set(one);
  Communicator communicator = make_communicator(cluster, config);
  return {std::move(cluster), std::move(config), std::move(communicator)};
}

/// Of all rows of a purpose: how many allocations, and their bytes.
MemoryRow sum_of(const RankMemory& rank, MemoryPurpose purpose) {
  MemoryRow out{purpose};
  for (const MemoryRow& row : rank.rows) {
    if (row.purpose != purpose) continue;
    out.count += row.count;
    out.each = row.each;
    out.bytes += row.bytes;
  }
  return out;
}

}  // namespace

TEST_CASE("memory: the buffers of a connection, added up") {
  const BufferSizes buffers;  // 512 KiB of LL, 8 x 600 KiB of LL128, 4 MiB of Simple
  CHECK(p2p_bytes(buffers, false) ==
        ConnectionBytes{4096, 4096 + 524'288 + 4'915'200 + 4'194'304, 0, 0});
  // With reads Simple lies at the sender.
  CHECK(p2p_bytes(buffers, true) == ConnectionBytes{4096 + 4'194'304, 4096 + 524'288 + 4'915'200});
  // NVIDIA/nccl#342: "Error while creating shared memory segment ... (size 9637888)".
  CHECK(shm_bytes(buffers, false) == ConnectionBytes{0, 0, 4096, 9'637'888});
  CHECK(shm_bytes(buffers, true) == ConnectionBytes{0, 0, 9'637'888, 4096});
  // LL is sent from host memory, whatever the NIC can; two pages of counters at each end.
  CHECK(net_bytes(buffers, true, true) ==
        ConnectionBytes{4'915'200 + 4'194'304, 9'633'792, 524'288 + 8192, 8192});
  CHECK(net_bytes(buffers, false, false) == ConnectionBytes{0, 0, 9'641'984, 9'641'984});
  CHECK(in_pages(1) == 2 * kMiB);
  CHECK(in_pages(9'637'888) == 10 * kMiB);  // NVIDIA/nccl#1685: "size 10485760"
}

TEST_CASE("memory: one buffer of NVLS by release") {
  const BufferSizes buffers;
  const Bytes chunk{128 << 10};
  CHECK(nvls_bytes(buffers, chunk, {19, 4}).buffer == 6 * kMiB);  // Simple and 2 MiB of flags
  CHECK(nvls_bytes(buffers, chunk, {21, 5}).buffer == 3 * kMiB);  // 8 chunks and the flags
  CHECK(nvls_bytes(buffers, chunk, {22, 3}).buffer == 1 * kMiB);
  CHECK(nvls_bytes(buffers, chunk, {22, 3}).credit == 16);
  CHECK(nvls_bytes(buffers, chunk, {25, 1}).credit == 64);
}

TEST_CASE("memory: what variables say, by release") {
  const auto read = [](NcclVersion version, const std::vector<std::string>& variables) {
    Environment environment;
    for (const std::string& one : variables) environment.set(one);
    return read_memory_settings(environment, version);
  };
  CHECK_FALSE(read({18, 6}, {}).cumem);
  CHECK(read({18, 6}, {"NCCL_CUMEM_ENABLE=1"}).cumem);
  CHECK(read({19, 4}, {}).cumem);
  CHECK_FALSE(read({21, 5}, {"NCCL_RUNTIME_CONNECT=1"}).lazy);  // not read yet
  CHECK(read({22, 3}, {}).lazy);
  CHECK_FALSE(read({22, 3}, {"NCCL_CUMEM_ENABLE=0"}).lazy);
  CHECK_FALSE(read({27, 7}, {"NCCL_RUNTIME_CONNECT=0"}).lazy);
  CHECK(read({21, 5}, {}).work_fifo == 32 * kMiB);
  CHECK(read({21, 5}, {"NCCL_WORK_FIFO_DEPTH=1024"}).work_fifo == 512 << 10);
  CHECK(read({27, 7}, {}).work_fifo == 1 * kMiB);
  CHECK(read({27, 7}, {"NCCL_WORK_FIFO_BYTES=4194304"}).work_fifo == 4 * kMiB);
  CHECK(read({27, 7}, {"NCCL_WORK_FIFO_BYTES=5000000"}).work_fifo == 1 * kMiB);  // no power of 2
}

// NVIDIA/nccl#964: GPUs 0 to 3 of a machine with A100s on NVLink, an all-reduce of 4 MB in each
// group: 544 MB more on GPU 0 for a group of two, 688 MB for one of three or four. By hand: 24
// channels; a reader's FIFOs 5.19 MiB, in pages 6, a sender's 4.004, likewise 6; of two GPUs the
// ring is all there is, 24 x 12 = 288; of four the tree adds on GPU 0, the head of its chain, what
// comes up from the next: 24 x 6 = 144. The pool of sends: 32 channels x 16 x 512 KiB = 256.
TEST_CASE("memory: 544 and 688 MiB of NVIDIA/nccl#964") {
  const std::int64_t structures = 200 << 10;  // small ones, which share pages
  const auto on_gpu_0 = [](int gpus) {
    return made("dgx-a100", 1, gpus, {18, 6}).memory().ranks.front().bytes(MemoryPlace::gpu);
  };
  CHECK(on_gpu_0(2) >= 544 * kMiB);
  CHECK(on_gpu_0(2) < 544 * kMiB + structures);
  CHECK(on_gpu_0(4) >= 688 * kMiB);
  CHECK(on_gpu_0(4) < 688 * kMiB + structures);
}

// NVIDIA/nccl#2363: one rank on a B300, 2.28.9: "Failed to CUDA calloc 536870912 bytes". By hand: a
// rank alone has all channels that NCCL knows, 64 since 2.25 (MAXCHANNELS, src/include/device.h),
// and NCCL_WORK_ARGS_BYTES takes none of them (src/graph/paths.cc): 64 x 16 x 512 KiB. #2366: an
// RTX 3090 holds 512 MiB more with the pool than without.
TEST_CASE("memory: the pool of a rank alone is 512 MiB") {
  const auto pool = [](const char* topology, NcclVersion version) {
    const Made one = made(topology, 1, 1, version, {"NCCL_RUNTIME_CONNECT=0"});
    CHECK(one.memory().sendrecv_channels == max_channels(version));
    return sum_of(one.memory().ranks.front(), MemoryPurpose::sendrecv_pool).bytes;
  };
  CHECK(pool("hgx-b300", {28, 9}) == 536'870'912);
  CHECK(pool("pcie-8", {28, 9}) == 512 * kMiB);
  CHECK(made("dgx-h100", 1, 1, {24, 3}).memory().sendrecv_channels == 32);
}

// "nvlsTotalSize" of logs of eight GPUs: 1610612736 (16 channels, an H800 machine), 2415919104
// (H200, vllm-project/vllm#9699, which ran 2.20.5), 268435456 (16 channels, from 2.22 on).
TEST_CASE("memory: buffers of NVLS as logs have them") {
  const auto nvls = [](const std::string& topology, NcclVersion version) {
    const Made one = made(topology, 1, 0, version);
    return sum_of(one.memory({{Algorithm::nvls}, {}}).ranks.front(), MemoryPurpose::nvls_buffers);
  };
  CHECK(nvls("dgx-h100", {19, 4}).bytes == 1'610'612'736);
  CHECK(nvls("hgx-h200", {20, 5}).bytes == 2'415'919'104);
  CHECK(nvls("dgx-h100", {24, 3}).bytes == 268'435'456);
}

// NVIDIA/nccl#1685: all-to-all of eight H100s: 32 channels for each pair, allocations of 10485760
// and 2097152 bytes. By hand: 7 peers x 32 of each.
TEST_CASE("memory: all-to-all in a node connects every pair on every channel") {
  const Made one = made("dgx-h100", 1, 0, {26, 6});
  const CommunicatorMemory memory = one.memory({{}, {Collective::alltoall}});
  CHECK(memory.connected.empty());
  for (const RankMemory& rank : memory.ranks) {
    const MemoryRow receive = sum_of(rank, MemoryPurpose::sendrecv_receive);
    CHECK(receive.count == 7 * 32);
    CHECK(receive.bytes == 7 * 32 * 10'485'760LL);
    CHECK(sum_of(rank, MemoryPurpose::sendrecv_send).bytes == 7 * 32 * 2'097'152LL);
  }
}

// Two H100 nodes, 2.21.5: 16 channels x 16 slots x 128 KiB = 32 MiB is a pool. Each rank sends to
// the eight rails through the GPU beside each, so each GPU holds a pool of all eight ranks.
TEST_CASE("memory: with PXN each GPU holds pools of all GPUs of its node") {
  const CommunicatorMemory eager = made("dgx-h100", 2, 0, {21, 5}).memory();
  for (const RankMemory& rank : eager.ranks)
    CHECK(sum_of(rank, MemoryPurpose::sendrecv_pool).bytes == 8 * 32 * kMiB);
  // A later release has none until somebody sends; then one for what comes in as well.
  const Made later = made("dgx-h100", 2, 0, {27, 7});
  CHECK(sum_of(later.memory().ranks.front(), MemoryPurpose::sendrecv_pool).count == 0);
  const CommunicatorMemory sent = later.memory({{}, {Collective::alltoall}});
  for (const RankMemory& rank : sent.ranks)
    CHECK(sum_of(rank, MemoryPurpose::sendrecv_pool).bytes == 9 * 32 * kMiB);
  const Made without = made("dgx-h100", 2, 0, {27, 7}, {"NCCL_PXN_DISABLE=1"});
  CHECK(sum_of(without.memory({{}, {Collective::alltoall}}).ranks.front(),
               MemoryPurpose::sendrecv_pool)
            .count == 2);
}

TEST_CASE("memory: a ring of two GPUs over PCIe, and over host memory") {
  const Made direct = made("pcie-2gpu", 1, 0, {27, 7});
  const CommunicatorMemory memory = direct.memory({{Algorithm::ring}, {}});
  const RankMemory& rank = memory.ranks.front();
  CHECK(sum_of(rank, MemoryPurpose::p2p_receive).bytes == memory.channels * 10 * kMiB);
  CHECK(sum_of(rank, MemoryPurpose::p2p_send).bytes == memory.channels * 2 * kMiB);
  // The tree of two GPUs has no connection that the ring has not.
  CHECK(direct.memory({{Algorithm::ring, Algorithm::tree}, {}}).ranks == memory.ranks);
  const CommunicatorMemory host =
      made("pcie-2gpu", 1, 0, {27, 7}, {"NCCL_P2P_DISABLE=1"}).memory({{Algorithm::ring}, {}});
  CHECK(sum_of(host.ranks.front(), MemoryPurpose::p2p_receive).count == 0);
  CHECK(sum_of(host.ranks.front(), MemoryPurpose::shm_receive).bytes == host.channels * 9'637'888);
}

TEST_CASE("memory: every connection has two ends, and a later call adds to what is there") {
  for (const char* topology : {"dgx-h100", "dgx-a100", "h100-pcie-nvl-4", "hgx-h200-2nic"}) {
    for (const NcclVersion version : {NcclVersion{18, 6}, NcclVersion{23, 4}, NcclVersion{30, 7}}) {
      CAPTURE(topology);
      CAPTURE(to_text(version));
      const Made one = made(topology, 3, 0, version);
      std::int64_t before = -1;
      for (const CommunicatorUse& use : std::vector<CommunicatorUse>{
               {},
               {{Algorithm::ring}, {}},
               {{Algorithm::ring, Algorithm::tree}, {}},
               {{Algorithm::ring, Algorithm::tree}, {Collective::sendrecv}},
               {{Algorithm::ring, Algorithm::tree},
                {Collective::sendrecv, Collective::alltoall}}}) {
        std::int64_t sends = 0, receives = 0, all = 0;
        for (const RankMemory& rank : one.memory(use).ranks) {
          sends += sum_of(rank, MemoryPurpose::p2p_send).count +
                   sum_of(rank, MemoryPurpose::net_send_host).count;
          receives += sum_of(rank, MemoryPurpose::p2p_receive).count +
                      sum_of(rank, MemoryPurpose::net_receive_host).count;
          all += rank.bytes(MemoryPlace::gpu) + rank.bytes(MemoryPlace::host);
        }
        CHECK(sends == receives);
        CHECK(all >= before);
        before = all;
      }
    }
  }
}

TEST_CASE("memory: ends of a connection are those of the way that is simulated") {
  for (const char* topology : {"dgx-h100", "hgx-h200-2nic", "pcie-2gpu"}) {
    const Cluster cluster = load_cluster({topology, 2, ""}, load_catalogue());
    const int gpus = static_cast<int>(cluster.node().gpus().size());
    const Members all = Members::first(1, gpus);
    for (int from = 0; from < gpus; ++from) {
      for (int to = 0; to < gpus; ++to) {
        for (const int node : {0, 1}) {
          if (node == 0 && from == to) continue;
          const Endpoint a{0, from, 0}, b{node, to, 0};
          const Transport way = plan_transport(cluster, all.gpus(), Protocol::simple, a, b);
          const ConnectionEnds ends = connection_ends(cluster, all.gpus(), a, b, {});
          CHECK(ends.kind == way.kind);
          if (node == 1) CHECK(ends.proxy_gpu == way.proxy_gpu);
        }
      }
    }
  }
}

TEST_CASE("memory: more ranks than are counted are refused") {
  const Made one = made("dgx-h100", 2049, 0, {27, 7});
  CHECK(error_text([&] { one.memory(); }) ==
        "a communicator of 16392 ranks: memory is counted for up to 16384\n"
        "hint: from some nodes on a rank takes the same: ask for fewer");
}
