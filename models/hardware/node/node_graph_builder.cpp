#include "models/hardware/node/node_graph_builder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fabricast {
namespace {

constexpr int kGpusMax = 1'024;
constexpr int kFullWidth = 16;  // the width for which PcieGen gives its rate

}  // namespace

NodeGraph NodeGraphBuilder::build() {
  graph_.name_ = type_.name;
  graph_.title_ = type_.title;
  graph_.trays_ = type_.trays;
  graph_.domain_nodes_ = type_.domain_nodes;
  if (type_.cpus.empty()) throw Error(type_.place, "the node has no CPU");
  check_roots();
  for (const CpuConfig& cpu : type_.cpus) add_cpu(cpu);
  if (graph_.gpus_.empty()) throw Error(type_.place, "the node has no GPU");
  number_gpus();
  add_nvswitches();
  for (std::size_t gpu = 0; gpu < gpu_configs_.size(); ++gpu) add_nvlinks(gpu);
  for (std::size_t gpu = 0; gpu < gpu_configs_.size(); ++gpu) add_c2c(gpu);
  check_nvlink_pairs();
  add_sockets();
  add_roots();
  return std::move(graph_);
}

void NodeGraphBuilder::check_roots() const {
  std::vector<std::string> known;
  for (const CpuConfig& cpu : type_.cpus) known.push_back(cpu.name);
  for (const PciConfig& root : type_.pci) {
    if (root.cpu.empty() && root.kind == PciConfig::Kind::gpu && root.nvlinks.empty()) {
      throw Error(root.place, fmt::format("GPU \"{}\" is connected to nothing", label(root)),
                  "hang it under a CPU or a PCIe switch");
    }
    if (root.cpu.empty()) {
      throw Error(root.place, fmt::format("\"{}\" hangs under no CPU", label(root)));
    }
    if (std::find(known.begin(), known.end(), root.cpu) == known.end()) {
      throw Error(root.place, fmt::format("unknown CPU \"{}\"", root.cpu),
                  hint_nearest(root.cpu, known));
    }
  }
}

const std::string& NodeGraphBuilder::label(const PciConfig& config) {
  return config.name.empty() ? config.busid : config.name;
}

VertexId NodeGraphBuilder::add_vertex(Vertex vertex, const Place& place) {
  vertex.index = counts_[static_cast<std::size_t>(vertex.kind)]++;
  claim(names_, "name", vertex.name, vertex.tray, place);
  if (!vertex.busid.empty()) claim(busids_, "bus id", vertex.busid, vertex.tray, place);
  graph_.vertices_.push_back(std::move(vertex));
  graph_.out_.emplace_back();
  return VertexId{static_cast<std::uint32_t>(graph_.vertices_.size() - 1)};
}

void NodeGraphBuilder::claim(Taken& taken, std::string_view what, const std::string& name, int tray,
                             const Place& place) const {
  for (const PciConfig* above : way_up_) {
    if (name == above->name || name == above->busid) {
      throw Error(place, fmt::format("cycle: \"{}\" hangs under itself", name));
    }
  }
  const auto [first, fresh] = taken.emplace(std::pair(tray, name), place);
  if (fresh) return;
  throw Error(place, fmt::format("duplicate {} \"{}\"", what, name),
              first->second.line > 0 ? fmt::format("first used in line {}", first->second.line)
                                     : std::string{});
}

void NodeGraphBuilder::add_link(VertexId from, VertexId to, LinkKind kind, Bandwidth rate,
                                Duration latency) {
  const LinkId id{static_cast<std::uint32_t>(graph_.links_.size())};
  graph_.links_.push_back({from, to, kind, rate, latency});
  graph_.out_[index_of(from)].push_back(id);
}

