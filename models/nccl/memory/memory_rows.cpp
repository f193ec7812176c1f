#include "models/nccl/memory/memory_rows.hpp"

#include "models/nccl/base/types.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t kNvlsFlags = 2 << 20;  // NVLS_MEM_ALIGN_SIZE, up to 2.21

constexpr std::int64_t all_of(const BufferSizes& buffers) {
  return buffers.ll.count + buffers.ll128.count + buffers.simple.count;
}

}  // namespace

MemoryFact memory_fact(MemoryPurpose purpose, NcclVersion version) {
  constexpr std::string_view kFifos = "NCCL_MAX_NCHANNELS, NCCL_BUFFSIZE, NCCL_LL128_BUFFSIZE";
  constexpr std::string_view kSends = "NCCL_MAX_P2P_NCHANNELS, NCCL_BUFFSIZE, NCCL_LL128_BUFFSIZE";
  switch (purpose) {
    case MemoryPurpose::communicator:
      return {"NCCL_CUMEM_ENABLE", "src/init.cc"};
    case MemoryPurpose::channels:
      return {"NCCL_MAX_NCHANNELS, NCCL_MAX_P2P_NCHANNELS, NCCL_CUMEM_ENABLE", "src/channel.cc"};
    case MemoryPurpose::p2p_receive:
    case MemoryPurpose::p2p_send:
      return {kFifos, "src/transport/p2p.cc"};
    case MemoryPurpose::net_send:
    case MemoryPurpose::net_receive:
    case MemoryPurpose::net_send_host:
    case MemoryPurpose::net_receive_host:
      return {kFifos, "src/transport/net.cc"};
    case MemoryPurpose::sendrecv_receive:
    case MemoryPurpose::sendrecv_send:
      return {kSends, "src/transport/p2p.cc"};
    case MemoryPurpose::sendrecv_pool:
      return {"NCCL_MAX_P2P_NCHANNELS, NCCL_P2P_NET_CHUNKSIZE, NCCL_P2P_NVL_CHUNKSIZE",
              "src/transport/net.cc"};
    case MemoryPurpose::sendrecv_host:
      return {"NCCL_NCHANNELS_PER_NET_PEER", "src/transport/net.cc"};
    case MemoryPurpose::nvls_buffers:
      if (version < kNccl2_21)
        return {"NCCL_NVLS_ENABLE, NCCL_BUFFSIZE", "src/transport/nvls.cc", version >= kNccl2_20};
      return {"NCCL_NVLS_ENABLE, NCCL_NVLS_NCHANNELS, NCCL_NVLS_CHUNKSIZE", "src/transport/nvls.cc",
              version >= kNccl2_22 && version < kNccl2_25};
    case MemoryPurpose::nvls_credits:
      return {"NCCL_NVLS_ENABLE", "src/transport/nvls.cc"};
    case MemoryPurpose::collnet_pool:
      return {"NCCL_COLLNET_ENABLE, NCCL_BUFFSIZE", "src/transport/coll_net.cc", true};
    case MemoryPurpose::work_queue:
      return {version < kNccl2_22 ? "NCCL_WORK_FIFO_DEPTH" : "NCCL_WORK_FIFO_BYTES", "src/init.cc",
              version < kNccl2_22};
    case MemoryPurpose::shm_receive:
    case MemoryPurpose::shm_send:
      return {kFifos, "src/transport/shm.cc", true};
    case MemoryPurpose::proxy_queue:
      return {"", "src/proxy.cc", true};
  }
  return {};
}

ConnectionBytes p2p_bytes(const BufferSizes& buffers, bool reads) {
  const std::int64_t simple = buffers.simple.count;
  return {kFlagBytes + (reads ? simple : 0), kFlagBytes + all_of(buffers) - (reads ? simple : 0)};
}

ConnectionBytes shm_bytes(const BufferSizes& buffers, bool sender_holds) {
  const std::int64_t fifos = all_of(buffers);
  return {0, 0, kFlagBytes + (sender_holds ? fifos : 0), kFlagBytes + (sender_holds ? 0 : fifos)};
}

ConnectionBytes net_bytes(const BufferSizes& buffers, bool sends_gdr, bool receives_gdr) {
  const std::int64_t all = all_of(buffers), ll = buffers.ll.count;
  ConnectionBytes out;
  out.send_gpu = sends_gdr ? all - ll : 0;
  out.receive_gpu = receives_gdr ? all : 0;
  out.send_host = all - out.send_gpu + 2 * kFlagBytes;
  out.receive_host = all - out.receive_gpu + 2 * kFlagBytes;
  return out;
}

NvlsBytes nvls_bytes(const BufferSizes& buffers, Bytes chunk, NcclVersion version) {
  if (version < kNccl2_21) return {buffers.simple.count + kNvlsFlags, 0};
  const std::int64_t slots = chunk.count * kConnectionSlots;
  if (version < kNccl2_22) return {slots + kNvlsFlags, 0};
  return {slots, version < kNccl2_25 ? 16 : 64};
}

}  // namespace fabricast
