#include "models/studies/memory/memory_groups.hpp"

#include <algorithm>

#include "models/training/calls/group_call.hpp"

namespace fabricast {
namespace {

std::vector<int> ranks_of(const RankGroup& group) {
  std::vector<int> out;
  for (int b = 0; b < group.outer; ++b)
    for (int a = 0; a < group.size; ++a) out.push_back(a * group.stride + b * group.outer_stride);
  std::ranges::sort(out);
  return out;
}

std::vector<Collective> called_in(Among among, const Layout& layout) {
  switch (among) {
    case Among::tensor:
      if (!layout.sequence_is_sharded()) return {Collective::all_reduce};
      return {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce};
    case Among::context:
      switch (layout.context_exchange) {
        case ContextExchange::ring:
          return {Collective::sendrecv};
        case ContextExchange::all_gather:
          return {Collective::all_gather, Collective::reduce_scatter};
        case ContextExchange::all_to_all:
          return {Collective::alltoall};
      }
      return {};
    case Among::expert:
      return {Collective::alltoall};
    case Among::replicas:
    case Among::expert_replicas:
      if (layout.sharding == Sharding::none) return {Collective::all_reduce};
      return {Collective::reduce_scatter, Collective::all_gather};
    case Among::stages:
      return {Collective::sendrecv};
    case Among::expert_tensor:
    case Among::copies:
    case Among::everyone:
      return {Collective::all_reduce};
  }
  return {};
}

}  // namespace

std::vector<AskedGroup> groups_of_layout(const StepConfig& step, int gpus_per_node) {
  const Layout& layout = step.layout;
  std::vector<AskedGroup> out;
  const auto add = [&](std::string name, Among among, const RankGroup& group) {
    if (group.ranks() < 2) return;
    out.push_back({std::move(name), Members::of_job(ranks_of(group), gpus_per_node),
                   called_in(among, layout)});
  };
  add("tp", Among::tensor, group_of(layout, Among::tensor));
  add("cp", Among::context, group_of(layout, Among::context));
  add("ep", Among::expert, group_of(layout, Among::expert));
  add(layout.shards_weights() ? "fsdp" : "dp", Among::replicas, group_of(layout, Among::replicas));
  if (layout.expert > 1)
    add("dp-experts", Among::expert_replicas, group_of(layout, Among::expert_replicas));
  RankGroup stages;  // all of a pipeline, not only neighbours
  stages.size = layout.pipeline;
  stages.stride = layout.stride(Axis::pipeline);
  add("pp", Among::stages, stages);
  return out;
}

}  // namespace fabricast
