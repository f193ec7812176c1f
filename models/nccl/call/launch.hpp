#pragma once
// What a call costs before its first slice.

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/call/collective_run.hpp"

namespace fabricast {

/// Blocks of the busiest rank's kernel: the call's channels, or those that its sends and receives
/// are spread over.
int blocks_of(const CollectiveRun& run, const Members& members);

/// The launch and NCCL's start of an operation. Before 2.22 each block reads its work item from
/// host memory, one block after the other (src/enqueue.cc and src/collectives/device/common.h of
/// 2.21.5); from 2.22 on it comes with the kernel's arguments (ncclDevWorkStorageTypeArgs of
/// src/include/device.h, 2.22.3). What a CUDA graph keeps lies in the GPU's memory. On Hopper the
/// same two nodes take as long with 2.20.3 as with 2.22.3, with any number of channels: there it
/// costs nothing.
Duration launch_of(const CollectiveRun& run, const Cluster& cluster, const SoftwareCosts& software);

/// What one thread of the host does for a call: it launches the kernels of its GPUs one after
/// another and, where the call is a group of sends and receives, enqueues each of those first.
/// Calls in a row take no less. 0 of a CUDA graph.
Duration host_time(const CollectiveRun& run, const Cluster& cluster, const SoftwareCosts& software);

}  // namespace fabricast
