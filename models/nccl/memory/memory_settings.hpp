#pragma once
// Variables that act on what NCCL allocates and when, and on nothing that is simulated.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast {

struct MemorySettings {
  /// NCCL_CUMEM_ENABLE: GPU memory comes from cuMemCreate(), which gives whole pages of 2 MiB; else
  /// from cudaMalloc(). Off in 2.18 (src/misc/cudawrap.cc), from 2.19 on taken for granted where it
  /// is not set: NCCL asks the driver.
  bool cumem = false;
  /// NCCL_RUNTIME_CONNECT, 2.22 and later, and only with cuMem (src/init.cc, runtimeConn): what an
  /// algorithm needs is allocated by the first call that takes it. Else when the communicator is
  /// made.
  bool lazy = false;
  /// NCCL_P2P_READ_ENABLE; nothing: read between GPUs of compute capability 8.0 over NVLink.
  std::optional<bool> p2p_read;
  /// Bytes of the queue of kernel arguments: NCCL_WORK_FIFO_BYTES, 1 MiB; up to 2.21
  /// NCCL_WORK_FIFO_DEPTH, 65536 works of 512 bytes.
  std::int64_t work_fifo = 1 << 20;
  bool work_fifo_on_gpu = false;  ///< NCCL_GDRCOPY_ENABLE
  bool sender_holds_shm =
      false;  ///< NCCL_SHM_LOCALITY=1: the sender's host memory, else receiver's

  bool operator==(const MemorySettings&) const = default;
};

MemorySettings read_memory_settings(const Environment& environment, NcclVersion version);

/// The variables of the above that act on nothing else.
std::span<const std::string_view> memory_variables();

}  // namespace fabricast
