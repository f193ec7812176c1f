#include "models/io/topologies/import_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "models/io/topologies/read_node.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;

constexpr int kOldestGen = 3;             // no link of a GPU server is slower by itself
constexpr int kNetSpeedDefault = 10'000;  // Mb/s: NCCL's, where a net names none
constexpr std::int64_t kBytesPerMegabit = 1'000'000 / 8;

/// Generation that sysfs writes as "32.0 GT/s PCIe"; 0 = not to be believed.
int pcie_gen(std::string_view speed) {
  const double rate = leading_number<double>(speed).value_or(0);  // GT/s
  int gen = 0;
  for (const double known : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) gen += rate >= known ? 1 : 0;
  return gen < kOldestGen ? 0 : gen;
}
/// Lanes; 0 = unknown.
int pcie_width(int lanes) {
  return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16 ? lanes : 0;
}

PciIds ids_of(const Pci& pci) {
  return {pci.device_class, pci.vendor, pci.device, pci.subsystem_vendor, pci.subsystem_device};
}

/// The part of this vendor and device; nullptr = none.
template <class Part>
const Part* by_device(const std::map<std::string, Part>& parts, const Pci& pci) {
  for (const auto& [name, part] : parts) {
    if (part.ids.device == pci.device && (pci.vendor.empty() || part.ids.vendor == pci.vendor))
      return &part;
  }
  return nullptr;
}

/// The function so many after the one a bus id ends with.
char nth_function(char first, std::size_t n) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::size_t from = digits.find(first);
  return from == std::string_view::npos ? first : digits[(from + n) % digits.size()];
}

class Importer {
 public:
  Importer(const NodeDescription& node, const PartsCatalogue& parts) : node_(node), parts_(parts) {}

  NodeType import() {
    out_.place = {node_.name, 0, {}};
    out_.name = std::filesystem::path(node_.name).stem().string();
    out_.title = fmt::format("from {}", std::filesystem::path(node_.name).filename().string());
    for (const NodeDescription::Cpu& cpu : node_.cpus) note_gpus(cpu.children);
    for (const NodeDescription::Cpu& cpu : node_.cpus) add_cpu(cpu);
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const Pci& pci, const std::string& what, std::string hint = {}) const {
    throw Error(out_.place, fmt::format("{}: {}", pci.busid, what), std::move(hint));
  }

  void note_gpus(const std::vector<Pci>& children) {
    for (const Pci& pci : children) {
      if (pci.gpu) gpus_.insert(pci.busid);
      note_gpus(pci.children);
    }
  }

  void add_cpu(const NodeDescription::Cpu& cpu) {
    CpuConfig config;
    config.place = out_.place;
    config.name = fmt::format("cpu{}", out_.cpus.size());
    config.identity = {cpu.arch, cpu.vendor, cpu.family, cpu.model};
    config.part = nearest_cpu(*config.identity).name;
    config.numa = cpu.numa;
    config.affinity = is_core_mask(cpu.affinity) ? cpu.affinity : "0";
    config.host_hash = cpu.host_hash;
    for (const Pci& child : cpu.children) {
      for (PciConfig& element : elements(child)) {
        element.cpu = config.name;
        out_.pci.push_back(std::move(element));
      }
    }
    out_.cpus.push_back(std::move(config));
  }

  /// A part of the same vendor if there is one, then the nearest model.
  const CpuPart& nearest_cpu(const CpuIdentity& cpu) const {
    const auto distance = [&](const CpuPart& part) {
      return std::tuple(part.arch != cpu.arch, part.vendor != cpu.vendor,
                        std::abs(part.family_id - cpu.family_id),
                        std::abs(part.model_id - cpu.model_id));
    };
    return std::min_element(parts_.cpus.begin(), parts_.cpus.end(),
                            [&](const auto& a, const auto& b) {
                              return distance(a.second) < distance(b.second);
                            })
        ->second;
  }

  /// What a PCI function is here: nothing, when it leads to no device; a NIC per net.
  std::vector<PciConfig> elements(const Pci& pci) {
    PciConfig config;
    config.place = out_.place;
    config.busid = pci.busid;
    config.pcie_gen = pcie_gen(pci.link_speed);
    config.pcie_width = pcie_width(pci.link_width);
    if (!parts_.pcie.contains(config.pcie_gen)) config.pcie_gen = 0;
    if (pci.gpu) return {gpu(pci, std::move(config))};
    if (pci.nic) return nics(pci, config);
    for (const Pci& child : pci.children) {
      for (PciConfig& below : elements(child)) config.children.push_back(std::move(below));
    }
    if (config.children.empty()) return {};
    int gen = config.pcie_gen;
    for (const PciConfig& below : config.children) gen = std::max(gen, below.pcie_gen);
    const PcieSwitchPart& part = pcie_switch(pci, gen);
    config.kind = PciConfig::Kind::pcie_switch;
    config.part = part.name;
    keep_ids(config, pci, part.ids);
    return {std::move(config)};
  }

  static void keep_ids(PciConfig& config, const Pci& pci, const PciIds& ids) {
    if (ids_of(pci) != ids) config.ids = ids_of(pci);
  }

