#include "models/nccl/search/link_budget.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {
namespace {

/// std::round for the search's hottest line.
float rounded(float value) {
  if (!(std::abs(value) < 0x1p23F)) return value;  // whole already
  const auto cut = static_cast<float>(static_cast<int>(value));
  const float rest = value - cut;
  if (rest >= 0.5F) return cut + 1;
  return rest <= -0.5F ? cut - 1 : cut;
}

/// NCCL keeps what is left in whole MB/s, as differences of floats drift.
void subtract(float& left, float bw) { left = rounded((left - bw) * 1000) / 1000; }

}  // namespace

LinkBudget::LinkBudget(const NcclTopology& topology) : topology_(topology) {
  const NcclGraph& graph = topology.graph();
  for (const TopoLink& link : graph.links()) left_.push_back(link.bw);
  for (const TopoVertexId net : graph.all(TopoKind::net)) {
    net_left_.push_back(graph.vertex(net).net.bw);
  }
  ways_.resize(graph.vertex_count() * graph.vertex_count());
  std::vector<TopoVertexId> ends;
  for (const TopoKind kind : {TopoKind::gpu, TopoKind::net, TopoKind::nvs}) {
    const std::span<const TopoVertexId> all = graph.all(kind);
    ends.insert(ends.end(), all.begin(), all.end());
  }
  for (const TopoVertexId from : ends) {
    for (const TopoVertexId to : ends) add_way(from, to);
  }
}

void LinkBudget::add_way(TopoVertexId from, TopoVertexId to) {
  const NcclGraph& graph = topology_.graph();
  const NcclPath& path = topology_.path(from, to);
  Way& way = ways_[index_of(from) * graph.vertex_count() + index_of(to)];
  way.begin = static_cast<std::uint32_t>(steps_.size());
  const bool is_from_gpu = graph.vertex(from).kind == TopoKind::gpu;
  for (const TopoLinkId link : path.links) steps_.push_back(step_over(link, is_from_gpu));
  way.end = static_cast<std::uint32_t>(steps_.size());
  way.is_surcharged = is_surcharged(from, path);
}

LinkBudget::Step LinkBudget::step_over(TopoLinkId id, bool is_from_gpu) const {
  const NcclGraph& graph = topology_.graph();
  const TopoLink& link = graph.link(id);
  const TopoVertex& to = graph.vertex(link.to);
  Step out;
  out.link = index_of(id);
  out.is_pci = link.kind == TopoLinkKind::pci;
  const TopoKind device = topology_.version() < kNccl2_30 ? TopoKind::gpu : TopoKind::dev;
  if (to.kind == device && to.gpu.sm < 80 && !is_from_gpu) {
    out.back_share = 1.F / 8;  // writing to GPUs before Ampere sends many acknowledgements
  } else if (to.kind == TopoKind::cpu && to.cpu.arch == CpuArch::power &&
             link.kind == TopoLinkKind::nvl) {
    out.back_share = 1;  // the NVLinks of Power CPUs carry one direction at a time
  }
  for (const TopoLinkId back : to.out) {
    if (graph.link(back).to == link.from && graph.link(back).kind == link.kind) {
      out.back = index_of(back);
    }
  }
  return out;
}

/// Peer-to-peer traffic through the root complex of Intel CPUs costs a fifth more.
bool LinkBudget::is_surcharged(TopoVertexId from, const NcclPath& path) const {
  const NcclGraph& graph = topology_.graph();
  if (path.type != PathType::phb || graph.vertex(from).kind != TopoKind::gpu) return false;
  return std::ranges::any_of(path.links, [&](TopoLinkId link) {
    const TopoVertex& to = graph.vertex(graph.link(link).to);
    return to.kind == TopoKind::cpu && to.cpu.arch == CpuArch::x86 &&
           to.cpu.vendor == CpuVendor::intel;
  });
}

bool LinkBudget::pass(const Step& step, float bw) {
  float& left = left_[step.link];
  if (left < bw) return false;
  if (step.back_share == 0) {
    subtract(left, bw);
    return true;
  }
  float& back_left = left_[step.back];
  const float backward = bw * step.back_share;
  if (back_left < backward) return false;
  subtract(left, bw);
  subtract(back_left, backward);
  return true;
}

bool LinkBudget::take(TopoVertexId from, TopoVertexId to, float bw) {
  const Way& way = ways_[index_of(from) * topology_.graph().vertex_count() + index_of(to)];
  const float bw_pci = way.is_surcharged ? bw * 6 / 5 : bw;
  for (std::uint32_t i = way.begin; i < way.end; ++i) {
    if (pass(steps_[i], steps_[i].is_pci ? bw_pci : bw)) continue;
    while (i-- > way.begin) pass(steps_[i], steps_[i].is_pci ? -bw_pci : -bw);
    return false;
  }
  return true;
}

void LinkBudget::take_net(int net, int bw) {
  const NcclGraph& graph = topology_.graph();
  const auto& taken = graph.vertex(graph.at(TopoKind::net, net)).net;
  for (std::size_t n = 0; n < net_left_.size(); ++n) {
    const auto& other = graph.vertex(graph.at(TopoKind::net, static_cast<int>(n))).net;
    if (other.asic == taken.asic && other.port == taken.port) {
      net_left_[n] -= static_cast<float>(bw);
    }
  }
}

int LinkBudget::gpu_pci_bw(TopoVertexId gpu) const {
  const NcclGraph& graph = topology_.graph();
  const TopoVertexId device = graph.device_of(gpu);
  for (const TopoLinkId up : graph.vertex(device).out) {
    if (graph.link(up).kind != TopoLinkKind::pci) continue;
    for (const TopoLinkId down : graph.vertex(graph.link(up).to).out) {
      if (graph.link(down).to != device) continue;
      return static_cast<int>(std::min(left_[index_of(up)], left_[index_of(down)]));
    }
  }
  return -1;
}

}  // namespace fabricast
