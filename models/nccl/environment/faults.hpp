#pragma once
// What is broken or slow while a collective runs. NCCL does not know: its decisions are those of
// the healthy cluster.

#include <span>
#include <vector>

#include "models/hardware/node/node_graph.hpp"
#include "models/nccl/environment/env.hpp"
#include "sim/links/outage.hpp"

namespace fabricast {

/// Links that are merely slow stand in the Cluster (set_rate()).
struct Faults {
  struct SlowGpu {
    int rank = 0;
    double speed = 1;  ///< share of its copy rate, 0..1; its fixed costs grow alike
  };
  struct LinkOutage {
    LinkId link{};
    Outage outage;
  };
  std::vector<SlowGpu> gpus;
  std::vector<LinkOutage> outages;  ///< of fabric links
  Retry retry;
};

/// 1 unless the GPU is slow.
double speed_of(std::span<const Faults::SlowGpu> slow, int rank);
/// A fixed cost on a GPU of this speed.
Duration slowed(Duration healthy, double speed);

/// InfiniBand's time-out of 4.096 us x 2^NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT, by default those of
/// the version (src/transport/net_ib.cc: 18 up to 2.22, then 20; 7).
Retry ib_retry(const Environment& environment, NcclVersion version,
               std::vector<std::string>& warnings);

}  // namespace fabricast
