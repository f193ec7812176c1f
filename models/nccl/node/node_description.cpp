#include "models/nccl/node/node_description.hpp"

#include <algorithm>

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;
using Cpu = NodeDescription::Cpu;

bool contains(std::span<const int> list, int value) {
  return std::ranges::find(list, value) != list.end();
}

/// Visits the PCI functions of a tree, a parent before its children.
template <typename PciTree, typename Visit>
void for_each_pci(PciTree& children, Visit&& visit) {
  for (auto& pci : children) {
    visit(pci);
    for_each_pci(pci.children, visit);
  }
}

std::vector<Pci> used_children(const std::vector<Pci>& children, std::span<const int> gpus,
                               std::span<const int> nets) {
  std::vector<Pci> out;
  for (const Pci& child : children) {
    Pci kept = child;
    if (kept.gpu && !contains(gpus, kept.gpu->dev)) kept.gpu.reset();
    if (kept.nic) {
      std::erase_if(kept.nic->nets, [&](const auto& net) { return !contains(nets, net.dev); });
      if (kept.nic->nets.empty()) kept.nic.reset();
    }
    kept.children = used_children(child.children, gpus, nets);
    if (kept.gpu || kept.nic || !kept.children.empty()) out.push_back(std::move(kept));
  }
  return out;
}

/// Two bare NICs of a CPU are the same if their nets are.
bool is_same(const Pci& a, const Pci& b) {
  if (a.busid != b.busid || a.nic.has_value() != b.nic.has_value()) return false;
  return !a.busid.empty() || a.nic->nets.front().dev == b.nic->nets.front().dev;
}

void add_missing(std::vector<Pci>& into, const std::vector<Pci>& from) {
  for (const Pci& pci : from) {
    const auto known = std::ranges::find_if(into, [&](const Pci& p) { return is_same(p, pci); });
    if (known == into.end()) {
      into.push_back(pci);
    } else {
      add_missing(known->children, pci.children);
    }
  }
}

}  // namespace

std::vector<int> gpu_devs(const NodeDescription& node) {
  std::vector<int> out;
  for (const Cpu& cpu : node.cpus) {
    for_each_pci(cpu.children, [&](const Pci& pci) {
      if (pci.gpu) out.push_back(pci.gpu->dev);
    });
  }
  std::ranges::sort(out);
  return out;
}

std::vector<NodeDescription::Net> nets_of(const NodeDescription& node) {
  std::vector<NodeDescription::Net> out;
  for (const Cpu& cpu : node.cpus) {
    for_each_pci(cpu.children, [&](const Pci& pci) {
      if (pci.nic) out.insert(out.end(), pci.nic->nets.begin(), pci.nic->nets.end());
    });
  }
  return out;
}

std::vector<int> net_devs(const NodeDescription& node) {
  std::vector<int> out;
  for (const NodeDescription::Net& net : nets_of(node)) out.push_back(net.dev);
  return out;
}

NodeDescription used_part(const NodeDescription& node, std::span<const int> gpus,
                          std::span<const int> nets) {
  NodeDescription out;
  out.name = node.name;
  for (const Cpu& cpu : node.cpus) {
    Cpu kept = cpu;
    kept.children = used_children(cpu.children, gpus, nets);
    if (!kept.children.empty()) out.cpus.push_back(std::move(kept));
  }
  return out;
}

NodeDescription fused_by_rank(const NodeDescription& node, std::span<const int> gpus,
                              std::span<const int> nets) {
  NodeDescription out;
  out.name = node.name;
  for (const int gpu : gpus) {
    const NodeDescription mine = used_part(node, std::span(&gpu, 1), nets);
    for (const Cpu& cpu : mine.cpus) {
      const auto known =
          std::ranges::find_if(out.cpus, [&](const Cpu& c) { return c.numa == cpu.numa; });
      if (known == out.cpus.end()) {
        out.cpus.push_back(cpu);
      } else {
        add_missing(known->children, cpu.children);
      }
    }
  }
  return out;
}

}  // namespace fabricast
