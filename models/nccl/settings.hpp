#pragma once
// What NCCL makes of its environment variables, as far as they act here: parsed, clamped and masked
// as the version does it. A value that NCCL bends or ignores leaves a warning; one that makes NCCL
// refuse to work is an Error.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/choices.hpp"
#include "models/nccl/env.hpp"
#include "models/nccl/ib_hca.hpp"
#include "models/nccl/slices.hpp"
#include "models/nccl/types.hpp"

namespace fabricast {

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
  bool nvls = true;                      ///< NCCL_NVLS_ENABLE
  bool collnet = false;                  ///< NCCL_COLLNET_ENABLE
  IbHcaFilter ib_hca;
  std::vector<std::string> warnings;  ///< one sentence each, beginning with the variable
};

/// Channels a communicator may have (MAXCHANNELS, src/include/device.h): 64 since 2.25.
constexpr int max_channels(NcclVersion version) { return version >= NcclVersion{25, 0} ? 64 : 32; }

/// Throws Error where NCCL would refuse the call: unknown names in NCCL_ALGO or NCCL_PROTO
/// from 2.24 on, and buffers too small for one chunk.
NcclSettings read_settings(const Environment& environment, NcclVersion version);

}  // namespace fabricast
