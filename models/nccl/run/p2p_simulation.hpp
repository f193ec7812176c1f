#pragma once
// A group of sends and receives on a cluster: nccl-tests' alltoall, sendrecv, gather and scatter,
// and all-to-all-v.

#include "models/nccl/run/simulation.hpp"
#include "models/nccl/schedules/p2p_schedule.hpp"

namespace fabricast {

/// Without the launch; partition is empty, slices are chunks received.
/// `carrier`: of a CarriedStamp. `faults`: links that go down, of a LossyStamp.
template <class Stamp>
SimulationResult exchange(const P2pSchedule::Config& config,
                          const std::function<void(double)>& progress = {},
                          Carrier* carrier = nullptr, const Faults& faults = {});

extern template SimulationResult exchange<PlainStamp>(const P2pSchedule::Config&,
                                                      const std::function<void(double)>&, Carrier*,
                                                      const Faults&);
extern template SimulationResult exchange<CausalStamp>(const P2pSchedule::Config&,
                                                       const std::function<void(double)>&, Carrier*,
                                                       const Faults&);

/// The same for a call of nccl-tests, and its timeline if asked for. REQUIRES: no tuned collective.
SimulationResult exchange(const Cluster& cluster, const SoftwareCosts& software,
                          const CollectiveRun& run, const Fold& fold,
                          const SimulationOptions& options, Carrier* carrier = nullptr);

}  // namespace fabricast
