#include "models/training/rank_groups.hpp"

namespace fabricast {

RankGroup tensor_group(const Layout& l) { return {l.tensor, l.stride(Axis::tensor)}; }
RankGroup context_group(const Layout& l) { return {l.context, l.stride(Axis::context)}; }
RankGroup expert_group(const Layout& l) { return {l.expert, l.expert_tensor}; }
RankGroup dense_data_group(const Layout& l) {
  const int context = l.stride(Axis::context), data = l.stride(Axis::data);
  if (l.context == 1) return {l.data(), data};
  if (data == context * l.context) return {l.dense_replicas(), context};
  if (context == data * l.data()) return {l.dense_replicas(), data};
  if (context < data) return {l.context, context, l.data(), data};
  return {l.data(), data, l.context, context};
}
RankGroup expert_data_group(const Layout& l) {
  return {l.expert_replicas(), l.expert * l.expert_tensor};
}
RankGroup stage_pair(const Layout& l) { return {l.pipeline > 1 ? 2 : 1, l.stride(Axis::pipeline)}; }

}  // namespace fabricast
