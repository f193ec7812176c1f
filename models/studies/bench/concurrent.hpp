#pragma once
// The study `concurrent`: what the parallelisms of a training job cost each other when their
// collectives run at the same time. Config, code and result; the text is concurrent_text.cpp.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/simulation.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// How the ranks of a job are divided: dimensions and their sizes, the fastest-changing first, as
/// in Megatron's tp-cp-ep-dp-pp. Rank 0..tp-1 are the first TP group.
struct RankLayout {
  struct Dimension {
    std::string name;
    int size = 1;
  };
  std::vector<Dimension> dimensions;

  int ranks() const;
  /// The groups along some dimensions: ranks that differ in nothing else, ascending. REQUIRES:
  /// names of dimensions.
  std::vector<std::vector<int>> groups(const std::vector<std::string>& over) const;
};

/// Communicators along some dimensions, which all do the same at the same time.
struct ConcurrentGroup {
  std::string name;
  std::vector<std::string> over;  ///< dimensions
  Collective collective{};
  Bytes size;  ///< as nccl-tests counts it, of each communicator
  int repeat = 1;
  Instant start;
};

struct ConcurrentConfig {
  RankLayout layout;
  std::vector<ConcurrentGroup> groups;
};

/// What both a group and others load.
struct SharedLink {
  LinkId link{};
  double utilisation = 0;  ///< while anybody runs
  double own_share = 0;    ///< of its bytes
};

struct ConcurrentGroupResult {
  int communicators = 0, ranks = 0;  ///< ranks of each
  std::int64_t count = 0;
  Bytes size;                                  ///< of whole elements
  DecidedCall decided;                         ///< of the first communicator
  Duration alone, together;                    ///< all calls of the slowest communicator
  double busbw_alone = 0, busbw_together = 0;  ///< of one call of it, GB/s
  double nic_share = 0;                        ///< of the bytes that all NICs send
  std::vector<SharedLink> shared;              ///< busiest first

  double slowdown() const {
    return static_cast<double>(together.ps) /
           static_cast<double>(std::max<std::int64_t>(alone.ps, 1));
  }
};

struct ConcurrentResult {
  std::vector<ConcurrentGroupResult> groups;
  Duration time;   ///< until all have ended
  int blocks = 0;  ///< thread blocks of a GPU, if all run at the same time: each needs an SM
  int sms = 0;     ///< of a GPU; 0 = not known
  std::uint64_t digest = 0;
  std::vector<std::string> notes;
};

struct ConcurrentQuestion {
  const Cluster& cluster;
  CommunicatorConfig communicators;  ///< but for the members
  int element_bytes = 4;
};

/// Throws Error, also when a communicator has not the same GPUs of each of its nodes.
ConcurrentResult run_concurrent(const ConcurrentQuestion& question, const ConcurrentConfig& config,
                                const SoftwareCosts& software,
                                const std::function<void(double)>& progress = {});

std::string concurrent_text(const Cluster& cluster, const ConcurrentConfig& config,
                            const ConcurrentResult& result);

}  // namespace fabricast
