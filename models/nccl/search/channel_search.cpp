#include "models/nccl/search/channel_search.hpp"

#include <algorithm>
#include <tuple>

#include "models/nccl/environment/settings.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {
namespace {

/// For the reference attempt in index order, which is not counted.
constexpr int kIndexOrderSteps = 1 << 10;

}  // namespace

ChannelSearch::ChannelSearch(const NcclTopology& topology, LinkBudget& budget)
    : topology_(topology), budget_(budget) {
  const NcclGraph& graph = topology.graph();
  const auto gpus = graph.all(TopoKind::gpu);
  const auto nets = graph.all(TopoKind::net).first(static_cast<std::size_t>(topology.net_count()));
  gpus_.assign(gpus.begin(), gpus.end());
  nets_.assign(nets.begin(), nets.end());
  used_.assign(gpus_.size(), 0);
  for (const TopoVertexId n : nets_) {
    const auto local = topology.local_gpu(n);
    local_gpus_.push_back(local ? graph.index_of_vertex(*local) : -1);
    std::vector<int>& near = near_gpus_.emplace_back();
    for (const TopoVertexId g : topology.nearest(n, TopoKind::gpu)) {
      near.push_back(graph.index_of_vertex(g));
    }
  }
  for (int type = 0; type < kPathTypes; ++type) {
    for (int g = -1; g < gpu_count(); ++g) {
      candidates_.push_back(collect_nets(g, static_cast<PathType>(type)));
    }
  }
}

std::span<const int> ChannelSearch::nets_of(int gpu, PathType type_inter) const {
  const auto row = static_cast<std::size_t>(type_inter) * (gpus_.size() + 1);
  return candidates_[row + static_cast<std::size_t>(gpu + 1)];
}

/// First each GPU's own nets, then all others, the nearer ones first. gpu -1: of all GPUs.
std::vector<int> ChannelSearch::collect_nets(int gpu, PathType farthest) const {
  std::vector<int> out;
  for (int g = 0; g < gpu_count(); ++g) {
    if (gpu == -1 || gpu == g) add_local_nets(g, out);
  }
  std::size_t nets_max = nets_.size();
  if (topology_.version() >= kNccl2_28 && topology_.settings().nets_per_gpu > 0) {
    const auto per_gpu = static_cast<std::size_t>(topology_.settings().nets_per_gpu);
    nets_max = gpu == -1 ? per_gpu * gpus_.size() : per_gpu;
  }
  const int nets = std::min(static_cast<int>(nets_.size()), max_channels(topology_.version()));
  for (int type = 0; type <= static_cast<int>(farthest); ++type) {
    for (int g = 0; g < gpu_count(); ++g) {
      if (gpu != -1 && gpu != g) continue;
      for (int n = 0; n < nets && out.size() < nets_max; ++n) {
        const NcclPath& path = topology_.path(this->gpu(g), net(n));
        if (path.type == static_cast<PathType>(type)) add_once(out, n);
      }
    }
  }
  return out;
}

void ChannelSearch::add_local_nets(int gpu, std::vector<int>& nets) const {
  std::optional<TopoVertexId> first;
  const int channels = std::min(static_cast<int>(nets_.size()), max_channels(topology_.version()));
  for (int channel = 0; channel < channels; ++channel) {
    const std::optional<TopoVertexId> local = topology_.local_net(this->gpu(gpu), channel);
    if (!local || local == first) return;
    if (!first) first = local;
    add_once(nets, topology_.graph().index_of_vertex(*local));
  }
}

int ChannelSearch::run(GraphDraft& draft, GraphDraft& best, int steps) {
  draft_ = &draft;
  best_ = &best;
  steps_ = steps;
  draft.count = 0;
  draft.channels.resize(static_cast<std::size_t>(draft.max_channels));
  for (DraftChannel& channel : draft.channels) channel.gpus.resize(gpus_.size(), -1);
  next_channel();
  return steps_;
}

ChannelSearch::Ends ChannelSearch::ends() const {
  const int last = gpu_count() - 1;
  const bool is_ring = draft_->pattern == GraphPattern::ring;
  if (!topology_.uses_net()) return {.first_gpu = is_ring ? last : -1};
  return {.net = is_ring ? last : draft_->pattern == GraphPattern::split_tree ? 1 : 0};
}

void ChannelSearch::next_channel() {
  if (topology_.uses_net()) {
    start_at_nets();
  } else {
    start_inside();
  }
}

void ChannelSearch::start_inside() {
  if (draft_->pattern == GraphPattern::nvls) {
    return try_gpu({}, draft_->count, 0, ends(), Order::free);
  }
  if (draft_->count == 0) {
    try_gpu({}, 0, 0, ends(), Order::by_index);
  } else {
    try_gpu({}, draft_->previous().gpus[0], 0, ends(), Order::replay);
  }
  if (draft_->same_channels && draft_->count > 0) return;
  for (int g = 0; g < gpu_count(); ++g) try_gpu({}, g, 0, ends(), Order::free);
}

