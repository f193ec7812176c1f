#pragma once
// What symmetric kernels, registered NVLS and copy engines move, stage by stage, and what that
// takes on the links of a cluster.

#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/nccl/base/members.hpp"
#include "models/nccl/call/collective_run.hpp"
#include "models/nccl/peer_kernels/peer_run.hpp"
#include "models/nccl/registered/registration.hpp"

namespace fabricast {

/// The thread block of a symmetric kernel (nWarps 16 in NCCL's ncclSymkPickKernel, 2.27+).
inline constexpr int kSymmetricThreads = 512;

/// REQUIRES: choice.replaces(), it is timed, gpus >= 2, size > 0.
std::vector<KernelStage> plan_registered(const RegisteredChoice& choice, Collective collective,
                                         int gpus, Bytes size, int root = 0);

struct RegisteredCall {
  RegisteredChoice choice;
  Collective collective{};
  Bytes size;                 ///< of the larger buffer
  int root = 0;               ///< rank, of gather and scatter
  int launches_in_a_row = 1;  ///< of one thread of the host; 0: a CUDA graph
};

/// NCCL's own call where users' buffers are registered: NVLS of several nodes, which its NVSwitches
/// read and write, on fewer channels. Its costs are in_place() ones (nvls_rates.hpp).
/// REQUIRES: choice.path is nvls.
CollectiveRun in_place_run(CollectiveRun plain, const RegisteredChoice& choice);

/// What is asked, and what the kernels cost that then run.
struct AskedRegistration {
  Registration asked = Registration::none;
  PeerCosts costs;
};

/// The time of a call among others that follow each other. `launch` is what goes by before its
/// first byte moves, or while the host launches the other GPUs of its process.
/// REQUIRES: as plan_registered(); members of one node that NVLink joins.
SimulationResult simulate_registered(const Cluster& cluster, const Members& members,
                                     const PeerCosts& costs, const SoftwareCosts& software,
                                     const RegisteredCall& call, bool explain = false);

}  // namespace fabricast