void NodeGraphBuilder::add_cpu(const CpuConfig& config) {
  const CpuPart& part = find_part(parts_.cpus, config.part, "CPU", config.place);
  if (config.tray != tray_) counts_before_ = counts_;
  tray_ = config.tray;
  for (const CpuInfo& other : graph_.cpus_) {
    if (other.numa == config.numa) {
      throw Error(config.place, fmt::format("duplicate NUMA node {}", config.numa));
    }
  }
  Vertex vertex;
  vertex.kind = VertexKind::cpu;
  vertex.tray = config.tray;
  vertex.part = part.name;
  vertex.name = config.name;
  const VertexId id = add_vertex(std::move(vertex), config.place);
  graph_.cpus_.push_back({id, part, config.numa, config.affinity, config.host_hash});
  if (config.identity) static_cast<CpuIdentity&>(graph_.cpus_.back().part) = *config.identity;

  std::map<int, int> bridges;  // number in the file -> number in the graph
  for (const PciConfig& root : type_.pci) {
    if (root.cpu != config.name || root.tray != config.tray) continue;
    const auto given = bridges.find(root.host_bridge);
    const int bridge =
        root.host_bridge >= 0 && given != bridges.end() ? given->second : host_bridges_++;
    if (root.host_bridge >= 0) bridges[root.host_bridge] = bridge;
    add_element(root, id, bridge);
  }
}

std::string NodeGraphBuilder::default_name(VertexKind kind, const char* stem) const {
  const auto i = static_cast<std::size_t>(kind);
  return fmt::format("{}{}", stem, counts_[i] - counts_before_[i]);
}

void NodeGraphBuilder::add_element(const PciConfig& config, VertexId parent, int bridge) {
  switch (config.kind) {
    case PciConfig::Kind::pcie_switch:
      return add_pcie_switch(config, parent, bridge);
    case PciConfig::Kind::gpu:
      return add_gpu(config, parent, bridge);
    case PciConfig::Kind::nic:
      return add_nic(config, parent, bridge);
  }
}

template <class Part>
VertexId NodeGraphBuilder::add_pci_vertex(VertexKind kind, const char* stem, const Part& part,
                                          const PciConfig& config, VertexId parent, int bridge,
                                          Duration latency) {
  Vertex vertex;
  vertex.kind = kind;
  vertex.tray = tray_;
  vertex.part = part.name;
  vertex.name = config.name.empty() ? default_name(kind, stem) : config.name;
  vertex.parent = parent;
  vertex.has_parent = true;
  vertex.host_bridge = bridge;
  vertex.busid = config.busid;
  vertex.ids = config.ids.value_or(part.ids);
  vertex.pcie_width = config.pcie_width > 0 ? config.pcie_width : part.pcie_width;
  vertex.pcie_gen = config.pcie_gen > 0 ? config.pcie_gen : part.pcie_gen;
  const Vertex& above = graph_.vertex(parent);
  Duration latency_above{};
  if (above.kind == VertexKind::pcie_switch) {
    const PcieSwitchPart& above_part = parts_.pcie_switches.at(above.part);
    vertex.pcie_gen = std::min(vertex.pcie_gen, above_part.pcie_gen);
    latency_above = above_part.latency;
  } else {
    latency_above = graph_.cpus_.back().part.root_latency;
  }
  const Bandwidth rate = pcie_rate(vertex, config.place);
  vertex.pcie_speed = parts_.pcie.at(vertex.pcie_gen).speed_text;
  const VertexId id = add_vertex(std::move(vertex), config.place);
  add_link(parent, id, LinkKind::pcie, rate, latency_above);
  add_link(id, parent, LinkKind::pcie, rate, latency);
  return id;
}

Bandwidth NodeGraphBuilder::pcie_rate(const Vertex& vertex, const Place& place) const {
  const auto gen = parts_.pcie.find(vertex.pcie_gen);
  if (gen == parts_.pcie.end()) {
    throw Error(place, fmt::format("PCIe generation {} is not in the catalogue", vertex.pcie_gen));
  }
  constexpr std::array widths = {1, 2, 4, 8, 16};
  if (std::find(widths.begin(), widths.end(), vertex.pcie_width) == widths.end()) {
    throw Error(place, fmt::format("a PCIe link cannot be {} lanes wide", vertex.pcie_width),
                "use 1, 2, 4, 8 or 16");
  }
  return {gen->second.effective_x16.bytes_per_s * vertex.pcie_width / kFullWidth};
}

