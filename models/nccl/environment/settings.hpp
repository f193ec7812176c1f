#pragma once
// What NCCL makes of its environment variables, as far as they act here: parsed, clamped and masked
// as the version does it. A value that NCCL bends or ignores leaves a warning; one that makes NCCL
// refuse to work is an Error.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/choices.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/environment/ib_hca.hpp"
#include "models/nccl/split/slices.hpp"

namespace fabricast {

struct NvlsSettings {
  bool enabled = true;                  ///< NCCL_NVLS_ENABLE, and NCCL_CUMEM_ENABLE is not 0
  std::string why_off;                  ///< in a sentence
  std::optional<int> channels;          ///< NCCL_NVLS_NCHANNELS
  std::optional<Bytes> chunk;           ///< NCCL_NVLS_CHUNKSIZE
  std::optional<Bytes> tree_chunk_max;  ///< NCCL_NVLSTREE_MAX_CHUNKSIZE
};

/// Settings of sends and receives, and what is built on them.
struct P2pSettings {
  int channels_min = 1;                    ///< NCCL_MIN_P2P_NCHANNELS
  int channels_max = 64;                   ///< NCCL_MAX_P2P_NCHANNELS, max_channels()
  std::optional<int> channels_per_remote;  ///< NCCL_NCHANNELS_PER_NET_PEER
  int net_bw_per_channel = 14;             ///< NCCL_P2P_PER_CHANNEL_NET_BW, GB/s
  std::optional<int> peers_max;            ///< NCCL_P2P_MAX_PEERS
  Bytes net_chunk{128 << 10};              ///< NCCL_P2P_NET_CHUNKSIZE
  Bytes nvlink_chunk{512 << 10};           ///< NCCL_P2P_NVL_CHUNKSIZE
  Bytes pcie_chunk{128 << 10};             ///< NCCL_P2P_PCI_CHUNKSIZE
  Bytes ll_threshold{16 << 10};            ///< NCCL_P2P_LL_THRESHOLD
  bool ll_over_net = false;                ///< NCCL_ALLOC_P2P_NET_LL_BUFFERS
  bool shared_buffers = true;              ///< NCCL_NET_SHARED_BUFFERS
  int pxn_level = 2;                       ///< NCCL_P2P_PXN_LEVEL
  int group_size = 8;                      ///< NCCL_P2P_SCHEDULE_GROUP_SIZE
};

/// As it is when nothing is set: what an empty environment gives.
struct NcclSettings {
  Choices algorithms = Choices::all();  ///< NCCL_ALGO
  Choices protocols = Choices::all();   ///< NCCL_PROTO
  int channels_min = 1;                 ///< the larger of NCCL_MIN_NCHANNELS and NCCL_MIN_CTAS
  int channels_max = 64;  ///< the smaller of NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS, max_channels()
  int ctas_min = 1, ctas_max = 64;   ///< NCCL_MIN_CTAS and NCCL_MAX_CTAS alone: NVLS channels
  std::optional<int> threads;        ///< NCCL_NTHREADS: Ring and Tree, LL and Simple
  std::optional<int> threads_ll128;  ///< NCCL_LL128_NTHREADS
  BufferSizes buffers{};
  std::optional<float> net_overhead_us;  ///< NCCL_NET_OVERHEAD
  /// NCCL_THREAD_THRESHOLDS: of Tree and Ring, by protocol.
  std::array<std::array<std::optional<std::int64_t>, kProtocols>, 2> bytes_per_thread;
  NvlsSettings nvls;
  bool collnet = false;        ///< NCCL_COLLNET_ENABLE
  int collnet_nodes_min = 2;   ///< NCCL_COLLNET_NODE_THRESHOLD
  int pat = 2;                 ///< NCCL_PAT_ENABLE: 2 = where it fits
  bool ll128_over_c2c = true;  ///< NCCL_LL128_C2C
  P2pSettings p2p;
  IbHcaFilter ib_hca;
  std::vector<std::string> warnings;  ///< one sentence each, beginning with the variable
};

/// Channels a communicator may have (MAXCHANNELS, src/include/device.h): 64 since 2.25.
constexpr int max_channels(NcclVersion version) { return version >= NcclVersion{25, 0} ? 64 : 32; }

/// Throws Error where NCCL would refuse the call: unknown names in NCCL_ALGO or NCCL_PROTO
/// from 2.24 on, and buffers too small for one chunk.
NcclSettings read_settings(const Environment& environment, NcclVersion version);

/// Whether NCCL takes the hosts of one NVLink domain for one node: NCCL_MNNVL_ENABLE is not 0, nor
/// is NCCL_CUMEM_ENABLE (src/mnnvl.cc).
bool joins_nvlink_domain(const Environment& environment, NcclVersion version);

}  // namespace fabricast
