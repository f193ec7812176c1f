#include "models/nccl/channel_search.hpp"

#include <algorithm>
#include <tuple>

namespace fabricast {
namespace {

/// For the reference attempt in index order, which is not counted.
constexpr int kIndexOrderSteps = 1 << 10;

void add_once(std::vector<int>& list, int item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

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
  if (topology_.version() >= kNccl2_30 && topology_.settings().nets_per_gpu > 0) {
    const auto per_gpu = static_cast<std::size_t>(topology_.settings().nets_per_gpu);
    nets_max = gpu == -1 ? per_gpu * gpus_.size() : per_gpu;
  }
  for (int type = 0; type <= static_cast<int>(farthest); ++type) {
    for (int g = 0; g < gpu_count(); ++g) {
      if (gpu != -1 && gpu != g) continue;
      for (int n = 0; n < static_cast<int>(nets_.size()) && out.size() < nets_max; ++n) {
        const NcclPath& path = topology_.path(this->gpu(g), net(n));
        if (path.type == static_cast<PathType>(type)) add_once(out, n);
      }
    }
  }
  return out;
}

void ChannelSearch::add_local_nets(int gpu, std::vector<int>& nets) const {
  std::optional<TopoVertexId> first;
  for (int channel = 0; channel < static_cast<int>(nets_.size()); ++channel) {
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
  const TopoVertexId nowhere = TopoVertexId{kNowhere};
  if (draft_->pattern == GraphPattern::nvls) {
    return try_gpu(nowhere, draft_->count, 0, ends(), Order::free);
  }
  if (draft_->count == 0) {
    try_gpu(nowhere, 0, 0, ends(), Order::by_index);
  } else {
    try_gpu(nowhere, draft_->previous().gpus[0], 0, ends(), Order::replay);
  }
  if (draft_->same_channels && draft_->count > 0) return;
  for (int g = 0; g < gpu_count(); ++g) try_gpu(nowhere, g, 0, ends(), Order::free);
}

void ChannelSearch::start_at_nets() {
  const std::span<const int> nets = start_nets(draft_->type_inter);
  const int count = static_cast<int>(nets.size());
  const int bw = static_cast<int>(draft_->bw_inter);
  for (int i = 0; i < count; ++i) {
    const int n = nets[static_cast<std::size_t>((draft_->count + i) % count)];
    if (!may_start_at(n)) continue;
    draft_->current().net_in = n;
    draft_->latency_inter_us = topology_.graph().vertex(net(n)).net.latency_us;
    budget_.take_net(n, bw);
    bool is_done = false;
    if (draft_->has_heads_only()) {
      is_done = start_head_at(n, count);
    } else {
      start_channel_at(n);
    }
    budget_.take_net(n, -bw);
    if (is_done) return;
  }
}