void NodeGraphBuilder::add_pcie_switch(const PciConfig& config, VertexId parent, int bridge) {
  const PcieSwitchPart& part =
      find_part(parts_.pcie_switches, config.part, "PCIe switch", config.place);
  const VertexId id =
      add_pci_vertex(VertexKind::pcie_switch, "pcisw", part, config, parent, bridge, part.latency);
  way_up_.push_back(&config);
  for (const PciConfig& child : config.children) add_element(child, id, bridge);
  way_up_.pop_back();
}

void NodeGraphBuilder::add_gpu(const PciConfig& config, VertexId parent, int bridge) {
  if (graph_.gpus_.size() == kGpusMax) {
    throw Error(config.place, fmt::format("more than {} GPUs in one node", kGpusMax));
  }
  const GpuPart& part = find_part(parts_.gpus, config.part, "GPU", config.place);
  GpuInfo info;
  info.vertex = add_pci_vertex(VertexKind::gpu, "gpu", part, config, parent, bridge, {});
  info.part = part;
  info.gdr = config.gdr;
  info.c2c_links = config.c2c;
  graph_.gpus_.push_back(std::move(info));
  gpu_configs_.push_back(&config);
}

void NodeGraphBuilder::number_gpus() {
  std::vector<std::size_t> order(gpu_configs_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto dev = [&](std::size_t gpu) { return gpu_configs_[gpu]->dev; };
  const auto tray = [&](std::size_t gpu) { return graph_.vertex(graph_.gpus_[gpu].vertex).tray; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(tray(a), dev(a)) < std::pair(tray(b), dev(b));
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const int low = dev(order[i - 1]), high = dev(order[i]);
    if ((low < 0 && high < 0) || tray(order[i - 1]) != tray(order[i])) continue;
    const Place& place = gpu_configs_[order[low < 0 ? i - 1 : i]]->place;
    if (low < 0) throw Error(place, "a GPU without \"dev\" beside GPUs that have one");
    if (low == high) throw Error(place, fmt::format("dev {} twice", high));
  }
  std::vector<GpuInfo> gpus;
  std::vector<const PciConfig*> configs;
  for (const std::size_t gpu : order) {
    Vertex& vertex = graph_.vertices_[index_of(graph_.gpus_[gpu].vertex)];
    vertex.index = static_cast<int>(gpus.size());
    if (gpu_configs_[gpu]->name.empty())
      vertex.name = fmt::format("gpu{}", vertex.index % (std::ssize(order) / type_.trays));
    gpus.push_back(std::move(graph_.gpus_[gpu]));
    configs.push_back(gpu_configs_[gpu]);
  }
  graph_.gpus_ = std::move(gpus);
  gpu_configs_ = std::move(configs);
}

void NodeGraphBuilder::add_nic(const PciConfig& config, VertexId parent, int bridge) {
  const NicPart& part = find_part(parts_.nics, config.part, "NIC", config.place);
  if (config.port < 1) {
    throw Error(config.place, fmt::format("NIC \"{}\" has no port", label(config)),
                "ports count from 1");
  }
  NicInfo info;
  info.vertex =
      add_pci_vertex(VertexKind::nic, "mlx5_", part, config, parent, bridge, part.latency);
  info.part = part;
  info.name = graph_.vertex(info.vertex).name;
  info.port = config.port;
  info.guid = config.guid;
  info.speed = config.speed.bytes_per_s > 0 ? config.speed : part.port_rate;
  info.part.network = config.network.value_or(part.network);
  info.gdr = config.gdr && (!config.vf || config.ats);
  info.rail = counts_[static_cast<std::size_t>(VertexKind::nic)] - 1 -
              counts_before_[static_cast<std::size_t>(VertexKind::nic)];
  graph_.nics_.push_back(std::move(info));
}

void NodeGraphBuilder::add_sockets() {
  for (const CpuInfo& from : graph_.cpus_) {
    for (const CpuInfo& to : graph_.cpus_) {
      const bool one_tray = graph_.vertex(from.vertex).tray == graph_.vertex(to.vertex).tray;
      if (from.vertex == to.vertex || !one_tray) continue;
      const Bandwidth rate = std::min(from.part.socket_rate, to.part.socket_rate);
      add_link(from.vertex, to.vertex, LinkKind::socket, rate,
               from.part.root_latency + from.part.socket_latency);
    }
  }
}

Bandwidth NodeGraphBuilder::duplex_rate(const CpuPart& cpu, VertexId gpu) const {
  const Vertex& vertex = graph_.vertices_[index_of(gpu)];
  LinkId up{};
  if (cpu.duplex_rate.bytes_per_s > 0 || cpu.duplex_share <= 0 || !vertex.has_parent ||
      !graph_.direct_link(gpu, vertex.parent, LinkKind::pcie, up))
    return cpu.duplex_rate;
  constexpr int kBothWays = 2;
  const auto rate = static_cast<double>(graph_.link(up).rate.bytes_per_s);
  return {std::llround(rate * kBothWays * cpu.duplex_share)};
}

void NodeGraphBuilder::add_roots() {
  graph_.acs_ = type_.acs;
  graph_.patched_driver_ = type_.peer_to_peer;
  graph_.memory_links_.resize(graph_.vertices_.size());
  graph_.root_links_.resize(graph_.vertices_.size());
  graph_.duplex_links_.resize(graph_.vertices_.size());
  graph_.duplex_tree_links_.resize(graph_.vertices_.size());
  const auto next = [&] { return LinkId{static_cast<std::uint32_t>(graph_.links_.size())}; };
  for (const CpuInfo& cpu : graph_.cpus_) {
    if (cpu.part.memory_rate.bytes_per_s > 0) {
      graph_.memory_links_[index_of(cpu.vertex)] = next();
      add_link(cpu.vertex, cpu.vertex, LinkKind::memory, {cpu.part.memory_rate.bytes_per_s / 2},
               {});
    }
    if (cpu.part.root_share <= 0) continue;
    for (const VertexId child : graph_.children(cpu.vertex)) {
      LinkId up{};
      if (!graph_.direct_link(child, cpu.vertex, LinkKind::pcie, up)) continue;
      const auto rate = static_cast<double>(graph_.link(up).rate.bytes_per_s);
      graph_.root_links_[index_of(child)] = next();
      add_link(cpu.vertex, cpu.vertex, LinkKind::root, {std::llround(rate * cpu.part.root_share)},
               {});
    }
  }
  for (const CpuInfo& cpu : graph_.cpus_) {
    for (const GpuInfo& gpu : graph_.gpus_) {
      if (graph_.cpu_of(gpu.vertex) != cpu.vertex) continue;
      const Bandwidth rate = duplex_rate(cpu.part, gpu.vertex);
      const Bandwidth of_tree = cpu.part.duplex_tree_rate;
      if (rate.bytes_per_s <= 0) continue;
      graph_.duplex_links_[index_of(gpu.vertex)] = next();
      add_link(cpu.vertex, cpu.vertex, LinkKind::duplex, rate, {});
      graph_.duplex_tree_links_[index_of(gpu.vertex)] = next();
      add_link(cpu.vertex, cpu.vertex, LinkKind::duplex, of_tree.bytes_per_s > 0 ? of_tree : rate,
               {});
    }
  }
}

NodeGraph NodeGraph::build(const NodeType& type, const PartsCatalogue& parts) {
  return NodeGraphBuilder(type, parts).build();
}

}  // namespace fabricast
