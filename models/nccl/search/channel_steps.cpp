// The inside of a channel: from GPU to GPU, back to the net or the first GPU, and what each step
// takes from the links. src/graph/search.cc of NCCL, ncclTopoSearchRecGpu and what it calls.

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "models/nccl/search/channel_search.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

void ChannelSearch::try_gpu(std::optional<TopoVertexId> from, int g, int position, Ends ends,
                            Order order) {
  if (from && !walk(*from, gpu(g), 1)) return;
  const std::uint64_t channel = std::uint64_t{1} << draft_->count;
  used_[static_cast<std::size_t>(g)] ^= channel;
  visit(g, position, ends, order);
  used_[static_cast<std::size_t>(g)] ^= channel;
  if (from) walk(*from, gpu(g), -1);
}

void ChannelSearch::visit(int g, int position, Ends ends, Order order) {
  if (steps_ <= 0) return;
  --steps_;
  draft_->current().gpus[static_cast<std::size_t>(position)] = g;
  if (position == ends.net) {
    return_to_net(g, position, ends, order);
  } else if (draft_->pattern == GraphPattern::nvls) {
    try_nvls_head(g);
  } else if (draft_->pattern == GraphPattern::collnet_direct) {
    try_collnet_head(g);
  } else if (position < gpu_count() - 1) {
    go_on(g, position, ends, order);
  } else if (position == ends.first_gpu) {
    close_ring(g);
  } else {
    finish_channel();
  }
}

void ChannelSearch::finish_channel() {
  if (steps_ <= 0) return;
  --steps_;
  ++draft_->count;
  if (is_better(*draft_, *best_, gpu_count(), topology_.version())) {
    *best_ = *draft_;
    if (draft_->count == draft_->max_channels) steps_ = kPerfect;
  }
  if (draft_->count < draft_->max_channels) next_channel();
  --draft_->count;
}

/// The GPU speaks with the net it found and then, still at its position, goes on inside. A balanced
/// tree does so at its first two GPUs, with half the bandwidth each.
void ChannelSearch::return_to_net(int g, int position, Ends ends, Order order) {
  const bool is_balanced = draft_->pattern == GraphPattern::balanced_tree;
  for (const int n : nets_of(g, draft_->type_inter)) {
    if (!may_end_at(n, position) || !walk_to_net(g, n, 1)) continue;
    draft_->current().net_out = n;
    visit(g, position, {is_balanced && position == 0 ? 1 : -1, ends.first_gpu}, order);
    walk_to_net(g, n, -1);
  }
}

bool ChannelSearch::may_end_at(int n, int position) const {
  const int start = draft_->current().net_in;
  const bool is_odd = draft_->count % 2 == 1;
  if (draft_->pattern == GraphPattern::tree && n != start) return false;
  if (is_version(kNccl2_23) && draft_->pattern != GraphPattern::ring) {
    if (draft_->cross_nic == 0 && !is_same_port(n, start)) return false;
  } else if (draft_->cross_nic == 0) {
    if (!is_same_port(n, start)) return false;
  } else if (is_version(kNccl2_20) && (draft_->cross_nic == 2 || !is_version(kNccl2_23))) {
    if (is_odd && n != draft_->previous().net_in) return false;
  }
  const bool is_second_end = draft_->pattern == GraphPattern::balanced_tree && position != 0;
  return !is_second_end || n == draft_->current().net_out;
}

bool ChannelSearch::is_same_port(int a, int b) const {
  const auto& one = topology_.graph().vertex(net(a)).net;
  const auto& other = topology_.graph().vertex(net(b)).net;
  return one.asic == other.asic && one.port == other.port;
}

void ChannelSearch::go_on(int g, int position, Ends ends, Order order) {
  std::vector<int> next;
  switch (order) {
    case Order::by_index:
      next = {position + 1};
      break;
    case Order::replay:
      next = {draft_->previous().gpus[static_cast<std::size_t>(position + 1)]};
      break;
    case Order::free:
      next = next_gpus(g, position, ends);
      break;
  }
  for (const int to : next) try_gpu(gpu(g), to, position + 1, ends, order);
}

void ChannelSearch::close_ring(int g) {
  const TopoVertexId first = gpu(draft_->current().gpus[0]);
  if (!walk(gpu(g), first, 1)) return;
  finish_channel();
  walk(gpu(g), first, -1);
}

/// The switch reads from all GPUs and writes to all, twice to the head, which reduces.
void ChannelSearch::try_nvls_head(int head) {
  const TopoVertexId nvs = topology_.graph().at(TopoKind::nvs, 0);
  const auto share = [&](int g) { return g == head ? 2.F : 1.F; };
  int in = 0, out = 0;
  while (in < gpu_count() && walk(nvs, gpu(in), share(in))) ++in;
  if (in == gpu_count()) {
    while (out < gpu_count() && walk(gpu(out), nvs, share(out))) ++out;
    if (out == gpu_count()) finish_channel();
  }
  while (out-- > 0) walk(gpu(out), nvs, -share(out));
  while (in-- > 0) walk(nvs, gpu(in), -share(in));
}

