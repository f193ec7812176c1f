#include "models/nccl/search/graph_search.hpp"

#include <algorithm>

#include "models/nccl/search/search_speeds.hpp"

namespace fabricast {
namespace {

// Steps are calls of the recursion, so that the result does not depend on the machine.
constexpr std::int64_t kGlobalSteps2_18 = 5 << 16, kGlobalSteps = 1 << 19;
constexpr int kSteps = 1 << 14;
constexpr int kSameChannelsSteps = 1 << 8;

/// NVLS and CollNet direct have one connection per head (src/include/device.h).
constexpr int kNvlsHeads2_20 = 8, kNvlsHeads = 32;
constexpr int kCollnetHeads = 8;

float widest_way(const NcclTopology& topology, TopoVertexId from, TopoKind to) {
  float widest = 0;
  for (const TopoVertexId v : topology.graph().all(to)) {
    const NcclPath& path = topology.path(from, v);
    if (path.hops() > 0) widest = std::max(widest, path.bw);
  }
  return widest;
}

float all_links(const NcclGraph& graph, TopoVertexId device) {
  float nvlink = 0, pci = 0;
  for (const TopoLinkId l : graph.vertex(device).out) {
    const TopoLink& link = graph.link(l);
    if (link.kind == TopoLinkKind::nvl) nvlink += link.bw;
    if (link.kind == TopoLinkKind::pci) pci = link.bw;
  }
  return std::max(nvlink, pci);
}

std::vector<PathType> types_between(const NcclTopology& topology, TopoKind a, TopoKind b) {
  std::vector<PathType> out;
  for (const TopoVertexId from : topology.graph().all(a)) {
    for (const TopoVertexId to : topology.graph().all(b)) {
      out.push_back(topology.path(from, to).type);
      out.push_back(topology.path(to, from).type);
    }
  }
  return out;
}

std::vector<PathType> each_once(std::vector<PathType> types) {
  std::ranges::sort(types);
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

/// The farthest type that exists up to `limit`.
PathType farthest_within(const std::vector<PathType>& types, PathType limit) {
  const auto beyond = std::ranges::upper_bound(types, limit);
  return beyond == types.begin() ? PathType::loc : *(beyond - 1);
}

}  // namespace

GraphSearch::GraphSearch(const NcclTopology& topology, BandwidthLimits limits,
                         ChannelSearch& channels)
    : topology_(topology), limits_(limits), channels_(channels) {
  intra_types_ = types_between(topology, TopoKind::gpu, TopoKind::gpu);
  const std::vector<PathType> to_switch = types_between(topology, TopoKind::gpu, TopoKind::nvs);
  intra_types_.insert(intra_types_.end(), to_switch.begin(), to_switch.end());
  intra_types_ = each_once(std::move(intra_types_));
  inter_types_ = each_once(types_between(topology, TopoKind::gpu, TopoKind::net));
}

BandwidthLimits bandwidth_limits(const NcclTopology& topology) {
  const NcclGraph& graph = topology.graph();
  if (!topology.uses_net() && graph.count(TopoKind::gpu) == 1) return {kLocalBw, kLocalBw};
  // 2.30 looks at GPU packages, whose paths no policy has changed.
  const TopoKind device = topology.version() < kNccl2_30 ? TopoKind::gpu : TopoKind::dev;
  BandwidthLimits out;
  for (const TopoVertexId d : graph.all(device)) {
    const TopoKind far = topology.uses_net() ? TopoKind::net : device;
    out.max_bw = std::max(out.max_bw, widest_way(topology, d, far));
    out.total_bw = std::max(out.total_bw, all_links(graph, d));
  }
  return out;
}

GraphDraft GraphSearch::search(const GraphRequest& request) {
  best_ = {};
  best_.pattern = request.pattern;
  best_.is_collnet = request.is_collnet;
  best_.min_channels = request.min_channels;
  best_.max_channels = request.max_channels;
  min_sm_ = topology_.graph().min_sm();
  set_liberties();
  const bool has_nvswitch = topology_.graph().count(TopoKind::nvs) > 0;
  if (request.pattern == GraphPattern::nvls && (!has_nvswitch || min_sm_ < 90)) return best_;

  set_channel_limits();
  draft_ = best_;
  set_first_speed();
  global_steps_ = is_version(kNccl2_19) ? kGlobalSteps : kGlobalSteps2_18;
  known_.clear();
  do {
    attempt_unless_known();
  } while (!is_enough() && relax());
  steps_ = ChannelSearch::kPerfect;
  if (is_version(kNccl2_19)) duplicate_channels();
  restart_from_best();
  while (steps_ != 0 && speed_ > 0 && raise()) attempt();
  if (!is_version(kNccl2_19)) duplicate_channels();
  if (best_.count == 0 && !best_.is_collnet && best_.pattern != GraphPattern::nvls) fall_back();
  return best_;
}

/// Which liberties there are, and the draft without any of them.
void GraphSearch::set_liberties() {
  const bool may_cross = best_.pattern == GraphPattern::ring ||
                         best_.pattern == GraphPattern::balanced_tree ||
                         best_.pattern == GraphPattern::split_tree;
  const bool has_nets = topology_.graph().count(TopoKind::net) > 1;
  cross_nic_setting_ = may_cross && has_nets ? topology_.settings().cross_nic : 0;
  best_.cross_nic = cross_nic_setting_ == 1 ? 1 : 0;

  first_intra_ = gpus() == 1 ? PathType::loc : PathType::nvl;
  first_inter_ = PathType::pix;
  last_intra_ = last_inter_ = PathType::sys;
  if (is_version(kNccl2_25)) {
    if (gpus() > 1) {
      first_intra_ = topology_.nearest_type(TopoKind::gpu);
      last_intra_ = topology_.farthest_type(TopoKind::gpu);
    }
    if (topology_.uses_net()) {
      first_inter_ = topology_.nearest_type(TopoKind::net);
      last_inter_ = topology_.farthest_type(TopoKind::net);
    }
    // Ampere's balanced trees may have to come back the long way.
    if (is_version(kNccl2_29) && min_sm_ < 90) last_inter_ = PathType::sys;
  }
  best_.type_intra = first_intra_;
  best_.type_inter = first_inter_;
  first_same_channels_ = best_.pattern != GraphPattern::nvls;
  best_.same_channels = first_same_channels_;
}

void GraphSearch::set_channel_limits() {
  if (best_.pattern == GraphPattern::nvls) {
    const int heads = std::min(is_version(kNccl2_21) ? kNvlsHeads : kNvlsHeads2_20, gpus());
    // 2.21 asks for all GPUs, but has no room for more channels either (MAXCHANNELS). 2.18 asks for
    // as many channels as there may be, and finds no more than there are heads.
    if (is_version(kNccl2_19) || !topology_.uses_net()) best_.max_channels = heads;
  }
  if (best_.pattern == GraphPattern::collnet_direct) {
    best_.max_channels = std::min(kCollnetHeads, gpus());
  }
  if (gpus() == 1 && best_.pattern != GraphPattern::ring) best_.pattern = GraphPattern::tree;
  // Inside a node NVLS reads from all GPUs evenly.
  if (!topology_.uses_net() && best_.pattern == GraphPattern::nvls) {
    best_.min_channels = best_.max_channels;
  }
  // A tree over two NVLink islands needs two channels, and gets as many as the ring has.
  if (is_version(kNccl2_26) && best_.pattern == GraphPattern::ring && best_.max_channels >= 2 &&
      best_.min_channels == 1 && topology_.has_split_nvlink()) {
    best_.min_channels = 2;
  }
}

/// The first speed that the widest way and, for all channels wanted, the links of a GPU allow. Only
/// rings need the links of every GPU.
void GraphSearch::set_first_speed() {
  speeds_ = search_speeds(min_sm_, topology_.uses_net(), topology_.version());
  const TopoKind device = is_version(kNccl2_30) ? TopoKind::dev : TopoKind::gpu;
  const int devices = topology_.graph().count(device);
  float total_bw = limits_.total_bw;
  if (devices > 1 && best_.pattern != GraphPattern::ring) {
    total_bw = static_cast<float>(static_cast<double>(total_bw) * (devices * 1.0 / (devices - 1)));
  }
  const auto channels = static_cast<float>(best_.min_channels);
  std::size_t index = 0;
  while (index + 1 < speeds_.size() &&
         (speeds_[index] > limits_.max_bw || speeds_[index] * channels > total_bw)) {
    ++index;
  }
  set_speed(index);
}

void GraphSearch::set_speed(std::size_t index) {
  speed_ = index;
  draft_.bw_intra = draft_.bw_inter = speeds_[index];
}

void GraphSearch::attempt() {
  steps_ = draft_.same_channels ? kSameChannelsSteps : kSteps;
  global_steps_ -= steps_;
  steps_ = channels_.run(draft_, best_, steps_);
}

/// Allowing a type that no path has changes nothing: the attempt would take the same course, find
/// what is known already and leave as many steps. (Heads are quickly found, and preferred
/// differently.)
void GraphSearch::attempt_unless_known() {
  if (draft_.has_heads_only()) return attempt();
  const Course course{draft_.pattern,
                      draft_.cross_nic,
                      draft_.same_channels,
                      speed_,
                      farthest_within(intra_types_, draft_.type_intra),
                      farthest_within(inter_types_, draft_.type_inter)};
  if (const auto known = known_.find(course); known != known_.end()) {
    steps_ = known->second;
    global_steps_ -= draft_.same_channels ? kSameChannelsSteps : kSteps;
    return;
  }
  attempt();
  known_[course] = steps_;
}

bool GraphSearch::is_enough() const {
  return steps_ == ChannelSearch::kPerfect ||
         static_cast<float>(best_.count) * best_.bw_inter >= limits_.total_bw;
}

/// Wide channels are used twice, as one thread block cannot fill them (ncclTopoDupChannels).
void GraphSearch::duplicate_channels() {
  if (best_.count == 0 || best_.pattern == GraphPattern::nvls || best_.bw_intra < 25) return;
  if (min_sm_ > 80 && best_.bw_intra < 50 && best_.count > 4) return;
  const int count = std::min(best_.count * 2, best_.max_channels);
  for (int c = best_.count; c < count; ++c) {
    best_.channels[static_cast<std::size_t>(c)] =
        best_.channels[static_cast<std::size_t>(c - best_.count)];
  }
  const auto uses = static_cast<float>((count + best_.count - 1) / best_.count);
  best_.bw_intra /= uses;
  best_.bw_inter /= uses;
  best_.count = count;
}

void GraphSearch::restart_from_best() {
  draft_ = best_;
  std::size_t index = 0;
  while (index + 1 < speeds_.size() && speeds_[index] > best_.bw_inter) ++index;
  set_speed(index);
  draft_.min_channels = best_.count;
}

/// Asks for more bandwidth with the solution's liberties: rings everywhere, NVLS from the net,
/// trees and CollNet inside the node, which pays on two nodes.
bool GraphSearch::raise() {
  if (best_.pattern == GraphPattern::ring) {
    set_speed(speed_ - 1);
  } else if (is_version(kNccl2_19) && best_.pattern == GraphPattern::nvls &&
             draft_.bw_inter == best_.bw_inter && draft_.bw_inter < draft_.bw_intra * 2) {
    draft_.min_channels = draft_.max_channels = best_.count;
    draft_.bw_inter = speeds_[--speed_];
  } else if (draft_.bw_intra == best_.bw_intra && draft_.bw_intra < draft_.bw_inter * 2) {
    draft_.bw_intra = speeds_[--speed_];
  } else {
    return false;
  }
  return true;
}

/// No way found: one slow channel in index order.
void GraphSearch::fall_back() {
  best_.channels.assign(1, {});
  best_.count = 1;
  for (int g = 0; g < gpus(); ++g) best_.channels[0].gpus.push_back(g);
  best_.channels[0].net_in = best_.channels[0].net_out = topology_.net_count() > 0 ? 0 : -1;
  best_.bw_intra = best_.bw_inter = 0.1F;
  best_.type_intra = best_.type_inter = PathType::sys;
  if (!is_version(kNccl2_29)) return;
  const NcclGraph& graph = topology_.graph();
  const auto first = topology_.local_net(graph.at(TopoKind::gpu, 0), 0);
  const auto last = topology_.local_net(graph.at(TopoKind::gpu, gpus() - 1), 0);
  if (first && last) {
    best_.channels[0].net_in = graph.index_of_vertex(*first);
    best_.channels[0].net_out = graph.index_of_vertex(*last);
  } else {
    best_.bw_inter = 0;
    best_.type_inter = PathType::dis;
  }
}

}  // namespace fabricast
