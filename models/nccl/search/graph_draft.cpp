#include "models/nccl/search/graph_draft.hpp"

namespace fabricast {

bool is_better(const GraphDraft& draft, const GraphDraft& best, int gpus, NcclVersion version) {
  if (draft.count < draft.min_channels) return false;
  const auto draft_count = static_cast<float>(draft.count);
  const auto best_count = static_cast<float>(best.count);
  if (draft.pattern == GraphPattern::nvls) {  // a channel is a head: the more the better
    if (draft.count > best.count && draft.count <= gpus) return true;
    if (version < kNccl2_19) return false;
    return draft_count * draft.bw_inter > best_count * best.bw_inter;
  }
  const float bw = draft_count * draft.bw_intra;
  float best_bw = best_count * best.bw_intra;
  // Up to 2.19 a way that crosses NICs must be better by 15 % per step of crossing.
  if (version < kNccl2_20)
    best_bw *= static_cast<float>(1.0 - (best.cross_nic - draft.cross_nic) * .15);
  if (bw != best_bw) return bw > best_bw;
  return draft.pattern == best.pattern && draft.cross_nic == best.cross_nic &&
         draft.hops < best.hops;
}

}  // namespace fabricast
