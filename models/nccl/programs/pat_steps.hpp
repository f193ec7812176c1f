#pragma once
// PAT (all_gather, reduce_scatter): what a rank does in one round over a chunk of every rank's
// share. Ranks form a binomial tree per share, all of them shifted copies of one tree, so that the
// steps are the same for every rank. Dimension d: reduce_scatter sends to rank + 2^d and receives
// from rank - 2^d, all_gather the other way round.
// Facts: PatRSAlgorithm and PatAGAlgorithm in src/include/collectives.h of NCCL 2.24 to 2.30.

#include <cstdint>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/split/slices.hpp"

namespace fabricast {

/// How shares are walked: `width` at a time, `stride` ranks apart. All but `ranks` powers of two.
struct PatShape {
  int ranks = 2;
  int parts = 1;  ///< shares that travel in one message
  int width = 1;
  int stride = 2;
  int parallel = 1;  ///< steps that a block executes at the same time

  constexpr bool operator==(const PatShape&) const = default;
};

/// Groups of threads that take steps in turn: one of each warp's size of the 512 workers
/// since 2.24.
constexpr int pat_parallel_max(NcclVersion version) { return version >= kNccl2_24 ? 16 : 1; }

/// `chunk` is what a slot holds, `share` what the channel carries of each rank's share.
/// REQUIRES: two ranks or more, at least one byte.
PatShape pat_shape(Bytes chunk, Bytes share, int ranks, int parallel_max);

/// One step: receive, add or forward, send. -1 where it does not take part.
struct PatStep {
  int recv_dim = -1, send_dim = -1;
  int distance = 0;                    ///< it is about the share of rank + distance
  int recv_part = -1, send_part = -1;  ///< places in the messages
  /// Messages between the one meant and the next to be posted (reduce_scatter, which adds to
  /// several before it posts them) or to be freed (all_gather, which reads several more than once).
  int ahead = 0;
  bool frees = false;  ///< the received message has been used up
  bool posts = false;  ///< the message sent is complete
  bool idle = false;   ///< its share belongs to nobody: there are too few ranks
};

/// Steps that follow each other without a gap.
using PatPass = std::vector<PatStep>;

/// One round. REQUIRES: all_gather or reduce_scatter.
std::vector<PatPass> pat_round(Collective collective, const PatShape& shape);

/// Steps that make or use up one message together: one primitive.
struct PatRow {
  std::uint32_t in = 0;   ///< bit d: the first to look at a message of dimension d
  std::uint32_t out = 0;  ///< bit d: posts one
  int parts = 0;          ///< shares it moves, or posts
};

/// A round as primitives. A message is taken in by the first row that reads it, although its slot
/// is free again only after the last, and takes a slot when it is posted, although it is written
/// before: slots that are held longer cost PAT more than these rows say.
std::vector<PatRow> pat_rows(Collective collective, const PatShape& shape);

/// Dimensions: log2 of the ranks, rounded up.
int pat_dimensions(int ranks);

}  // namespace fabricast
