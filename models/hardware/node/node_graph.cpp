#include "models/hardware/node/node_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/base/error.hpp"
#include "sim/base/scaled.hpp"
#include "text/words.hpp"

namespace fabricast {

VertexId NodeGraph::find(std::string_view name, int tray) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < vertices_.size(); ++i) {
    const bool is_there = vertices_[i].tray == tray || vertices_[i].kind == VertexKind::nvswitch;
    if (!is_there) continue;
    if (vertices_[i].name == name) return VertexId{static_cast<std::uint32_t>(i)};
    known.push_back(vertices_[i].name);
  }
  throw Error(fmt::format("{} has no device \"{}\"", name_, name), hint_nearest(name, known));
}

std::vector<VertexId> NodeGraph::children(VertexId parent) const {
  std::vector<VertexId> out;
  for (std::size_t i = 0; i < vertices_.size(); ++i) {
    if (vertices_[i].has_parent && vertices_[i].parent == parent) {
      out.push_back(VertexId{static_cast<std::uint32_t>(i)});
    }
  }
  return out;
}

bool NodeGraph::direct_link(VertexId from, VertexId to, LinkKind kind, LinkId& out) const {
  for (const LinkId id : out_[index_of(from)]) {
    if (link(id).to != to || link(id).kind != kind) continue;
    out = id;
    return true;
  }
  return false;
}

std::vector<LinkId> NodeGraph::nvlink_route(VertexId from, VertexId to) const {
  if (from == to) return {};
  LinkId first{}, second{};
  if (direct_link(from, to, LinkKind::nvlink, first)) return {first};
  for (const LinkId id : out_[index_of(from)]) {
    const bool plane = vertex(link(id).to).kind == VertexKind::nvswitch;
    if (plane && direct_link(link(id).to, to, LinkKind::nvlink, second)) return {id, second};
  }
  return {};
}

std::vector<VertexId> NodeGraph::ancestors(VertexId device) const {
  std::vector<VertexId> way;
  way.reserve(8);
  way.push_back(device);
  while (vertex(way.back()).has_parent) way.push_back(vertex(way.back()).parent);
  return way;
}

