#pragma once
// Which collective of one rank's trace is which of another's.

#include <cstddef>
#include <string>
#include <vector>

#include "models/io/traces/rank_trace.hpp"

namespace fabricast {

/// A collective of one rank.
struct MatchedRank {
  int rank = 0;  ///< place in the list of traces
  std::size_t collective = 0;
};

/// One collective, on all ranks that show it.
struct MatchedCall {
  int step = 0;                    ///< number of ProfilerStep; 0 where there are none
  std::vector<MatchedRank> ranks;  ///< by place, two at least
  bool is_whole = true;            ///< all members of the group are there
};

struct MatchedCalls {
  std::vector<MatchedCall> calls;
  std::vector<int> steps;    ///< numbers that all traces have, in order; {0} where there are none
  std::size_t messages = 0;  ///< sends and receives, which are not matched
  std::size_t unlike = 0;    ///< calls whose name or size differs from rank to rank
  std::size_t alone = 0;     ///< on one rank only
  std::size_t outside = 0;   ///< of no step that all traces have
  std::vector<std::string> notes;
};

/// By group and its number in it, as Kineto says it, else by order within a step.
MatchedCalls match_calls(const std::vector<RankTrace>& traces);

/// Everybody gets from everybody: it ends nowhere before all have arrived.
bool ends_together(const std::string& collective);
/// Ranks of a group as Kineto writes them: "[0, 8, 16, ..., 120]" of a size. Empty where it is not
/// written, or shortened and not evenly spaced.
std::vector<int> ranks_of_group(const std::string& text, int size);

}  // namespace fabricast
