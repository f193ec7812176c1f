#pragma once
// What a kernel costs beside the links that it crosses, where it stores into and loads from the
// memory of its peers. Values and their sources: workloads/engines.yaml.

#include <map>

#include "sim/base/units.hpp"

namespace fabricast {

/// Of a generation of GPUs.
struct PeerGpu {
  Duration hop;          ///< from a store to a peer until the peer that polls has seen it
  Duration load;         ///< of a peer's memory, there and back, with what a thread does with it
  Bandwidth local;       ///< at which a kernel goes over its own memory
  double clock_GHz = 0;  ///< of the multiprocessors, boost
  Duration start{};      ///< of NCCL's symmetric kernels, from the end of the one before: hops
};

struct PeerCosts {
  std::map<int, PeerGpu> gpus;  ///< by compute capability
  Duration node;                ///< from the end of a node of a CUDA graph to the start of the next
  Duration copy;                ///< of a copy before or after another, beside its bytes
  Duration peer;                ///< of a barrier, for each peer but the first
  Duration turn;                ///< of a load of its own memory, until the next may start, at 1 GHz
  double loads = 0;             ///< share of a link that loads through it reach, of what stores may
  double stores = 0;            ///< and stores of a whole message to all peers
  double multimem = 0;          ///< and what the switch sums and multicasts
  // Of NCCL's symmetric kernels:
  double unrolled = 1;  ///< loads of 16 B that a thread has under way, of all peers together
  double round = 1;     ///< loads of a peer's memory that a round of a loop over peers takes
  Duration ll_read;     ///< of a round of LL reads of its own memory
  Duration burst;       ///< of a burst of stores to one peer, until the next peer's turn
};

/// Of the GPU's generation, else of the nearest older one, else of the oldest.
const PeerGpu& costs_of(const PeerCosts& costs, int sm);
/// Of what takes so long at 1 GHz.
Duration cycles(Duration at_1GHz, const PeerGpu& gpu);
/// What a generation that nobody measured is taken for: as many cycles as `known` takes.
PeerGpu derived(const PeerGpu& known, double clock_GHz, Bandwidth local);

}  // namespace fabricast
