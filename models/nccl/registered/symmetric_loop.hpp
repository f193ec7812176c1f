#pragma once
// How the loops of a symmetric kernel go over the ranks, as NCCL's kernels are written: what waits
// for what before the next bytes can move.

#include "models/nccl/registered/symmetric_kernel.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

struct SymmetricLoop {
  SymmetricKernel kernel{};
  int ranks = 0;
  Bytes size;  ///< of the larger buffer
  int blocks = 0;
};

/// Rounds of loads from peers that a thread waits for, one after another, until it has one value of
/// each. 1 where the kernel loads from no peer. REQUIRES: ranks >= 2, blocks >= 1.
int rounds_of_loads(const SymmetricLoop& loop);

/// Rounds of reads of its own memory that a thread of an LL kernel makes in a turn, parts of one
/// included, beside the wait for the data to come. 0 of other kernels. REQUIRES: as above.
double rounds_of_reads(const SymmetricLoop& loop);

}  // namespace fabricast