/// Every GPU sends its part to the head and gets it back.
void ChannelSearch::try_collnet_head(int head) {
  const float share = static_cast<float>(1.0 / static_cast<double>(gpu_count() - 1));
  int out = 0, back = 0;
  while (out < gpu_count() && walk(gpu(head), gpu(out), share)) ++out;
  if (out == gpu_count()) {
    while (back < gpu_count() && walk(gpu(back), gpu(head), share)) ++back;
    if (back == gpu_count()) {
      std::size_t position = 1;
      for (int g = 0; g < gpu_count(); ++g) {
        if (g != head) draft_->current().gpus[position++] = g;
      }
      finish_channel();
    }
  }
  while (back-- > 0) walk(gpu(back), gpu(head), -share);
  while (out-- > 0) walk(gpu(head), gpu(out), -share);
}

bool ChannelSearch::is_free(int from, int to) const {
  const bool is_used = (used_[static_cast<std::size_t>(to)] >> draft_->count & 1) != 0;
  return !is_used && topology_.path(gpu(from), gpu(to)).hops() > 0;
}

/// The most promising GPU first, as the search may run out of steps.
std::vector<int> ChannelSearch::next_gpus(int g, int position, Ends ends) const {
  // 2.19 and 2.20 go on with the others after the neighbours.
  const bool has_nvswitch = is_version(kNccl2_19) && topology_.graph().count(TopoKind::nvs) > 0;
  if (has_nvswitch && is_version(kNccl2_21)) return free_neighbours(g);
  const bool is_net_ahead = ends.net != -1;
  struct Candidate {
    int gpu = 0;
    std::pair<int, int> inside;         // less is better: bandwidth, hops from this GPU,
    std::tuple<int, int, int> outside;  // and from the net, with the PCIe bandwidth left
  };
  std::vector<Candidate> candidates;
  for (int distance = 1; distance < gpu_count(); ++distance) {
    const int to = (g + distance) % gpu_count();
    if (!is_free(g, to)) continue;
    Candidate& candidate = candidates.emplace_back();
    candidate.gpu = to;
    const NcclPath& path = topology_.path(gpu(g), gpu(to));
    candidate.inside = {-static_cast<int>(path.bw), path.hops()};
    if (!is_net_ahead) continue;
    const NcclPath& from_net = topology_.path(net(draft_->current().net_in), gpu(to));
    candidate.outside = {-static_cast<int>(from_net.bw), -budget_.gpu_pci_bw(gpu(to)),
                         from_net.hops()};
  }
  std::ranges::stable_sort(candidates, {}, [](const Candidate& candidate) {
    return std::tuple(candidate.outside, candidate.inside);
  });
  // As long as the way back to the net is not next, keep the GPUs close to it for the end.
  const bool is_net_later = is_net_ahead && ends.net != position + 1;
  const bool are_alike = std::ranges::all_of(candidates, [&](const Candidate& candidate) {
    return candidate.inside == candidates.front().inside;
  });
  if (is_net_later && are_alike) std::ranges::reverse(candidates);
  std::vector<int> out;
  if (has_nvswitch) out = free_neighbours(g);
  for (const Candidate& candidate : candidates) add_once(out, candidate.gpu);
  return out;
}

/// NVSwitches do best when each GPU speaks with few others.
std::vector<int> ChannelSearch::free_neighbours(int g) const {
  const int next = (g + 1) % gpu_count();
  const int previous = (g - 1 + gpu_count()) % gpu_count();
  std::array<int, 2> wanted = {next, previous};
  if (draft_->pattern == GraphPattern::ring) wanted = {previous, next};
  // Of two GPUs both neighbours are the same, which releases up to 2.20 try twice.
  const bool is_twice = next == previous && is_version(kNccl2_21);
  const bool has_two = draft_->pattern != GraphPattern::tree && !is_twice;
  std::vector<int> out;
  out.reserve(wanted.size());
  for (const int to : std::span(wanted).first(has_two ? 2 : 1)) {
    if (is_free(g, to)) out.push_back(to);
  }
  return out;
}

bool ChannelSearch::walk(TopoVertexId from, TopoVertexId to, float share) {
  const NcclGraph& graph = topology_.graph();
  const auto is_inside = [&](TopoVertexId v) {
    const TopoKind kind = graph.vertex(v).kind;
    return kind == TopoKind::gpu || kind == TopoKind::nvs;
  };
  const bool is_intra = is_inside(from) && is_inside(to);
  const PathType farthest = is_intra ? draft_->type_intra : draft_->type_inter;
  const NcclPath& path = topology_.path(from, to);
  if (path.type == PathType::dis) return false;
  if (share == 1) {
    if (path.type > farthest) return false;
    if (draft_->is_tree() && topology_.path(to, from).type > farthest) return false;
  }
  const float bw = (is_intra ? draft_->bw_intra : draft_->bw_inter) * share;
  if (!budget_.take(from, to, bw)) return false;
  const float hops = static_cast<float>(draft_->hops) + share * static_cast<float>(path.hops());
  draft_->hops = static_cast<int>(hops);
  return true;
}

bool ChannelSearch::walk_to_net(int g, int n, float share) {
  const float bw_inter = draft_->bw_inter;
  if (draft_->pattern == GraphPattern::balanced_tree) draft_->bw_inter /= 2;
  const bool is_free = walk(gpu(g), net(n), share);
  draft_->bw_inter = bw_inter;
  return is_free;
}

}  // namespace fabricast
