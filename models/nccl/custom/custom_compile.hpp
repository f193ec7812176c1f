#pragma once
// From a list of transfers of chunks, in the order of a program for all ranks together, to thread
// blocks: who sends, who receives, what is passed on at once, and who has to wait for whom.

#include <vector>

#include "models/nccl/custom/custom_algorithm.hpp"

namespace fabricast {

/// Chunks of one rank to another, or within a rank.
struct ChunkTransfer {
  int from = 0, to = 0;  ///< ranks
  ChunkPlace source, target;
  int count = 1;
  bool reduce = false;  ///< added to the target, else in its place
  int channel = 0;
  int line = 0;  ///< in the file
};

/// Fills `algorithm.blocks`. What a transfer brings and a later one takes on, as the next use of
/// the chunk, is one step (recvCopySend, recvReduceSend, ...), as MSCCL's compiler fuses them,
/// where a rank's blocks then still have one rank to receive from and one to send to. Steps wait
/// for those of other blocks that used their chunks before. REQUIRES: ranks and chunks that are
/// there.
void compile(const std::vector<ChunkTransfer>& transfers, CustomAlgorithm& algorithm);

}  // namespace fabricast
