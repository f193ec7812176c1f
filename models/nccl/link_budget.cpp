#include "models/nccl/link_budget.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {
namespace {

/// NCCL keeps what is left in whole MB/s, as differences of floats drift.
void subtract(float& left, float bw) { left = std::round((left - bw) * 1000) / 1000; }

}  // namespace

LinkBudget::LinkBudget(const NcclTopology& topology) : topology_(topology) {
  for (const TopoLink& link : topology.graph().links()) {
    left_.push_back(link.bw);
    returns_.push_back(return_of(link));
  }
  for (const TopoVertexId net : topology.graph().all(TopoKind::net)) {
    net_left_.push_back(topology.graph().vertex(net).net.bw);
  }
}

LinkBudget::Return LinkBudget::return_of(const TopoLink& link) const {
  const NcclGraph& graph = topology_.graph();
  const TopoVertex& to = graph.vertex(link.to);
  Return out;
  const bool has_packages = topology_.version() >= kNccl2_30;
  if (to.kind == (has_packages ? TopoKind::dev : TopoKind::gpu) && to.gpu.sm < 80) {
    out.share = 1.F / 8;  // writing to GPUs before Ampere sends many acknowledgements
  } else if (to.kind == TopoKind::cpu && to.cpu.arch == CpuArch::power &&
             link.kind == TopoLinkKind::nvl) {
    out.share = 1;  // the NVLink of Power CPUs carries one direction at a time
    out.from_gpus = true;
  }
  if (out.share == 0) return out;
  for (const TopoLinkId l : to.out) {
    if (graph.link(l).to == link.from && graph.link(l).kind == link.kind) {
      out.link = l;
      return out;
    }
  }
  return {};
}

/// Peer-to-peer traffic through the root complex of Intel CPUs costs a fifth more.
float LinkBudget::pci_bw(const NcclPath& path, TopoVertexId start, float bw) const {
  const NcclGraph& graph = topology_.graph();
  if (path.type != PathType::phb || graph.vertex(start).kind != TopoKind::gpu) return bw;
  for (const TopoLinkId l : path.links) {
    const TopoVertex& to = graph.vertex(graph.link(l).to);
    if (to.kind == TopoKind::cpu && to.cpu.arch == CpuArch::x86 &&
        to.cpu.vendor == CpuVendor::intel) {
      return bw * 6 / 5;
    }
  }
  return bw;
}

bool LinkBudget::take_link(TopoLinkId link, const Return& back, float forward, float backward) {
  float& left = left_[index_of(link)];
  if (left < forward) return false;
  if (backward != 0 && left_[index_of(back.link)] < backward) return false;
  subtract(left, forward);
  if (backward != 0) subtract(left_[index_of(back.link)], backward);
  return true;
}

bool LinkBudget::take(const NcclPath& path, TopoVertexId start, float bw) {
  const NcclGraph& graph = topology_.graph();
  const float on_pci = pci_bw(path, start, bw);
  const bool is_from_gpu = graph.vertex(start).kind == TopoKind::gpu;
  const auto pass = [&](TopoLinkId link, float sign) {
    const float forward = sign * (graph.link(link).kind == TopoLinkKind::pci ? on_pci : bw);
    const Return& back = returns_[index_of(link)];
    const bool costs_return = back.share != 0 && (!is_from_gpu || back.from_gpus);
    return take_link(link, back, forward, costs_return ? forward * back.share : 0);
  };
  for (std::size_t i = 0; i < path.links.size(); ++i) {
    if (pass(path.links[i], 1)) continue;
    for (std::size_t undo = 0; undo < i; ++undo) pass(path.links[undo], -1);
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
      return static_cast<int>(std::min(left(up), left(down)));
    }
  }
  return -1;
}

}  // namespace fabricast
