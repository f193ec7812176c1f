#include "models/training/calls/rank_groups.hpp"

namespace fabricast {

namespace {

RankGroup of_job(const Layout& l, RankGroup group) {
  group.job = l.gpus;
  return group;
}

RankGroup pairs(const Layout& l, Axis axis) {
  const int along = l.size(axis);
  return of_job(l, {along > 1 ? 2 : 1, l.stride(axis), 1, 1, along});
}

}  // namespace

RankGroup tensor_group(const Layout& l) { return of_job(l, {l.tensor, l.stride(Axis::tensor)}); }
RankGroup context_group(const Layout& l) { return of_job(l, {l.context, l.stride(Axis::context)}); }
RankGroup context_pair(const Layout& l) { return pairs(l, Axis::context); }
RankGroup expert_group(const Layout& l) { return of_job(l, {l.expert, l.expert_tensor}); }
RankGroup expert_tensor_group(const Layout& l) { return of_job(l, {l.expert_tensor, 1}); }
RankGroup dense_data_group(const Layout& l) {
  const int context = l.stride(Axis::context), data = l.stride(Axis::data);
  if (l.context == 1) return of_job(l, {l.data(), data});
  if (data == context * l.context) return of_job(l, {l.dense_replicas(), context});
  if (context == data * l.data()) return of_job(l, {l.dense_replicas(), data});
  if (context < data) return of_job(l, {l.context, context, l.data(), data});
  return of_job(l, {l.data(), data, l.context, context});
}
RankGroup expert_data_group(const Layout& l) {
  return of_job(l, {l.expert_replicas(), l.expert * l.expert_tensor});
}
RankGroup stage_pair(const Layout& l) { return pairs(l, Axis::pipeline); }
RankGroup pipeline_group(const Layout& l) { return {l.pipeline, l.stride(Axis::pipeline)}; }

}  // namespace fabricast
