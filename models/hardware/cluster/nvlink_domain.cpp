#include "models/hardware/cluster/nvlink_domain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/cluster/gpus_used.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

/// "0008:01:00.0" of tray 2 is "200000008:01:00.0": the tray's number in front of the PCI domain.
std::string busid_of_tray(const std::string& busid, int tray) {
  if (tray == 0 || busid.empty()) return busid;
  const std::size_t domain = busid.find(':');
  return fmt::format("{:x}{:0>8}{}", tray, busid.substr(0, domain), busid.substr(domain));
}

/// Another number for each tray.
std::string hex_of_tray(const std::string& hex, int tray) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // odd, so no two trays meet
  if (tray == 0) return hex;
  const auto digits = std::string_view(hex).substr(hex.starts_with("0x") ? 2 : 0);
  const std::uint64_t value = leading_number<std::uint64_t>(digits, 16).value_or(0);
  return fmt::format("0x{:x}", value + kStep * static_cast<std::uint64_t>(tray));
}

class Tray {
 public:
  Tray(const NodeType& type, int tray, int gpus) : type_(type), tray_(tray), gpus_(gpus) {}

  void add_to(NodeType& out) {
    int numa_step = 1;
    for (const CpuConfig& cpu : type_.cpus) numa_step = std::max(numa_step, cpu.numa + 1);
    for (CpuConfig cpu : type_.cpus) {
      cpu.tray = tray_;
      cpu.numa += tray_ * numa_step;
      cpu.host_hash = hex_of_tray(cpu.host_hash, tray_);
      out.cpus.push_back(std::move(cpu));
    }
    for (const PciConfig& root : type_.pci) {
      if (takes_part(root)) out.pci.push_back(changed(root));
    }
  }

 private:
  /// In the order of the file, which is that of ranks unless `dev` says otherwise.
  bool takes_part(const PciConfig& config) {
    if (config.kind != PciConfig::Kind::gpu || gpus_ == 0) return true;
    return (config.dev >= 0 ? config.dev : seen_++) < gpus_;
  }

  PciConfig changed(const PciConfig& config) {
    PciConfig out = config;
    out.tray = tray_;
    out.busid = busid_of_tray(config.busid, tray_);
    if (!config.guid.empty()) out.guid = hex_of_tray(config.guid, tray_);
    for (PciConfig::Nvlink& link : out.nvlinks) {
      const bool to_switch =
          std::any_of(type_.nvswitches.begin(), type_.nvswitches.end(),
                      [&](const NvSwitchConfig& chip) { return chip.busid == link.target; });
      if (link.target.find(':') != std::string::npos && !to_switch)
        link.target = busid_of_tray(link.target, tray_);
    }
    out.children.clear();
    for (const PciConfig& child : config.children) {
      if (takes_part(child)) out.children.push_back(changed(child));
    }
    return out;
  }

  const NodeType& type_;
  int tray_, gpus_;
  int seen_ = 0;  ///< GPUs so far
};

int gpu_count(const std::vector<PciConfig>& elements) {
  int gpus = 0;
  for (const PciConfig& one : elements)
    gpus += one.kind == PciConfig::Kind::gpu ? 1 : gpu_count(one.children);
  return gpus;
}

/// In as few domains as can hold them, and no domain less than half full; 0 = not equally.
int equal_trays(int nodes, int most) {
  if (nodes <= most) return std::max(nodes, 1);
  for (int domains = (nodes + most - 1) / most; nodes / domains * 2 >= most; ++domains)
    if (nodes % domains == 0) return nodes / domains;
  return 0;
}

}  // namespace

int trays_per_domain(const NodeType& type, int nodes) {
  const int most = type.domain_nodes;
  if (const int trays = equal_trays(nodes, most); trays > 0) return trays;
  int below = nodes - 1, above = nodes + 1;
  while (equal_trays(below, most) == 0) --below;
  while (equal_trays(above, most) == 0) ++above;
  throw Error(fmt::format("{} nodes of {} do not divide over NVLink domains of up to {} equally",
                          nodes, type.name, most),
              fmt::format("{} or {} do; NCCL_MNNVL_ENABLE=0 makes every node one of its own", below,
                          above));
}

NodeType join_trays(const NodeType& type, int trays, int gpus) {
  check_gpus_asked(gpus, type.name, gpu_count(type.pci));
  NodeType out = type;
  out.trays = trays;
  out.cpus.clear();
  out.pci.clear();
  for (int tray = 0; tray < trays; ++tray) Tray(type, tray, gpus).add_to(out);
  return out;
}

}  // namespace fabricast
