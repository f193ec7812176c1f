#pragma once
// NCCL's tuning model: what it predicts for every algorithm and protocol of a call, which it takes,
// and with how many channels and threads. Floats are NCCL's own: single precision where it stores
// one, so that times agree to the last digit. Facts: src/graph/tuning.cc and src/enqueue.cc of
// 2.21.5, 2.27.7 and 2.30.7.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/settings.hpp"
#include "models/nccl/node/nccl_graph.hpp"
#include "models/nccl/tuner/channel_counts.hpp"
#include "models/nccl/tuner/nvls_setup.hpp"
#include "models/nccl/tuner/tuner_plugin.hpp"

namespace fabricast {

/// What kind of host the model distinguishes.
enum class HostCpu : std::uint8_t { intel, amd, mixed_x86, zhaoxin, arm, power };
/// From the `arch` and `vendor` of NCCL's topology XML: "x86_64", "AuthenticAMD". Anything else
/// counts as Intel, which is how the model treats it.
HostCpu host_cpu(std::string_view arch, std::string_view vendor);
HostCpu host_cpu(CpuArch arch, CpuVendor vendor);

/// What the model sees of the communicator. Graphs are those after the exchange between ranks.
struct TunerInput {
  NcclVersion version = kNccl2_21_5;
  int nodes = 1;
  int ranks = 1;
  int compute_capability_min = 0, compute_capability_max = 0;  ///< 10 * major + minor
  HostCpu cpu = HostCpu::intel;
  ChannelGraph ring, tree;
  ChannelGraph collnet_direct, collnet_chain, nvls_graph;  ///< without channels: not to be had
  ChannelCounts channels;
  NvlsSetup nvls_setup;
  bool nvls = false;             ///< the GPUs and the node offer NVLS
  bool collnet = false;          ///< a CollNet plugin serves the NICs, and NCCL uses it
  bool collnet_chain_ok = true;  ///< 2.30: its heads have CollNet resources
  bool nvswitch = false;
  int collnet_heads = 0;         ///< GPUs that speak with CollNet
  int collnet_direct_heads = 0;  ///< those of its own graph
  int nvls_heads = 0;
  NcclSettings settings;
  const TunerPlugin* plugin = nullptr;  ///< asked for each call; it outlives the model
};

/// What the algorithm was searched as. PAT has the graph and the figures of Tree.
const ChannelGraph& graph_of(const TunerInput& input, Algorithm algorithm);

/// A protocol of an algorithm for one collective, before any size is known.
struct TunedPair {
  float latency_us = 0;
  float bandwidth_GBps = 0;  ///< of the algorithm: message size over time; 0 = not in the model
  std::string excluded;  ///< why, in a sentence; empty when in the race. Some have a bandwidth in
                         ///< the model, but calls pass them over
  float fallback_GBps = 0;  ///< Ring up to 2.23: what it has for calls that nothing is left for
};

struct TuningModel {
  TunerInput input;
  std::array<std::array<std::array<TunedPair, kProtocols>, kAlgorithms>, kTunedCollectives> pairs;
  std::array<std::array<int, kProtocols>, kAlgorithms> threads_max{};  ///< per block
  std::array<std::array<std::int64_t, kProtocols>, kAlgorithms>
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

/// Whether NCCL has the collective in this algorithm at all.
bool exists(Algorithm algorithm, Collective collective, NcclVersion version);

/// One protocol or all three: LL and LL128 are for Ring and Tree.
constexpr bool speaks(Algorithm algorithm, Protocol protocol) {
  return protocol == Protocol::simple || algorithm == Algorithm::tree ||
         algorithm == Algorithm::ring;
}

/// What NCCL does with a call, and what that beat.
struct TunerDecision {
  std::optional<Algorithm> algorithm;  ///< nothing: 2.24+ refuses the call
  Protocol protocol{};
  float time_us = 0;
  int channels = 0;  ///< from the size rule; the split may leave some without work (call_plan.hpp)
  int threads = 0;   ///< per block
  std::vector<Candidate> candidates;  ///< every algorithm and protocol, in NCCL's order
  bool plugin_counts = false;         ///< `channels` is a tuner plugin's number
  std::string plugin;  ///< what a tuner plugin did, "line 12 of rules.csv"; "" = nothing
};

/// `size` as message_size() counts it, of elements that are summed (or only moved). Integers of a
/// byte, and the floats of a byte, keep NVLS out. REQUIRES: a tuned collective; size > 0.
///
/// A tuner plugin has the last word on what it is offered (src/enqueue.cc, getAlgoInfo).
///
/// `calls`: of so many equal calls in one group, each of `size`; NCCL decides for all of them
/// together, and for each on its channels up to 2.21.
TunerDecision decide(const TuningModel& model, Collective collective, Bytes size,
                     int element_bytes = 4, int calls = 1);

/// Makes the candidate the one that is taken: `decision` as if it had won. REQUIRES: one of
/// decision.candidates that is not excluded.
void take(const TuningModel& model, const Candidate& candidate, Bytes size,
          TunerDecision& decision);

}  // namespace fabricast
