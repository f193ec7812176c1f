#pragma once
// What a communicator's allocations are for, how large each is, and how sure that is.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/memory/memory_settings.hpp"
#include "models/nccl/split/slices.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class MemoryPlace : std::uint8_t { gpu, host };
inline constexpr auto kMemoryPlaceWords = enum_words<MemoryPlace>("gpu", "host");

/// "Collectives" are Ring, Tree, NVLSTree, CollNet and PAT, which share connections: one between
/// two ranks on a channel serves all. Sends and receives have their own.
enum class MemoryPurpose : std::uint8_t {
  communicator,  ///< what a kernel reads of its communicator
  channels,      ///< of each channel: peers, pointers to them, the ring's order
  p2p_receive,   ///< collectives: FIFOs of LL, LL128 and Simple that a peer writes into
  p2p_send,      ///< collectives: the other end; with reads it holds the FIFO of Simple
  net_send,      ///< collectives: FIFOs from which a NIC reads, GPUDirect RDMA
  net_receive,   ///< collectives: FIFOs into which a NIC writes
  sendrecv_receive,
  sendrecv_send,
  sendrecv_pool,  ///< sends and receives over the network: one pool for all peers
  nvls_buffers,   ///< that NVSwitches reduce and broadcast
  nvls_credits,
  collnet_pool,
  work_queue,   ///< arguments of kernels
  shm_receive,  ///< as p2p_receive, between GPUs without peer-to-peer
  shm_send,
  net_send_host,  ///< of a network connection what lies in pinned host memory
  net_receive_host,
  sendrecv_host,
  proxy_queue  ///< operations that a rank hands to proxy threads
};
inline constexpr auto kMemoryPurposeWords = enum_words<MemoryPurpose>(
    "communicator", "channels", "p2p receive", "p2p send", "net send", "net receive",
    "sendrecv receive", "sendrecv send", "sendrecv pool", "nvls buffers", "nvls credits",
    "collnet pool", "work queue", "shm receive", "shm send", "net send, pinned",
    "net receive, pinned", "sendrecv, pinned", "proxy queue");
inline constexpr int kMemoryPurposes = kMemoryPurposeWords.words.size();

/// What stands beside a purpose: the variables that change it, NCCL's file, and whether sizes were
/// read there for this release, or are taken from a neighbouring one or from logs.
struct MemoryFact {
  std::string_view variables, file;
  bool assumed = false;
};
MemoryFact memory_fact(MemoryPurpose purpose, NcclVersion version);

/// Equal allocations of a rank.
struct MemoryRow {
  MemoryPurpose purpose{};
  MemoryPlace place{};
  std::int64_t count = 0;
  std::int64_t each = 0;   ///< bytes asked for
  std::int64_t bytes = 0;  ///< all of them, in whole pages

  constexpr bool operator==(const MemoryRow&) const = default;
};

/// Pages of GPU memory: what cuMemGetAllocationGranularity() and CUDA_IPC_MIN
/// (src/transport/p2p.cc) say of every GPU so far.
inline constexpr std::int64_t kGpuPage = 2 << 20;
constexpr std::int64_t in_pages(std::int64_t bytes) {
  return (bytes + kGpuPage - 1) / kGpuPage * kGpuPage;
}

/// ncclSendMem and ncclRecvMem: counters of a connection, a page of the host each
/// (src/include/comm.h, MEM_ALIGN).
inline constexpr std::int64_t kFlagBytes = 4096;

/// One connection's buffers, bytes before rounding. src/transport/{p2p,shm,net}.cc, 2.18 to 2.31.
struct ConnectionBytes {
  std::int64_t send_gpu = 0, receive_gpu = 0, send_host = 0, receive_host = 0;

  constexpr bool operator==(const ConnectionBytes&) const = default;
};
/// `reads`: the receiver reads from the sender's memory.
ConnectionBytes p2p_bytes(const BufferSizes& buffers, bool reads);
ConnectionBytes shm_bytes(const BufferSizes& buffers, bool sender_holds);
/// With GPUDirect RDMA at either end. LL is sent from host memory.
ConnectionBytes net_bytes(const BufferSizes& buffers, bool sends_gdr, bool receives_gdr);

/// One of NVLS' two buffers of a head and channel.
struct NvlsBytes {
  std::int64_t buffer = 0;  ///< with the flags behind it, up to 2.21
  std::int64_t credit = 0;  ///< of its own from 2.22 on
};
/// src/transport/nvls.cc. `chunk`: NCCL_NVLS_CHUNKSIZE.
NvlsBytes nvls_bytes(const BufferSizes& buffers, Bytes chunk, NcclVersion version);

}  // namespace fabricast
