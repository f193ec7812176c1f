#include "models/training/calls/group_call.hpp"

#include "models/training/calls/rank_groups.hpp"

namespace fabricast {

namespace {

/// Replicas of `group` that cut one copy of the weights.
RankGroup of_one_copy(const Layout& layout, RankGroup group) {
  if (layout.sharding == Sharding::hsdp) group.size = layout.shards(group.size);
  return group;
}

}  // namespace

RankGroup group_of(const Layout& layout, Among among) {
  switch (among) {
    case Among::tensor:
      return tensor_group(layout);
    case Among::context:
      return context_group(layout);
    case Among::expert:
      return expert_group(layout);
    case Among::expert_tensor:
      return expert_tensor_group(layout);
    case Among::replicas:
      return of_one_copy(layout, dense_data_group(layout));
    case Among::expert_replicas:
      return of_one_copy(layout, expert_data_group(layout));
    case Among::copies: {
      const int shards = layout.shards(layout.dense_replicas());
      return {layout.dense_replicas() / shards, layout.tensor * shards, 1, 1, 0, layout.gpus};
    }
    case Among::stages:
      return stage_pair(layout);
    case Among::everyone:
      return {layout.gpus, 1};
  }
  return {};
}

GroupCall group_call(const Layout& layout, Among among, Collective collective, double bytes,
                     std::int64_t elements) {
  return {{collective, group_of(layout, among), bytes}, among, elements};
}

}  // namespace fabricast
