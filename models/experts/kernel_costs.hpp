#pragma once
// What the kernels of expert parallelism cost a GPU. Figures and their sources are in
// workloads/experts.yaml.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "models/experts/ep_launch.hpp"
#include "models/experts/expert_call.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// What one thread block (SM) does with a token of so many bytes that has `copies` receivers:
/// token + bytes / token_rate + copies * (copy / lanes + bytes / rate). `lanes`: GPUs of the node,
/// for each of which some of a block's warps work.
struct TokenWork {
  Duration token;
  Bandwidth token_rate;  ///< 0 = takes no time
  Duration copy;
  Bandwidth rate;  ///< 0 = takes no time

  /// For one token, in seconds.
  double seconds(double bytes, double copies, int lanes) const;
};

/// Dispatch or combine of one mode on one generation of GPUs.
struct PhaseCosts {
  Duration start;           ///< of a call on one node: launch, layout, the barrier at its end
  Bandwidth start_rate;     ///< and one token passes its lane at this rate; 0 = takes no time
  Duration start_doubling;  ///< and for each doubling of a node's GPUs beyond two
  /// Hops over NVLink before and after, on two GPUs; each doubling takes one more, as a barrier in
  /// rounds does. 0 = all in `start`.
  double start_hops = 0;
  TokenWork send, receive;
  double nvlink_share = 1;  ///< of the NVLink rate that the catalogue has
  double nic_share = 1;     ///< of a NIC's goodput, beside network_share
  Duration scan;  ///< per 8-bit token and GPU of the domain: scales are stored apart, by one SM
  Duration expert_flag;  ///< per expert on the own node: its count is told and awaited
  // On several nodes:
  double forward = 1;     ///< times the work of a copy in one node, by an SM that forwards
  Duration net_start;     ///< of a call on two nodes, in place of `start`
  Duration net_doubling;  ///< and for each doubling beyond
  /// The kernel before it that tells counts: on two nodes, for each doubling beyond. In an NVLink
  /// domain: on two GPUs, for each doubling beyond, and for each token of a rank.
  Duration notify, notify_doubling, notify_token;
  Duration net_flag;  ///< per expert on other nodes
};

struct ModeCosts {
  int since_sm = 0;                  ///< compute capability from which on it holds: 90 = 9.0
  std::array<PhaseCosts, 2> phases;  ///< by EpPhase

  const PhaseCosts& of(EpPhase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

struct ExpertKernels {
  /// By EpMode of those with kernels of their own, newest GPUs last.
  std::array<std::vector<ModeCosts>, kEpKernelModes> modes;
  /// From a store to a peer until the peer that polls has seen it, by compute capability.
  std::map<int, Duration> hops;
  double network_share = 1;  ///< of a NIC's goodput that one-sided writes reach
  int chunk_tokens = 8;      ///< that a block sends a peer at once
  int net_chunk_tokens = 16;
  EpLaunchCosts launch;

  /// The newest that such a GPU has; of an older one the oldest. REQUIRES: there are any.
  const ModeCosts& of(EpMode mode, int sm) const;
  /// Likewise; 0 where none is known.
  Duration hop(int sm) const;
};

}  // namespace fabricast
