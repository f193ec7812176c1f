#pragma once
// One collective of a training step. All groups of its kind make it side by side.

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/training/calls/collective_times.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// What the ranks of a group share or split.
enum class Among : std::uint8_t {
  tensor,
  context,
  expert,
  expert_tensor,
  replicas,         ///< of dense weights; with hsdp those that cut one copy of them
  expert_replicas,  ///< likewise of routed experts
  copies,           ///< with hsdp: the same shard of every copy
  stages,           ///< neighbours in the pipeline
  everyone
};
RankGroup group_of(const Layout& layout, Among among);
/// As reports name it: "tp", "dp", "fsdp", ...
std::string_view group_name(const Layout& layout, Among among);
/// Ranks of the group that `rank` is in, ascending. `group`: as a call has it. Throws Error where
/// the layout's order of ranks leaves open who is in it.
std::vector<int> ranks_with(const Layout& layout, Among among, const RankGroup& group, int rank);

/// `bytes` and `elements` are those of the larger buffer of a rank, as nccl-tests counts.
struct GroupCall : CollectiveTimes::Exchange {
  Among among{};
  std::int64_t elements = 0;
  /// A group of one makes no call, nor do ranks that have nothing to send.
  bool happens() const { return group.ranks() > 1 && bytes >= 1; }
};
GroupCall group_call(const Layout& layout, Among among, Collective collective, double bytes,
                     std::int64_t elements);

}  // namespace fabricast
