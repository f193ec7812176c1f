// Which constraint of a search is given up next. src/graph/search.cc of NCCL, first pass of
// ncclTopoCompute.

#include "models/nccl/search/graph_search.hpp"

namespace fabricast {

/// Gives up one constraint, the least painful first, and takes all lesser ones up again.
bool GraphSearch::relax() {
  if (relax_same_channels()) return true;
  global_steps_ += steps_;
  if (global_steps_ < 0 && best_.count > 0) return false;
  return relax_pattern() || relax_type_intra() || relax_type_inter() || relax_cross_nic() ||
         relax_speed();
}

bool GraphSearch::relax_same_channels() {
  const auto& cpu = topology_.graph().first_cpu().cpu;
  const bool is_amd =
      is_version(kNccl2_19) && cpu.arch == CpuArch::x86 && cpu.vendor == CpuVendor::amd;
  if (draft_.same_channels && !(is_amd && draft_.type_intra == PathType::sys)) {
    draft_.same_channels = false;
    return true;
  }
  draft_.same_channels = first_same_channels_;
  return false;
}

bool GraphSearch::relax_pattern() {
  if (min_sm_ >= 90 && draft_.pattern == GraphPattern::balanced_tree) {
    draft_.pattern = GraphPattern::tree;
    return true;
  }
  draft_.pattern = best_.pattern;  // not the pattern asked for: NCCL goes on with what it found
  return false;
}

bool GraphSearch::relax_type_intra() {
  const PathType last = topology_.uses_net() ? draft_.type_inter : last_intra_;
  if (draft_.type_intra < last && (best_.count == 0 || draft_.type_intra < best_.type_intra)) {
    draft_.type_intra = next_type(draft_.type_intra, topology_.version());
    if (draft_.type_intra < PathType::dis) return true;
  }
  draft_.type_intra = first_intra_;
  return false;
}

bool GraphSearch::relax_type_inter() {
  const bool is_worth_it =
      best_.count == 0 || draft_.type_inter < best_.type_inter || draft_.type_inter < PathType::pxn;
  if (topology_.uses_net() && draft_.type_inter < last_inter_ && is_worth_it) {
    draft_.type_inter = next_type(draft_.type_inter, topology_.version());
    if (draft_.type_inter < PathType::dis) return true;
  }
  draft_.type_inter = first_inter_;
  return false;
}

bool GraphSearch::relax_cross_nic() {
  const bool may_cross = !is_version(kNccl2_23) || best_.pattern == GraphPattern::ring ||
                         best_.pattern == GraphPattern::balanced_tree;
  if (!is_version(kNccl2_19)) {  // it takes the setting for the liberty
    draft_.cross_nic = draft_.cross_nic == 0 ? cross_nic_setting_ : 0;
    return draft_.cross_nic != 0;
  }
  if (cross_nic_setting_ == 2 && draft_.cross_nic == 0 && may_cross) {
    draft_.cross_nic = is_version(kNccl2_23) ? 2 : 1;
    return true;
  }
  draft_.cross_nic = cross_nic_setting_ == 1 ? 1 : 0;
  return false;
}

bool GraphSearch::relax_speed() {
  if (speed_ + 1 >= speeds_.size()) return false;
  if (best_.count > 0) {  // half the bandwidth is worth a try, as it may come with more channels
    const float share = speeds_[speed_ + 1] / best_.bw_inter;
    if (static_cast<double>(share) <= .49) return false;
  }
  set_speed(speed_ + 1);
  return true;
}

}  // namespace fabricast
