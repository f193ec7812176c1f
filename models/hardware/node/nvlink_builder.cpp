// The NVLink part of NodeGraphBuilder: NVSwitches as one plane, links between GPUs and, by
// NVLink-C2C, to CPUs.
#include <algorithm>
#include <cmath>

#include "models/hardware/node/node_graph_builder.hpp"

namespace fabricast {
namespace {

/// What SM stores reach over `count` links of this GPU.
Bandwidth nvlink_rate(const GpuPart& part, int count) {
  const double raw = static_cast<double>((part.nvlink_per_link * count).bytes_per_s);
  return {std::llround(raw * part.nvlink_store_efficiency)};
}

}  // namespace

void NodeGraphBuilder::add_nvswitches() {
  for (const NvSwitchConfig& config : type_.nvswitches) {
    const NvSwitchPart& part = find_part(parts_.nvswitches, config.part, "NVSwitch", config.place);
    claim(names_, "name", config.name, 0, config.place);
    claim(busids_, "bus id", config.busid, 0, config.place);
    if (part.name != parts_.nvswitches.at(type_.nvswitches.front().part).name) {
      throw Error(config.place, "NVSwitches of different parts in one node");
    }
    graph_.nvswitches_.push_back({config.name, config.busid, part, config.chips});
  }
  if (graph_.nvswitches_.empty()) return;
  Vertex vertex;
  vertex.kind = VertexKind::nvswitch;
  vertex.name = "nvswitch";
  vertex.part = graph_.nvswitches_.front().part.name;
  nvswitch_ = add_vertex(std::move(vertex), type_.nvswitches.front().place);
}

void NodeGraphBuilder::add_nvlinks(std::size_t gpu) {
  const PciConfig& config = *gpu_configs_[gpu];
  GpuInfo& info = graph_.gpus_[gpu];
  Place place = config.place;
  if (!place.path.empty()) place.path += ".nvlink";
  for (const PciConfig::Nvlink& nvlink : config.nvlinks) {
    add_nvlink(info, nvlink, place);
    info.nvlink_count += nvlink.count;
  }
  if (info.nvlink_count > info.part.nvlink_links) {
    throw Error(place, fmt::format("{} NVLinks, but {} has {}", info.nvlink_count, info.part.name,
                                   info.part.nvlink_links));
  }
  if (info.nvswitch_links == 0) return;
  const Bandwidth rate = nvlink_rate(info.part, info.nvswitch_links);
  add_link(info.vertex, nvswitch_, LinkKind::nvlink, rate, {});
  add_link(nvswitch_, info.vertex, LinkKind::nvlink, rate, graph_.nvswitches_.front().part.latency);
}

void NodeGraphBuilder::add_nvlink(GpuInfo& info, const PciConfig::Nvlink& nvlink,
                                  const Place& place) {
  const auto note = [&](const std::string& busid) {
    if (links_to(info, busid) > 0) {
      throw Error(place, fmt::format("NVLinks to \"{}\" are named twice", nvlink.target));
    }
    info.nvlink_targets.emplace_back(busid, nvlink.count);
  };
  for (const NvSwitchInfo& chip : graph_.nvswitches_) {
    if (nvlink.target != chip.name && nvlink.target != chip.busid) continue;
    note(chip.busid);
    info.nvswitch_links += nvlink.count;
    return;
  }
  std::vector<std::string> known;
  for (const NvSwitchInfo& chip : graph_.nvswitches_) known.push_back(chip.name);
  for (const GpuInfo& other : graph_.gpus_) {
    const Vertex& vertex = graph_.vertex(other.vertex);
    if (vertex.tray != graph_.vertex(info.vertex).tray) continue;
    known.push_back(vertex.name);
    if (nvlink.target != vertex.name && nvlink.target != vertex.busid) continue;
    if (other.vertex == info.vertex) {
      throw Error(place, fmt::format("\"{}\" has an NVLink to itself", vertex.name));
    }
    note(vertex.busid);
    add_link(info.vertex, other.vertex, LinkKind::nvlink, nvlink_rate(info.part, nvlink.count),
             info.part.nvlink_latency);
    return;
  }
  throw Error(place, fmt::format("NVLink to \"{}\", which does not exist", nvlink.target),
              hint_nearest(nvlink.target, known));
}

void NodeGraphBuilder::add_c2c(std::size_t gpu) {
  const GpuInfo& info = graph_.gpus_[gpu];
  if (info.c2c_links == 0) return;
  const GpuPart& part = info.part;
  if (info.c2c_links > part.c2c_links) {
    Place place = gpu_configs_[gpu]->place;
    if (!place.path.empty()) place.path += ".c2c";
    throw Error(place, fmt::format("{} NVLink-C2C links, but {} has {}", info.c2c_links, part.name,
                                   part.c2c_links));
  }
  const double raw = static_cast<double>((part.c2c_per_link * info.c2c_links).bytes_per_s);
  const Bandwidth rate{std::llround(raw * part.c2c_efficiency)};
  const VertexId cpu = graph_.cpu_of(info.vertex);
  add_link(info.vertex, cpu, LinkKind::c2c, rate, part.c2c_latency);
  add_link(cpu, info.vertex, LinkKind::c2c, rate, part.c2c_latency);
}

void NodeGraphBuilder::check_nvlink_pairs() const {
  for (std::size_t a = 0; a < gpu_configs_.size(); ++a) {
    for (std::size_t b = 0; b < gpu_configs_.size(); ++b) {
      const GpuInfo &from = graph_.gpus_[a], &to = graph_.gpus_[b];
      const int there = links_to(from, graph_.vertex(to.vertex).busid);
      const int back = links_to(to, graph_.vertex(from.vertex).busid);
      if (there <= back) continue;
      throw Error(
          gpu_configs_[a]->place,
          fmt::format("\"{}\" names {} NVLinks to \"{}\", which names {} back",
                      graph_.vertex(from.vertex).name, there, graph_.vertex(to.vertex).name, back));
    }
  }
}

int NodeGraphBuilder::links_to(const GpuInfo& info, const std::string& busid) {
  int links = 0;
  for (const auto& [target, count] : info.nvlink_targets) {
    if (target == busid) links += count;
  }
  return links;
}

}  // namespace fabricast
