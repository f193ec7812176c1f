#pragma once
// A group of sends and receives on a cluster: nccl-tests' alltoall, sendrecv, gather and scatter,
// and all-to-all-v.

#include "models/nccl/p2p_schedule.hpp"
#include "models/nccl/simulation.hpp"

namespace fabricast {

/// Without the launch; partition is empty, slices are chunks received.
/// `carrier`: of a CarriedStamp.
template <class Stamp>
SimulationResult exchange(const P2pSchedule::Config& config,
                          const std::function<void(double)>& progress = {},
                          Carrier* carrier = nullptr);

extern template SimulationResult exchange<PlainStamp>(const P2pSchedule::Config&,
                                                      const std::function<void(double)>&, Carrier*);
extern template SimulationResult exchange<CausalStamp>(const P2pSchedule::Config&,
                                                       const std::function<void(double)>&,
                                                       Carrier*);

/// The same for a call of nccl-tests. REQUIRES: no tuned collective.
SimulationResult exchange(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Fold& fold,
                          const SimulationOptions& options, Carrier* carrier = nullptr);

}  // namespace fabricast