void ChannelSearch::start_at_nets() {
  const std::span<const int> nets = nets_of(-1, draft_->type_inter);
  const int count = static_cast<int>(nets.size());
  const int bw = static_cast<int>(draft_->bw_inter);  // cut off, as NCCL does
  for (int i = 0; i < count; ++i) {
    const int turn = is_version(kNccl2_19) ? draft_->count : 0;
    const int n = nets[static_cast<std::size_t>((turn + i) % count)];
    // Of heads the first net decides, up to 2.21; 2.18 tries all.
    bool is_last = draft_->has_heads_only() && is_version(kNccl2_19) && !is_version(kNccl2_22);
    if (may_start_at(n)) {
      draft_->current().net_in = n;
      draft_->latency_inter_us = topology_.graph().vertex(net(n)).net.latency_us;
      budget_.take_net(n, bw);
      if (draft_->has_heads_only()) {
        is_last = (start_head_at(n, count) && is_version(kNccl2_19)) || is_last;
        // 2.22 never gives back what it took of the net of a GPU that is a head already.
        if (!is_version(kNccl2_23) && is_taken_head(n, count)) continue;
      } else {
        start_channel_at(n);
      }
      budget_.take_net(n, -bw);
    }
    if (is_last) return;
  }
}

bool ChannelSearch::may_start_at(int n) const {
  if (draft_->is_collnet && !topology_.graph().vertex(net(n)).net.collnet) return false;
  if (budget_.net_left(n) < static_cast<float>(static_cast<int>(draft_->bw_inter))) return false;
  // Channels that cross NICs come in pairs, each going in where the other comes out.
  const bool crosses = is_version(kNccl2_23)
                           ? draft_->pattern == GraphPattern::ring && draft_->cross_nic == 2
                           : is_version(kNccl2_20) && draft_->cross_nic != 0;
  const bool is_odd = draft_->count % 2 == 1;
  return !crosses || !is_odd || n == draft_->previous().net_out;
}

/// True when a head was tried, so that no other net is needed.
bool ChannelSearch::start_head_at(int n, int nets) {
  if (draft_->count >= nets) return false;
  // 2.18 goes in by the first net, whichever GPU's turn it is.
  const int of_net = is_version(kNccl2_19)
                         ? n
                         : nets_of(-1, draft_->type_inter)[static_cast<std::size_t>(draft_->count)];
  const int head = local_gpus_[static_cast<std::size_t>(of_net)];
  if (head == -1 || is_taken_head(n, nets)) return false;
  try_gpu(net(n), head, 0, ends(), Order::free);
  return true;
}

/// From 2.22 on each GPU is the head of one channel only.
bool ChannelSearch::is_taken_head(int n, int nets) const {
  const int head = local_gpus_[static_cast<std::size_t>(n)];
  if (!is_version(kNccl2_22) || draft_->count >= nets || head == -1) return false;
  const auto end = draft_->channels.begin() + draft_->count;
  return std::any_of(draft_->channels.begin(), end,
                     [&](const DraftChannel& channel) { return channel.gpus[0] == head; });
}

void ChannelSearch::start_channel_at(int n) {
  const bool is_first = draft_->count == 0;
  if (!is_first && (draft_->same_channels || !is_version(kNccl2_27))) {
    try_gpu(net(n), draft_->previous().gpus[0], 0, ends(), Order::replay);
  }
  if (!is_first && draft_->same_channels) return;
  const bool has_nvswitch = topology_.graph().count(TopoKind::nvs) > 0;
  if (is_first && (!has_nvswitch || !is_version(kNccl2_19))) try_index_order(n);
  if (is_version(kNccl2_27)) {
    try_local_gpus(n);
  } else {
    try_nearest_gpus(n);
  }
}

/// A solution to compare others with, on a budget of its own.
void ChannelSearch::try_index_order(int n) {
  const int steps = steps_;
  steps_ = kIndexOrderSteps;
  try_gpu(net(n), 0, 0, ends(), Order::by_index);
  if (steps_ != kPerfect) steps_ = steps;
}

void ChannelSearch::try_local_gpus(int n) {
  const int local = local_gpus_[static_cast<std::size_t>(n)];
  if (local != -1) try_gpu(net(n), local, 0, ends(), Order::free);
  for (const int g : near_gpus_[static_cast<std::size_t>(n)]) {
    if (g != local) try_gpu(net(n), g, 0, ends(), Order::free);
  }
}

/// Up to 2.26: the widest from the net, among these the fewest hops.
void ChannelSearch::try_nearest_gpus(int n) {
  const auto rank = [&](int g) {
    const NcclPath& path = topology_.path(net(n), gpu(g));
    return std::tuple(-path.bw, path.hops());
  };
  std::tuple nearest = rank(0);
  for (int g = 1; g < gpu_count(); ++g) nearest = std::min(nearest, rank(g));
  if (-std::get<0>(nearest) < static_cast<float>(static_cast<int>(draft_->bw_inter))) return;
  if (!is_version(kNccl2_19)) {
    // First GPUs whose PCIe link no channel has filled: these would be used both ways.
    for (const bool is_full : {false, true}) {
      for (int g = 0; g < gpu_count(); ++g) {
        if (rank(g) == nearest && (budget_.gpu_pci_bw(gpu(g)) <= 0) == is_full)
          try_gpu(net(n), g, 0, ends(), Order::free);
      }
    }
    return;
  }
  for (int i = 0; i < gpu_count(); ++i) {
    const int g = (draft_->count + i) % gpu_count();
    if (rank(g) == nearest) try_gpu(net(n), g, 0, ends(), Order::free);
  }
}

}  // namespace fabricast