/// Up the tree and down again; `over_root`: not without the CPU.
std::vector<VertexId> NodeGraph::tree_way(VertexId from, VertexId to, bool over_root) const {
  assert(vertex(from).kind != VertexKind::nvswitch && vertex(to).kind != VertexKind::nvswitch);
  std::vector<VertexId> up = ancestors(from), down = ancestors(to);
  VertexId top = up.back();
  if (up.back() == down.back()) {  // drop what both share, except the lowest common one
    while (!up.empty() && !down.empty() && up.back() == down.back()) {
      top = up.back();
      up.pop_back();
      down.pop_back();
      if (over_root) break;
    }
    up.push_back(top);
  }
  // NVLink-C2C replaces what lies between a GPU and its CPU, if the way leads that far.
  LinkId id{};
  if (direct_link(from, up.back(), LinkKind::c2c, id)) up = {from, up.back()};
  const VertexId landing = down.empty() || vertex(down.back()).has_parent ? up.back() : down.back();
  if (direct_link(landing, to, LinkKind::c2c, id)) {
    down.erase(down.begin() + 1, down.end());
    if (landing != up.back()) down.push_back(landing);
  }
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

std::vector<LinkId> NodeGraph::links_along(const std::vector<VertexId>& way) const {
  std::vector<LinkId> route;
  for (std::size_t i = 1; i < way.size(); ++i) {
    LinkId id{};
    [[maybe_unused]] const bool found = direct_link(way[i - 1], way[i], LinkKind::c2c, id) ||
                                        direct_link(way[i - 1], way[i], LinkKind::pcie, id) ||
                                        direct_link(way[i - 1], way[i], LinkKind::socket, id);
    assert(found);
    route.push_back(id);
  }
  return route;
}

std::vector<LinkId> NodeGraph::pcie_route(VertexId from, VertexId to) const {
  const bool peers =
      from != to && vertex(from).kind != VertexKind::cpu && vertex(to).kind != VertexKind::cpu;
  const std::vector<VertexId> way = tree_way(from, to, peers && acs_);
  std::vector<LinkId> route = links_along(way);
  if (!peers) return route;
  const auto root = std::find_if(way.begin(), way.end(),
                                 [&](VertexId id) { return vertex(id).kind == VertexKind::cpu; });
  const std::optional<LinkId> port = root == way.end() ? std::nullopt : root_link(from);
  if (port) route.insert(route.begin() + (root - way.begin()), *port);
  return route;
}

std::vector<LinkId> NodeGraph::load_route(VertexId cpu, VertexId gpu) const {
  std::vector<LinkId> route = pcie_route(cpu, gpu);
  if (const auto port = root_link(gpu)) route.insert(route.begin(), *port);
  return route;
}

std::vector<LinkId> NodeGraph::memory_route(VertexId cpu) const {
  const std::optional<LinkId> link = memory_links_[index_of(cpu)];
  return link ? std::vector{*link} : std::vector<LinkId>{};
}

std::vector<LinkId> NodeGraph::duplex_route(VertexId gpu, bool of_tree) const {
  const auto& links = of_tree ? duplex_tree_links_ : duplex_links_;
  const std::optional<LinkId> link = links[index_of(gpu)];
  return link ? std::vector{*link} : std::vector<LinkId>{};
}

std::optional<LinkId> NodeGraph::root_link(VertexId device) const {
  const std::vector<VertexId> up = ancestors(device);
  return up.size() < 2 ? std::nullopt : root_links_[index_of(up[up.size() - 2])];
}

VertexId NodeGraph::cpu_of(VertexId device) const {
  while (vertex(device).has_parent) device = vertex(device).parent;
  return device;
}

Bandwidth NodeGraph::ll_check_rate() const {
  Bandwidth out;
  for (const CpuInfo& cpu : cpus_)
    if (out.bytes_per_s == 0 ||
        (cpu.part.ll_check_rate.bytes_per_s > 0 && cpu.part.ll_check_rate < out))
      out = cpu.part.ll_check_rate;
  return out;
}

Duration NodeGraph::python_time(Duration reference) const {
  Duration out;
  for (const CpuInfo& cpu : cpus_) out = std::max(out, scaled(reference, cpu.part.python));
  return out;
}

SmiPath NodeGraph::smi_path(VertexId from, VertexId to) const {
  if (from == to) return SmiPath::self;
  if (nvlinks_between(from, to) > 0) return SmiPath::nvlink;
  if (cpu_of(from) != cpu_of(to)) return SmiPath::sys;
  int switches = 0;
  const std::vector<VertexId> way = tree_way(from, to, false);
  for (std::size_t i = 1; i < way.size(); ++i) {
    const VertexKind kind = vertex(way[i]).kind;
    if (kind == VertexKind::cpu) {
      return vertex(from).host_bridge == vertex(to).host_bridge ? SmiPath::phb : SmiPath::node;
    }
    if (kind == VertexKind::pcie_switch) ++switches;
  }
  return switches <= 1 ? SmiPath::pix : SmiPath::pxb;
}

int NodeGraph::nvlinks_between(VertexId from, VertexId to) const {
  const auto gpu_at = [&](VertexId id) {
    return std::find_if(gpus_.begin(), gpus_.end(),
                        [&](const GpuInfo& info) { return info.vertex == id; });
  };
  const auto from_gpu = gpu_at(from), to_gpu = gpu_at(to);
  if (from_gpu == gpus_.end() ||
      (to_gpu == gpus_.end() && vertex(to).kind != VertexKind::nvswitch)) {
    return 0;
  }
  if (to_gpu == gpus_.end()) return from_gpu->nvswitch_links;
  if (from == to) return 0;
  int direct = 0;
  for (const auto& [target, count] : from_gpu->nvlink_targets) {
    if (target == vertex(to).busid) direct += count;
  }
  return direct > 0 ? direct : std::min(from_gpu->nvswitch_links, to_gpu->nvswitch_links);
}

std::span<const GpuInfo> NodeGraph::gpus_of(int tray) const {
  const auto count = static_cast<std::size_t>(gpus_per_tray());
  return gpus().subspan(static_cast<std::size_t>(tray) * count, count);
}

std::span<const NicInfo> NodeGraph::nics_of(int tray) const {
  const auto count = static_cast<std::size_t>(nics_per_tray());
  return nics().subspan(static_cast<std::size_t>(tray) * count, count);
}

bool NodeGraph::peer_to_peer() const {
  return patched_driver_ ||
         std::ranges::all_of(gpus_, [](const GpuInfo& gpu) { return gpu.part.peer_to_peer; });
}

int NodeGraph::nvswitch_chips() const {
  int chips = 0;
  for (const NvSwitchInfo& one : nvswitches_) chips += one.chips;
  return chips;
}

bool NodeGraph::is_behind_c2c(VertexId gpu, VertexId nic) const {
  LinkId c2c{};
  return cpu_of(gpu) == cpu_of(nic) && direct_link(gpu, cpu_of(gpu), LinkKind::c2c, c2c) &&
         smi_path(gpu, nic) > SmiPath::pxb;
}

int NodeGraph::tray_of(LinkId id) const {
  const Vertex& from = vertex(link(id).from);
  return from.kind == VertexKind::nvswitch ? vertex(link(id).to).tray : from.tray;
}

std::string NodeGraph::link_name(LinkId id) const {
  const NodeLink& link = this->link(id);
  const Vertex &from = vertex(link.from), &to = vertex(link.to);
  std::string kind;
  const auto below = [&](const std::vector<std::optional<LinkId>>& of_ports) {
    const auto port = std::find(of_ports.begin(), of_ports.end(), id);
    return vertices_[static_cast<std::size_t>(port - of_ports.begin())].name;
  };
  switch (link.kind) {
    case LinkKind::nvlink: {
      const bool from_gpu = from.kind == VertexKind::gpu;
      const int links =
          from_gpu ? nvlinks_between(link.from, link.to) : nvlinks_between(link.to, link.from);
      kind = fmt::format("NVLink x{}", links);
      break;
    }
    case LinkKind::c2c: {
      const Vertex& gpu = from.kind == VertexKind::gpu ? from : to;
      kind = fmt::format("NVLink-C2C x{}", gpus_[static_cast<std::size_t>(gpu.index)].c2c_links);
      break;
    }
    case LinkKind::pcie: {
      const Vertex& lower = from.has_parent && from.parent == link.to ? from : to;
      kind = fmt::format("PCIe gen{} x{}", lower.pcie_gen, lower.pcie_width);
      break;
    }
    case LinkKind::socket:
      kind = "socket";
      break;
    case LinkKind::network:
      kind = "network";
      break;
    case LinkKind::memory:
      kind = "memory";
      break;
    case LinkKind::root:
      kind = "root port of " + below(root_links_);
      break;
    case LinkKind::duplex: {
      const bool of_tree = std::ranges::find(duplex_tree_links_, id) != duplex_tree_links_.end();
      kind = "loads and stores of " + below(of_tree ? duplex_tree_links_ : duplex_links_);
      break;
    }
  }
  return fmt::format("{} -> {} ({})", from.name, to.name, kind);
}

}  // namespace fabricast
