#pragma once
// What the hardware reaches in NVLS, by GPU generation: a bound of a GPU's links, which all
// channels share, and what one block copies.

#include "models/hardware/cluster/cluster.hpp"
#include "sim/links/machine.hpp"

namespace fabricast {

struct NvlsRates {
  /// Share of what stores reach of the links to the NVSwitches that multimem loads and stores
  /// reach.
  double efficiency = 1;
  Bandwidth copy_rate;  ///< of a block's scatter and of its gather, each; all heads together
  Duration overhead;    ///< of these, for one chunk of every head
};

/// The rates of one GPU. Of in_place() costs nothing is copied: no copy rate, as of every worker
/// that takes no time.
NvlsRates nvls_rates(const GpuPart& gpu, const SoftwareCosts& software);

/// The same where the NVSwitches read and write users' buffers.
SoftwareCosts in_place(SoftwareCosts software);

/// What multimem adds on the links of a node, of the slowest of its GPUs.
MultimemWire multimem_wire(const NodeGraph& node);

}  // namespace fabricast
