#include "models/training/calls/group_call.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/training/calls/rank_groups.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

/// Replicas of `group` that cut one copy of the weights.
RankGroup of_one_copy(const Layout& layout, RankGroup group) {
  if (layout.sharding == Sharding::hsdp) group.size = layout.shards(group.size);
  return group;
}

int stage_of(const Layout& layout, int rank) {
  return rank / layout.stride(Axis::pipeline) % layout.pipeline;
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

std::string_view group_name(const Layout& layout, Among among) {
  switch (among) {
    case Among::tensor:
      return "tp";
    case Among::context:
      return "cp";
    case Among::expert:
      return "ep";
    case Among::expert_tensor:
      return "etp";
    case Among::replicas:
      return layout.shards_weights() ? "fsdp" : "dp";
    case Among::expert_replicas:
      return layout.shards_weights() ? "fsdp-experts" : "dp-experts";
    case Among::copies:
      return "copies";
    case Among::stages:
      return "pp";
    case Among::everyone:
      return "world";
  }
  return "";
}

std::vector<int> ranks_with(const Layout& layout, Among among, const RankGroup& group, int rank) {
  const int outer_stride = group.outer > 1 ? group.outer_stride : 0;
  const int i = rank / group.stride % group.size;
  const int j = group.outer > 1 ? rank / outer_stride % group.outer : 0;
  const int first = rank - i * group.stride - j * outer_stride;
  std::vector<int> out;
  for (int b = 0; b < group.outer; ++b)
    for (int a = 0; a < group.size; ++a) out.push_back(first + a * group.stride + b * outer_stride);
  std::ranges::sort(out);
  const bool of_stages = among == Among::everyone || among == Among::stages;
  const bool fits = of_stages || std::ranges::all_of(out, [&](int one) {
                      return one < layout.gpus && stage_of(layout, one) == stage_of(layout, rank);
                    });
  if (!fits)
    throw Error(fmt::format("who replicates the experts of rank {} is not known", rank),
                "with experts take the usual order of ranks, and with hsdp a shard_group that "
                "divides their replicas");
  return out;
}

GroupCall group_call(const Layout& layout, Among among, Collective collective, double bytes,
                     std::int64_t elements) {
  return {{collective, group_of(layout, among), bytes}, among, elements};
}

}  // namespace fabricast
