#include "models/nccl/eligibility.hpp"

namespace fabricast {
namespace {

/// LL128 needs 128-byte stores to arrive whole: only some machines are known to keep them so.
std::string why_no_ll128(const TunerInput& in, const ChannelGraph& g) {
  const int low = in.compute_capability_min, high = in.compute_capability_max;
  const PathType farthest = low >= 90 ? PathType::pxn : PathType::pxb;
  if (g.type_inter > farthest) {
    return "LL128 needs the NIC at " + std::string(to_text(farthest)) + " or nearer, it is at " +
           std::string(to_text(g.type_inter));
  }
  if (g.type_intra > PathType::nvb) {
    return "LL128 needs NVLink between GPUs (NVB or nearer), the path is " +
           std::string(to_text(g.type_intra));
  }
  const bool old_rule = in.version < kNccl2_22;
  if (low != high && (old_rule || low < 90)) {
    return "LL128 needs GPUs of one compute capability, here are " + std::to_string(low) + " and " +
           std::to_string(high);
  }
  if (old_rule ? low != 70 && low != 80 && low != 90 : low < 70) {
    return "LL128 is not enabled for compute capability " + std::to_string(low) +
           (old_rule ? " (70, 80 and 90 are)" : " (from 70 on it is)");
  }
  return {};
}

/// 2.21 gives Ring and Tree back when NCCL_ALGO leaves nothing that could run.
bool ring_and_tree_are_back(const TunerInput& in, Collective c) {
  if (in.version >= kNccl2_24) return false;
  const auto listed = [&](Algorithm a) { return in.settings.algorithms.allows(c, index_of(a)); };
  const bool nvls = listed(Algorithm::nvls) && in.nodes == 1;
  const bool nvls_tree = listed(Algorithm::nvls_tree) && in.nodes > 1;
  return !in.collnet && !listed(Algorithm::ring) && !listed(Algorithm::tree) && !nvls && !nvls_tree;
}

/// Does NCCL have something for this collective that is not modelled here?
bool runs_without_ring_and_tree(const TunerInput& in, Collective c) {
  const auto listed = [&](Algorithm a) { return in.settings.algorithms.allows(c, index_of(a)); };
  if (!in.settings.protocols.allows(c, index_of(Protocol::simple))) return false;
  const bool all_reduce = c == Collective::all_reduce;
  if (!all_reduce && c != Collective::all_gather && c != Collective::reduce_scatter) return false;
  if (in.nvls && listed(Algorithm::nvls) && (in.nodes == 1 || (in.collnet && all_reduce))) {
    return true;
  }
  if (in.nvls && listed(Algorithm::nvls_tree) && in.nodes > 1 && all_reduce) return true;
  return in.collnet &&
         (listed(Algorithm::collnet_direct) || (all_reduce && listed(Algorithm::collnet_chain)));
}

}  // namespace

std::string why_excluded(const TunerInput& in, Collective c, Algorithm a, Protocol p) {
  if (!exists(a, c)) return "Tree exists for all_reduce only";
  if (!in.settings.algorithms.allows(c, index_of(a)) && !ring_and_tree_are_back(in, c)) {
    return "NCCL_ALGO leaves out " + std::string(to_text(a));
  }
  if (!in.settings.protocols.allows(c, index_of(p))) {
    return "NCCL_PROTO leaves out " + std::string(to_text(p));
  }
  if (p == Protocol::ll128 && !in.settings.protocols.by_user[index_of(c)]) {
    return why_no_ll128(in, a == Algorithm::tree ? in.tree : in.ring);
  }
  return {};
}

bool rings_return(const TunerInput& in, Collective c) {
  return in.version < kNccl2_24 && !runs_without_ring_and_tree(in, c);
}

}  // namespace fabricast
