// The part of NcclTopology that changes paths by policy: peer-to-peer, shared memory or network
// between GPUs, relays and GPU-direct between GPUs and nets, and what is left of the node then.
// src/graph/paths.cc, src/transport/p2p.cc and shm.cc of NCCL 2.21 to 2.30.

#include <algorithm>

#include "models/nccl/node/nccl_paths.hpp"

namespace fabricast {

/// GPUs that may not reach `gpu` directly go through the CPU next to it.
void NcclTopology::divert_gpus_without_p2p(TopoVertexId gpu) {
  for (const TopoVertexId peer : graph_.all(TopoKind::gpu)) {
    const bool one_host = graph_.vertex(peer).host == graph_.vertex(gpu).host;
    if (one_host && !is_p2p_allowed(peer, gpu)) divert(peer, local_cpu(gpu), gpu);
  }
}

/// A pair that neither the P2P nor the shared memory transport would serve is left to the network.
void NcclTopology::mark_unreachable_gpus(TopoVertexId gpu) {
  for (const TopoVertexId peer : graph_.all(TopoKind::gpu)) {
    if (peer == gpu) continue;
    const bool is_net_better = is_net_faster(peer, gpu);
    const bool p2p = is_p2p_allowed(peer, gpu) && (has_gpu_relay(peer, gpu) || !is_net_better);
    const bool one_host = graph_.vertex(peer).host == graph_.vertex(gpu).host;
    const bool shm = one_host && !settings_.shm_disable && !is_net_better;
    if (!p2p && !shm) known(peer, gpu).type = PathType::net;
  }
}

PathType NcclTopology::p2p_level() const {
  const auto& cpu = graph_.first_cpu().cpu;
  const bool is_x86 = cpu.arch == CpuArch::x86;
  PathType level = PathType::sys;
  if (version() < kNccl2_23) {
    const bool is_weak = cpu.vendor == CpuVendor::intel || cpu.vendor == CpuVendor::zhaoxin;
    if (cpu.arch == CpuArch::arm || (is_x86 && is_weak)) level = PathType::pxb;
  } else {
    const int gpus = graph_.count(version() < kNccl2_30 ? TopoKind::gpu : TopoKind::dev);
    const bool is_amd_pair = is_x86 && cpu.vendor == CpuVendor::amd && gpus <= 2;
    if (!is_amd_pair) level = PathType::pxb;
  }
  return settings_.p2p_disable ? PathType::loc : settings_.p2p_level.value_or(level);
}

bool NcclTopology::is_p2p_allowed(TopoVertexId from, TopoVertexId to) const {
  return path(from, to).type <= p2p_level();
}

/// The way leads over two NVLinks and a third GPU.
bool NcclTopology::has_gpu_relay(TopoVertexId from, TopoVertexId to) const {
  const bool has_packages = version() >= kNccl2_30;
  const NcclPath& p = path(from, to);
  if (p.hops() != (has_packages ? 4 : 2)) return false;
  const TopoVertexId middle = graph_.link(p.links[has_packages ? 1 : 0]).to;
  return graph_.vertex(middle).kind == (has_packages ? TopoKind::dev : TopoKind::gpu);
}

/// Both GPUs have a near NIC with more bandwidth than there is between them.
bool NcclTopology::is_net_faster(TopoVertexId a, TopoVertexId b) const {
  if (settings_.net_disable_intra) return false;
  float net_a = 0, net_b = 0;
  for (const TopoVertexId net : graph_.all(TopoKind::net)) {
    if (path(a, net).type <= PathType::pxb) net_a = std::max(net_a, path(a, net).bw);
    if (path(b, net).type <= PathType::pxb) net_b = std::max(net_b, path(b, net).bw);
  }
  return net_a > path(a, b).bw && net_b > path(a, b).bw;
}

/// A net behind the CPU that a GPU hangs on by C2C is nearer than the breadth-first walk says;
/// since 2.29 only for the nets nearest to the GPU, as others had better be reached by PXN.
void NcclTopology::recognise_c2c_nets() {
  for (const TopoVertexId gpu : graph_.all(TopoKind::gpu)) {
    const TopoVertexId cpu = local_cpu(gpu);
    const std::span<const TopoVertexId> all = graph_.all(TopoKind::net);
    const std::vector<TopoVertexId> nets = version() < kNccl2_29
                                               ? std::vector<TopoVertexId>(all.begin(), all.end())
                                               : nearest(gpu, TopoKind::net);
    for (const TopoVertexId net : nets) {
      const auto [nearer, farther] = std::minmax(path(gpu, cpu).type, path(net, cpu).type);
      if (nearer != PathType::c2c || farther != PathType::phb) continue;
      known(gpu, net).type = std::min(path(gpu, net).type, PathType::p2c);
      known(net, gpu).type = std::min(path(net, gpu).type, PathType::p2c);
    }
  }
}

/// PXN: sends to a net through the GPU next to it, if NVLink leads there and it is wider or spares
/// the way through a CPU. Only in this direction: what arrives is received by the GPU next to the
/// net.
void NcclTopology::relay_to_net(TopoVertexId gpu, TopoVertexId net) {
  if (settings_.pxn_disable) return;
  const std::optional<TopoVertexId> relay = local_gpu(net);
  if (!relay || *relay == gpu) return;
  if (version() >= kNccl2_30 && !can_use_gdr(*relay, net, true)) return;
  const bool has_c2c = version() >= kNccl2_27 && settings_.pxn_c2c.value_or(version() >= kNccl2_28);
  if (path(*relay, net).type > (has_c2c ? PathType::p2c : PathType::pxb)) return;
  if (path(*relay, gpu).type > PathType::nvl) return;
  const PathType near_enough = version() < kNccl2_27 ? PathType::pxb : PathType::pxn;
  if (path(*relay, net).bw > path(gpu, net).bw || path(gpu, net).type > near_enough) {
    divert(gpu, *relay, net);
  }
}

/// `is_read`: the NIC reads GPU memory, i.e. the GPU sends.
bool NcclTopology::can_use_gdr(TopoVertexId gpu, TopoVertexId net, bool is_read) const {
  if (!graph_.vertex(gpu).gdr || !graph_.vertex(net).gdr) return false;
  if (is_read) {
    if (settings_.net_gdr_read == false) return false;
    // Before Ampere reads disturb other PCIe traffic, unless GPUs have NVLink for that. (2.18 does
    // not except any GPU.)
    const bool is_weak = graph_.vertex(gpu).gpu.sm < 80 || version() < kNccl2_19;
    if (!settings_.net_gdr_read && is_weak) {
      const std::span<const TopoVertexId> gpus = graph_.all(TopoKind::gpu);
      const bool has_nvlink = std::ranges::any_of(gpus, [&](TopoVertexId peer) {
        return peer != gpu && path(gpu, peer).type == PathType::nvl;
      });
      if (!has_nvlink && gpus.size() > 1) return false;
    }
  }
  PathType level = PathType::pxb;
  if (version() >= kNccl2_29 && settings_.net_gdr_c2c) level = PathType::p2c;
  level = settings_.net_gdr_level.value_or(level);
  PathType distance = path(gpu, net).type;
  if (distance == PathType::pxn) distance = path(relay_of(gpu, net), net).type;
  // 2.26 to 2.28 count a NIC behind the CPU of a C2C GPU as nearer than it is.
  if (version() < kNccl2_29 && settings_.net_gdr_c2c && is_over_c2c(gpu, distance))
    distance = PathType::c2c;
  return distance <= level;
}

/// Whether a way of this type to a NIC leads over C2C. 2.26 has no type for that yet.
bool NcclTopology::is_over_c2c(TopoVertexId gpu, PathType type) const {
  if (version() >= kNccl2_27) return type == PathType::p2c;
  return version() >= kNccl2_26 && type == PathType::phb &&
         path(gpu, local_cpu(gpu)).type == PathType::c2c;
}

/// The first GPU on a PXN path.
TopoVertexId NcclTopology::relay_of(TopoVertexId gpu, TopoVertexId net) const {
  const TopoVertexId own = graph_.device_of(gpu);
  for (const TopoLinkId l : path(gpu, net).links) {
    const TopoVertexId v = graph_.link(l).to;
    if (v == own) continue;
    for (const TopoVertexId other : graph_.all(TopoKind::gpu)) {
      if (graph_.device_of(other) == v) return other;
    }
  }
  return gpu;
}

/// Only the GPUs that rank `own` reaches without the network stay. If these are all ranks, nets are
/// of no use: until 2.27 they are taken out of the graph, since then the search looks away.
void NcclTopology::trim(int ranks, int own) {
  const std::span<const TopoVertexId> view = graph_.all(TopoKind::gpu);
  const std::vector<TopoVertexId> gpus(view.begin(), view.end());
  std::vector<std::size_t> group(gpus.size());
  std::size_t mine = 0;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    group[g] = g;
    for (std::size_t p = 0; p < g; ++p) {
      if (path(gpus[g], gpus[p]).type < PathType::net) group[g] = std::min(group[g], group[p]);
    }
    if (graph_.vertex(gpus[g]).gpu.rank == own) mine = group[g];
  }
  domains_ = 0;
  domain_of_.assign(gpus.size(), 0);
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    domains_ += group[g] == g ? 1 : 0;
    const auto rank = static_cast<std::size_t>(graph_.vertex(gpus[g]).gpu.rank);
    if (rank < domain_of_.size()) domain_of_[rank] = static_cast<int>(group[g]);
  }
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    if (group[g] != mine) graph_.remove(gpus[g]);
  }
  uses_net_ = graph_.count(TopoKind::gpu) != ranks;
  if (version() >= kNccl2_28) return;
  if (graph_.count(TopoKind::net) == 0) uses_net_ = false;
  if (uses_net_) return;
  while (graph_.count(TopoKind::net) > 0) graph_.remove(graph_.all(TopoKind::net).back());
}

}  // namespace fabricast
