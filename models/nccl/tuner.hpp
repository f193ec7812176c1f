#pragma once
// NCCL's tuning model, as far as Ring and Tree go: what it predicts for every algorithm and
// protocol of a call, which it takes, and with how many channels and threads. Floats are NCCL's
// own: single precision where it stores one, so that times agree to the last digit. Facts:
// src/graph/tuning.cc and src/enqueue.cc of 2.21.5, 2.27.7 and 2.30.7.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/channel_counts.hpp"
#include "models/nccl/channel_graph.hpp"
#include "models/nccl/settings.hpp"
#include "models/nccl/types.hpp"

namespace fabricast {

/// What kind of host the model distinguishes.
enum class HostCpu : std::uint8_t { intel, amd, mixed_x86, zhaoxin, arm, power };
/// From the `arch` and `vendor` of NCCL's topology XML: "x86_64", "AuthenticAMD". Anything else
/// counts as Intel, which is how the model treats it.
HostCpu host_cpu(std::string_view arch, std::string_view vendor);

/// What the model sees of the communicator. Graphs are those after the exchange between ranks.
struct TunerInput {
  NcclVersion version = kNccl2_21_5;
  int nodes = 1;
  int ranks = 1;
  int compute_capability_min = 0, compute_capability_max = 0;  ///< 10 * major + minor
  HostCpu cpu = HostCpu::intel;
  ChannelGraph ring, tree;
  ChannelCounts channels;
  bool nvls = false;     ///< the device and the node offer NVLS (not modelled, but see fallbacks)
  bool collnet = false;  ///< a CollNet plugin is there
  NcclSettings settings;
};

/// A protocol of an algorithm for one collective, before any size is known.
struct TunedPair {
  float latency_us = 0;
  float bandwidth_GBps = 0;  ///< of the algorithm: message size over time; 0 = excluded
  std::string excluded;      ///< why, in a sentence; empty when in the race
};

/// Ring and Tree are modelled; the arrays have room for all.
struct TuningModel {
  TunerInput input;
  std::array<std::array<std::array<TunedPair, kProtocols>, kAlgorithms>, kTunedCollectives> pairs;
  std::array<std::array<int, kProtocols>, kAlgorithms> threads_max{};  ///< per block
  std::array<std::array<int, kProtocols>, kAlgorithms>
      bytes_per_thread{};  ///< below: fewer of them

  const TunedPair& pair(Collective c, Algorithm a, Protocol p) const {
    return pairs[index_of(c)][index_of(a)][index_of(p)];
  }
};

/// Evaluates the model once for a communicator. REQUIRES: graphs with channels.
TuningModel tuning_model(const TunerInput& input);

/// One entry of the race for a message size.
struct Candidate {
  Algorithm algorithm{};
  Protocol protocol{};
  float latency_us = 0;      ///< with what this size adds to it
  float bandwidth_GBps = 0;  ///< with what this size takes from it; 0 when excluded
  float time_us = 0;         ///< predicted; 0 when excluded
  std::string excluded;      ///< why it did not take part; empty when it did
};

/// What NCCL does with a call, and what that beat.
struct TunerDecision {
  std::optional<Algorithm>
      algorithm;  ///< nothing: 2.27+ refuses the call, or only NVLS etc. is left
  Protocol protocol{};
  float time_us = 0;
  int channels = 0;  ///< from the size rule; the split may leave some without work (partition.hpp)
  int threads = 0;   ///< per block
  std::vector<Candidate> candidates;  ///< every modelled one, in NCCL's order
};

/// `size` as message_size() counts it. REQUIRES: a tuned collective; size > 0.
TunerDecision decide(const TuningModel& model, Collective collective, Bytes size);

}  // namespace fabricast
