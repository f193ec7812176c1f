#include "models/nccl/node/site_settings.hpp"

#include <fmt/format.h>

namespace fabricast {
namespace {

using VisitNet = std::function<void(const NodeDescription::Pci&, const NodeDescription::Net&)>;

void each_net(const std::vector<NodeDescription::Pci>& children, const VisitNet& visit) {
  for (const NodeDescription::Pci& pci : children) {
    each_net(pci.children, visit);
    if (!pci.nic) continue;
    for (const NodeDescription::Net& net : pci.nic->nets) visit(pci, net);
  }
}

}  // namespace

Environment with_settings(const Environment& environment, const Settings& settings,
                          std::string_view who, std::vector<std::string>& warnings) {
  Environment out = environment;
  std::string names;
  for (const auto& [name, value] : settings) {
    if (environment.get(name)) continue;
    out.set(name, value);
    names += fmt::format(" {}={}", name, value);
  }
  if (!names.empty()) warnings.push_back(fmt::format("{}{}.", who, names));
  return out;
}

void each_net(const NodeDescription& node, const VisitNet& visit) {
  if (!node.is_of_parts) return;
  for (const NodeDescription::Cpu& cpu : node.cpus) each_net(cpu.children, visit);
}

}  // namespace fabricast
