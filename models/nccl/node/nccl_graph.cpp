#include "models/nccl/node/nccl_graph.hpp"

#include <algorithm>
#include <climits>

namespace fabricast {

int NcclGraph::index_of_vertex(TopoVertexId id) const {
  const auto& list = by_kind_[index_of_kind(vertex(id).kind)];
  return static_cast<int>(std::ranges::find(list, id) - list.begin());
}

TopoVertexId NcclGraph::device_of(TopoVertexId gpu) const {
  if (count(TopoKind::dev) == 0) return gpu;
  for (const TopoLinkId l : vertex(gpu).out) {
    if (vertex(link(l).to).kind == TopoKind::dev) return link(l).to;
  }
  return gpu;
}

int NcclGraph::min_sm() const {
  // Packages stay when trimming takes their GPUs away.
  const TopoKind device = count(TopoKind::dev) > 0 ? TopoKind::dev : TopoKind::gpu;
  int least = INT_MAX;
  for (const TopoVertexId v : all(device)) least = std::min(least, vertex(v).gpu.sm);
  return least;
}

void NcclGraph::remove(TopoVertexId id) {
  std::erase(by_kind_[index_of_kind(vertex(id).kind)], id);
  for (const auto& list : by_kind_) {
    for (const TopoVertexId other : list) {
      std::erase_if(vertices_[index_of(other)].out, [&](TopoLinkId l) { return link(l).to == id; });
    }
  }
}

}  // namespace fabricast
