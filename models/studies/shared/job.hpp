#pragma once
// What every question is about: machines, and NCCL on them.

#include <string>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/tuner/tuner_plugin.hpp"

namespace fabricast {

/// GPUs of a node: more are taken for a mistake.
inline constexpr int kGpusPerNodeMax = 1024;

/// The common half of a question; each adds what it asks. How many nodes is part of that: some ask
/// for several numbers at once.
struct Job {
  std::string topology;   ///< as Topology takes it
  std::string fabric;     ///< "" = the topology's own, else the default
  int gpus_per_node = 0;  ///< 0 = all
  bool sharp = false;     ///< the fabric offers SHARP: a CollNet plugin serves all NICs
  NcclVersion version = kDefaultNccl;
  Environment environment;
  /// Asked for each call of a tuned collective; it outlives the job. nullptr = none is loaded.
  const TunerPlugin* tuner = nullptr;
  std::string parts{};  ///< file of own parts or calibrated values; "" = none
};

}  // namespace fabricast