  /// An unknown switch is like the slowest one that reaches its speed and that of what is below it.
  const PcieSwitchPart& pcie_switch(const Pci& pci, int gen) const {
    if (const PcieSwitchPart* known = by_device(parts_.pcie_switches, pci)) return *known;
    const auto rank = [&](const PcieSwitchPart& part) {
      return std::pair(part.pcie_gen < gen, gen == 0 ? -part.pcie_gen : part.pcie_gen);
    };
    return std::min_element(
               parts_.pcie_switches.begin(), parts_.pcie_switches.end(),
               [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); })
        ->second;
  }

  PciConfig gpu(const Pci& pci, PciConfig config) {
    config.kind = PciConfig::Kind::gpu;
    config.gdr = pci.gpu->gdr;
    config.dev = pci.gpu->dev;
    int links = 0;
    for (const NodeDescription::Nvlink& link : pci.gpu->nvlinks)
      links += add_nvlink(pci, link, config);
    for (const NodeDescription::C2c& link : pci.gpu->c2c) config.c2c += link.count;
    const GpuPart& part = gpu_part(pci, links, config.c2c);
    config.part = part.name;
    keep_ids(config, pci, part.ids);
    return config;
  }

  /// Its servers have NVSwitches: it is no card.
  bool needs_nvswitches(const GpuPart& part) const {
    const auto at = parts_.platforms.find(part.name);
    return at != parts_.platforms.end() && !at->second.nvswitch.empty();
  }

  const GpuPart& gpu_part(const Pci& pci, int links, int c2c) const {
    const GpuPart* best = by_device(parts_.gpus, pci);
    if (best != nullptr && best->c2c_links >= c2c) return *best;
    best = nullptr;
    std::string known;
    for (const auto& [name, part] : parts_.gpus) {
      known += fmt::format("{}{} (sm {})", known.empty() ? "" : ", ", name, part.sm);
      if (part.sm != pci.gpu->sm || part.nvlink_links < links || part.c2c_links < c2c) continue;
      const auto more = [&](const GpuPart& one) {
        return std::tuple(links == 0 && needs_nvswitches(one), one.nvlink_links, one.c2c_links);
      };
      if (best == nullptr || more(part) < more(*best)) best = &part;
    }
    if (best != nullptr) return *best;
    fail(pci,
         fmt::format("no GPU of the catalogue is like this one: device \"{}\", sm {}, {} NVLinks{}",
                     pci.device, pci.gpu->sm, links,
                     c2c > 0 ? fmt::format(", {} NVLink-C2C", c2c) : ""),
         fmt::format("known: {}; --parts adds others", known));
  }

  /// The number of links that lead anywhere: not to itself, as some virtual machines say, nor to a
  /// GPU that is not there.
  int add_nvlink(const Pci& pci, const NodeDescription::Nvlink& link, PciConfig& config) {
    if (link.tclass.starts_with("0x068001")) fail(pci, "NVLinks to a CPU are not simulated");
    const bool to_gpu = link.tclass.starts_with("0x03");
    if (link.count == 0 || link.target == pci.busid) return 0;
    if (to_gpu && !gpus_.contains(link.target)) return 0;
    if (!to_gpu) add_nvswitch(link.target, pci.gpu->sm);
    const auto same = std::find_if(config.nvlinks.begin(), config.nvlinks.end(),
                                   [&](const auto& other) { return other.target == link.target; });
    if (same != config.nvlinks.end()) {
      same->count += link.count;
    } else {
      config.nvlinks.push_back({link.target, link.count});
    }
    return link.count;
  }

  void add_nvswitch(const std::string& busid, int sm) {
    for (const NvSwitchConfig& chip : out_.nvswitches) {
      if (chip.busid == busid) return;
    }
    const int generation = sm >= 100 ? 4 : sm >= 90 ? 3 : sm >= 80 ? 2 : 1;
    out_.nvswitches.push_back({out_.place, fmt::format("nvswitch{}", out_.nvswitches.size()),
                               fmt::format("NVSwitch{}", generation), busid});
  }

  std::vector<PciConfig> nics(const Pci& pci, const PciConfig& base) {
    std::vector<PciConfig> out;
    for (const NodeDescription::Net& net : pci.nic->nets) {
      PciConfig& config = out.emplace_back(base);
      config.kind = PciConfig::Kind::nic;
      if (!base.busid.empty())
        config.busid.back() = nth_function(base.busid.back(), out.size() - 1);
      config.name = net.name.empty() ? fmt::format("mlx5_{}", net.dev) : net.name;
      config.port = std::max(net.port, 1);
      config.gdr = net.gdr;
      if (net.guid) config.guid = fmt::format("0x{:x}", *net.guid);
      const int mbps = net.speed_mbps > 0 ? net.speed_mbps : kNetSpeedDefault;
      config.speed = {mbps * kBytesPerMegabit};
      const NicPart& part = nic_part(pci, config.speed);
      config.part = part.name;
      if (!pci.busid.empty()) keep_ids(config, pci, part.ids);
    }
    return out;
  }

  /// An unknown NIC is like the slowest InfiniBand one that reaches its speed.
  const NicPart& nic_part(const Pci& pci, Bandwidth speed) const {
    if (const NicPart* known = by_device(parts_.nics, pci)) return *known;
    const auto rank = [&](const NicPart& part) {
      const bool too_slow = part.port_rate < speed;
      return std::tuple(part.network != NetKind::ib, too_slow,
                        too_slow ? -part.port_rate.bytes_per_s : part.port_rate.bytes_per_s);
    };
    return std::min_element(
               parts_.nics.begin(), parts_.nics.end(),
               [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); })
        ->second;
  }

  const NodeDescription& node_;
  const PartsCatalogue& parts_;
  NodeType out_;
  std::set<std::string> gpus_;  ///< bus ids
};

}  // namespace

NodeType import_node(const NodeDescription& node, const PartsCatalogue& parts) {
  return Importer(node, parts).import();
}

}  // namespace fabricast
