#pragma once
// Runs dispatch or combine of kernels that are not NCCL's, on the links of a cluster.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/experts/ep_ways.hpp"
#include "models/experts/expert_call.hpp"
#include "models/experts/kernel_costs.hpp"
#include "models/experts/routing.hpp"

namespace fabricast {

/// What a phase needs, busiest first in a list; the share is of the time beyond what is fixed.
struct EpResource {
  std::string name;   ///< "SMs that send", "NVLink", "NIC"
  std::string where;  ///< rank or link that is busiest
  double share = 0;   ///< of the whole time of the phase
};

struct EpResult {
  Duration time;    ///< of the phase, all kernels
  Duration notify;  ///< of it: the kernel that tells counts, on several nodes
  Duration fixed;   ///< of it: what does not depend on tokens, `notify` included
  Duration launch;  ///< of it, not in `fixed`: layout, launches, waiting for the CPU
  std::vector<EpResource> resources;
  std::uint64_t events = 0, digest = 0;
  /// Bytes of tokens that a rank sends as the kernels' own tests count them, itself included: over
  /// NVLink on one node, to nodes on several, by expert of low-latency kernels.
  double counted_bytes = 0;
};

/// There and back.
struct EpRoundTrip {
  Duration dispatch, combine;
  double busiest = 1;  ///< tokens of the rank whose experts get most, over the average
};
/// The same for both phases, tokens drawn as the call says.
EpRoundTrip ep_round_trip(const EpWays& ways, const ExpertKernels& kernels, const ExpertCall& call,
                          EpMode mode);

/// Adds what calling takes to what kernels take.
void add_launch(EpResult& result, Duration launch);

/// Over so many nodes, or NVLink domains, of so many GPUs each.
bool reaches(EpMode mode, int nodes, int gpus);
/// Throws Error where such kernels do not reach over so many nodes of so many GPUs.
void check_reach(EpMode mode, int nodes, int gpus);

/// SMs that such kernels take from compute beside them: low-latency ones none while tokens are
/// under way (DeepEP's hooks), those of an NVLink domain all.
int sms_beside_compute(EpMode mode, int sms, int multiprocessors);

/// SMs of a low-latency kernel: each serves so many experts that all fit (DeepEP V1,
/// csrc/kernels/internode_ll.cu).
int low_latency_sms(int experts, int multiprocessors);

/// REQUIRES: has_own_kernels(mode); counts are of the ways' ranks. Throws Error where the kernels
/// cannot do it.
EpResult run_ep_kernels(const EpWays& ways, const ExpertKernels& kernels, const ExpertCall& call,
                        EpMode mode, EpPhase phase, const TokenCounts& counts);

}  // namespace fabricast
