#include "models/nccl/node/nccl_paths.hpp"

#include <algorithm>
#include <cassert>
#include <climits>

#include "sim/base/add_once.hpp"

namespace fabricast {

PathType next_type(PathType type, NcclVersion version) {
  assert(type < PathType::dis);
  if (type == PathType::nvb && version < kNccl2_26) return PathType::pix;  // there is no C2C yet,
  if (type == PathType::pxb && version < kNccl2_27) return PathType::pxn;  // nor P2C
  return static_cast<PathType>(static_cast<int>(type) + 1);
}

namespace {

/// The type of a path of one link. The last link to a net says nothing of the distance.
PathType type_of(TopoLinkKind kind) {
  switch (kind) {
    case TopoLinkKind::loc:
    case TopoLinkKind::net:
      return PathType::loc;
    case TopoLinkKind::nvl:
      return PathType::nvl;
    case TopoLinkKind::c2c:
      return PathType::c2c;
    case TopoLinkKind::pci:
      return PathType::pix;
    case TopoLinkKind::sys:
      return PathType::sys;
  }
  return PathType::dis;
}

/// Two parts make a whole as far as the farther one; but from 2.27 on a CPU counts as near over
/// C2C.
PathType joined(PathType a, PathType b, NcclVersion version) {
  const auto [nearer, farther] = std::minmax(a, b);
  const bool is_near = version >= kNccl2_27 && nearer == PathType::c2c;
  return farther == PathType::phb && is_near ? PathType::p2c : farther;
}

}  // namespace

NcclTopology::NcclTopology(NcclGraph graph, const SearchSettings& settings, int ranks, int own)
    : graph_(std::move(graph)), settings_(settings) {
  compute_paths();
  trim(ranks, own);
  compute_paths();
}

void NcclTopology::compute_paths() {
  stride_ = graph_.vertex_count();
  paths_.assign(stride_ * stride_, {});
  for (const TopoKind kind :
       {TopoKind::cpu, TopoKind::dev, TopoKind::gpu, TopoKind::net, TopoKind::nvs}) {
    for (const TopoVertexId base : graph_.all(kind)) find_paths_to(base);
  }
  for (const TopoVertexId gpu : graph_.all(TopoKind::gpu)) {
    divert_gpus_without_p2p(gpu);
    mark_unreachable_gpus(gpu);
  }
  if (version() >= kNccl2_27) recognise_c2c_nets();
  for (const TopoVertexId net : graph_.all(TopoKind::net)) {
    for (const TopoVertexId gpu : graph_.all(TopoKind::gpu)) {
      relay_to_net(gpu, net);
      if (path(gpu, net).type >= PathType::phb || can_use_gdr(gpu, net, false)) continue;
      divert(net, local_cpu(gpu), gpu);
      divert(gpu, local_cpu(gpu), net);
    }
  }
}

/// Breadth first from the base; what is stored at each vertex is its way back to the base.
void NcclTopology::find_paths_to(TopoVertexId base) {
  known(base, base) = {PathType::loc, kLocalBw, {}};
  std::vector<TopoVertexId> level = {base};
  while (!level.empty()) {
    std::vector<TopoVertexId> next;
    for (const TopoVertexId at : level) {
      for (const TopoLinkId over : graph_.vertex(at).out) extend(base, at, over, next);
    }
    level = std::move(next);
  }
}

void NcclTopology::extend(TopoVertexId base, TopoVertexId at, TopoLinkId over,
                          std::vector<TopoVertexId>& next) {
  const TopoLink& link = graph_.link(over);
  if (!may_cross(base, at, link)) return;
  const NcclPath& via = path(at, base);
  NcclPath& best = known(link.to, base);
  const float bw = std::min(via.bw, link.bw);
  const PathType type = type_after(base, at, link);
  if (!is_better(best, via, bw, type)) return;

  const std::vector<TopoLinkId>& back = graph_.vertex(link.to).out;
  const auto reverse = std::ranges::find_if(back, [&](TopoLinkId l) {
    return graph_.link(l).to == at && graph_.link(l).kind == link.kind;
  });
  if (reverse == back.end()) return;  // a GPU that declares an NVLink which the other end does not
  NcclPath extended{type, bw, {*reverse}};
  extended.links.insert(extended.links.end(), via.links.begin(), via.links.end());
  best = std::move(extended);
  add_once(next, link.to);
}

/// Traffic passes through a GPU only over NVLink, to another GPU, and only through one.
bool NcclTopology::may_cross(TopoVertexId base, TopoVertexId at, const TopoLink& link) const {
  const bool has_packages = version() >= kNccl2_30;
  const TopoKind relay = has_packages ? TopoKind::dev : TopoKind::gpu;
  const bool is_gpu_base = graph_.vertex(base).kind == TopoKind::gpu;
  const TopoVertexId own = has_packages && is_gpu_base ? graph_.device_of(base) : base;
  if (at == own || graph_.vertex(at).kind != relay) return true;
  const TopoKind to = graph_.vertex(link.to).kind;
  if (has_packages && link.kind == TopoLinkKind::loc && to == TopoKind::gpu) return true;
  const int hops_max = has_packages && is_gpu_base ? 2 : 1;
  return !settings_.nvb_disable && link.kind == TopoLinkKind::nvl && to == relay &&
         path(at, base).hops() <= hops_max;
}

PathType NcclTopology::type_after(TopoVertexId base, TopoVertexId at, const TopoLink& link) const {
  const NcclPath& via = path(at, base);
  const TopoKind from = graph_.vertex(at).kind;
  const TopoKind to = graph_.vertex(link.to).kind;
  PathType type = type_of(link.kind);
  if (from == TopoKind::pci && to == TopoKind::pci) type = PathType::pxb;
  if (link.kind == TopoLinkKind::pci && (from == TopoKind::cpu || to == TopoKind::cpu)) {
    type = PathType::phb;
  }
  // A second NVLink from a GPU on. (Not from an NVSwitch: that one stands between any two GPUs.)
  const bool has_packages = version() >= kNccl2_30;
  const bool is_relay = from == (has_packages ? TopoKind::dev : TopoKind::gpu);
  const int own_hops = has_packages && graph_.vertex(base).kind == TopoKind::gpu ? 1 : 0;
  const bool is_beyond = has_packages ? via.hops() == 1 + own_hops : via.hops() >= 1;
  if (is_relay && is_beyond && via.type == PathType::nvl && type == PathType::nvl) {
    type = PathType::nvb;
  }
  return std::max(via.type, type);
}

/// Until 2.29 the first way found stays unless one as short is wider; 2.30 wants the nearest, then
/// the widest, then the shortest.
bool NcclTopology::is_better(const NcclPath& known, const NcclPath& via, float bw,
                             PathType type) const {
  if (version() < kNccl2_30) {
    return (known.bw == 0 || known.hops() > via.hops()) && known.bw < bw;
  }
  if (type != known.type) return type < known.type;
  if (bw != known.bw) return bw > known.bw;
  return known.hops() > via.hops() + 1;
}

void NcclTopology::divert(TopoVertexId from, TopoVertexId through, TopoVertexId to) {
  const NcclPath& first = path(from, through);
  const NcclPath& second = path(through, to);
  NcclPath whole{joined(first.type, second.type, version()), std::min(first.bw, second.bw),
                 first.links};
  if (graph_.vertex(through).kind == TopoKind::gpu) whole.type = PathType::pxn;
  whole.links.insert(whole.links.end(), second.links.begin(), second.links.end());
  known(from, to) = std::move(whole);
}

std::vector<TopoVertexId> NcclTopology::nearest(TopoVertexId from, TopoKind kind) const {
  float bw = 0;
  PathType type = PathType::dis;
  std::vector<TopoVertexId> out;
  for (const TopoVertexId to : graph_.all(kind)) {
    const NcclPath& p = path(from, to);
    if (p.bw > bw || (p.bw == bw && p.type < type)) {
      bw = p.bw;
      type = p.type;
      out.clear();
    }
    if (p.bw == bw && p.type == type) out.push_back(to);
  }
  return out;
}

namespace {

/// `value` written with as many bits as `count`, a power of two, has values, read backwards.
int mirrored(int value, int count) {
  int out = 0;
  for (int bit = 1, mirror = count / 2; mirror > 0; bit *= 2, mirror /= 2) {
    if ((value & bit) != 0) out |= mirror;
  }
  return out;
}

}  // namespace

std::optional<TopoVertexId> NcclTopology::local_net(TopoVertexId gpu, int channel) const {
  const std::vector<TopoVertexId> nets = nearest(gpu, TopoKind::net);
  if (nets.empty()) return std::nullopt;
  const int count = static_cast<int>(nets.size());
  const int sharers = static_cast<int>(nearest(nets.front(), TopoKind::gpu).size());
  int per_gpu = (count + sharers - 1) / sharers;
  int place = graph_.vertex(gpu).dev;
  if (version() >= kNccl2_30) place %= sharers;
  if (version() >= kNccl2_28) {
    if (settings_.nets_per_gpu < 0) per_gpu = count;
    if (settings_.nets_per_gpu > 0) per_gpu = std::min(settings_.nets_per_gpu, count);
  }
  if ((count & (count - 1)) == 0) place = mirrored(place, count);
  place += channel % per_gpu;
  return nets[static_cast<std::size_t>(place % count)];
}

std::optional<TopoVertexId> NcclTopology::local_gpu(TopoVertexId net) const {
  const std::span<const TopoVertexId> all = graph_.all(TopoKind::gpu);
  const std::vector<TopoVertexId> gpus = version() < kNccl2_19
                                             ? std::vector<TopoVertexId>(all.begin(), all.end())
                                             : nearest(net, TopoKind::gpu);
  // A GPU's nets repeat after at most as many channels as there are nets.
  const int channels = graph_.count(TopoKind::net);
  for (int channel = 0; channel < channels; ++channel) {
    for (const TopoVertexId gpu : gpus) {
      if (local_net(gpu, channel) == net) return gpu;
    }
  }
  return std::nullopt;
}

TopoVertexId NcclTopology::local_cpu(TopoVertexId gpu) const {
  const std::span<const TopoVertexId> all = graph_.all(TopoKind::cpu);
  const std::vector<TopoVertexId> candidates =
      version() < kNccl2_30 ? std::vector<TopoVertexId>(all.begin(), all.end())
                            : nearest(gpu, TopoKind::cpu);
  assert(!candidates.empty());
  return *std::ranges::min_element(candidates, {}, [&](TopoVertexId cpu) {
    const int hops = path(gpu, cpu).hops();
    return hops > 0 ? hops : INT_MAX;  // the CPU of another host
  });
}

PathType NcclTopology::nearest_type(TopoKind to) const {
  PathType type = PathType::sys;
  for (const TopoVertexId a : graph_.all(TopoKind::gpu)) {
    for (const TopoVertexId b : graph_.all(to)) {
      if (a != b) type = std::min(type, path(a, b).type);
    }
  }
  return type;
}

PathType NcclTopology::farthest_type(TopoKind to) const {
  PathType type = PathType::loc;
  for (const TopoVertexId a : graph_.all(TopoKind::gpu)) {
    for (const TopoVertexId b : graph_.all(to)) {
      if (a != b) type = std::max(type, path(a, b).type);
    }
  }
  return type;
}

bool NcclTopology::has_split_nvlink() const {
  const std::span<const TopoVertexId> gpus = graph_.all(TopoKind::gpu);
  std::vector<std::size_t> group(gpus.size());
  std::vector<int> members(gpus.size(), 0);
  for (std::size_t g = 0; g < gpus.size(); ++g) group[g] = g;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    for (std::size_t p = g + 1; p < gpus.size(); ++p) {
      if (path(gpus[g], gpus[p]).type == PathType::nvl) group[p] = group[g];
    }
  }
  for (const std::size_t g : group) ++members[g];
  return std::ranges::count_if(members, [](int count) { return count > 1; }) == 2;
}

}  // namespace fabricast
