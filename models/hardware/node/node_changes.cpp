#include "models/hardware/node/node_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// A run of devices below one child: [first, end).
struct Branch {
  std::size_t first = 0, end = 0;
  std::size_t size() const { return end - first; }
};

/// The devices of `all` by the child at this depth; one branch each where the way ends there.
std::vector<Branch> branches(std::span<const TreeWay> ways, Branch all, std::size_t depth) {
  std::vector<Branch> out;
  for (std::size_t i = all.first; i < all.end; ++i) {
    const bool same = i > all.first && depth < ways[i].size() && depth < ways[i - 1].size() &&
                      ways[i][depth] == ways[i - 1][depth];
    if (!same) out.push_back({i, i});
    out.back().end = i + 1;
  }
  return out;
}

/// How many each branch keeps of `count`: all equally many while they last; what is left over goes
/// to branches that lie evenly among those that have more.
std::vector<std::size_t> shares(const std::vector<Branch>& among, std::size_t count) {
  std::vector<std::size_t> out(among.size(), 0);
  while (count > 0) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < among.size(); ++i)
      if (out[i] < among[i].size()) open.push_back(i);
    const std::size_t round = std::min(count, open.size());
    for (std::size_t i = 0; i < round; ++i) ++out[open[i * open.size() / round]];
    count -= round;
  }
  return out;
}

void spread(std::span<const TreeWay> ways, Branch all, std::size_t depth, std::size_t count,
            std::vector<std::size_t>& out) {
  if (all.size() == 1) {
    if (count == 1) out.push_back(all.first);
    return;
  }
  const std::vector<Branch> below = branches(ways, all, depth);
  const std::vector<std::size_t> kept = shares(below, count);
  for (std::size_t i = 0; i < below.size(); ++i)
    if (kept[i] > 0) spread(ways, below[i], depth + 1, kept[i], out);
}

template <class Elements, class Visit>
void for_each_nic(Elements& elements, Visit visit, const TreeWay& above = {}) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    TreeWay way = above;
    way.push_back(static_cast<int>(i));
    if (elements[i].kind == PciConfig::Kind::nic) visit(elements[i], way);
    for_each_nic(elements[i].children, visit, way);
  }
}

template <class Elements, class Visit>
void for_each_gpu(Elements& elements, Visit visit) {
  for (auto& element : elements) {
    if (element.kind == PciConfig::Kind::gpu) visit(element);
    for_each_gpu(element.children, visit);
  }
}

/// The ways of all NICs, with the CPU before the root.
std::vector<TreeWay> nic_ways(const NodeType& node) {
  std::vector<TreeWay> out;
  for_each_nic(node.pci, [&](const PciConfig&, TreeWay way) {
    const std::string& cpu = node.pci[static_cast<std::size_t>(way.front())].cpu;
    const auto at = std::ranges::find(node.cpus, cpu, &CpuConfig::name);
    way.insert(way.begin(), static_cast<int>(at - node.cpus.begin()));
    out.push_back(std::move(way));
  });
  return out;
}

/// Takes off NICs that are not among `names`, and switches that this leaves empty.
void keep_only(const std::set<std::string>& names, std::vector<PciConfig>& elements) {
  for (PciConfig& element : elements) keep_only(names, element.children);
  std::erase_if(elements, [&](const PciConfig& element) {
    if (element.kind == PciConfig::Kind::nic) return !names.contains(element.name);
    return element.kind == PciConfig::Kind::pcie_switch && element.children.empty();
  });
}

void note_busids(const std::vector<PciConfig>& elements, std::set<std::string>& out) {
  for (const PciConfig& element : elements) {
    out.insert(element.busid);
    note_busids(element.children, out);
  }
}

/// A bus of the same PCI domain that nothing is on.
std::string free_busid(const std::string& beside, std::set<std::string>& taken) {
  const std::string domain = beside.empty() ? "0000" : beside.substr(0, beside.find(':'));
  for (int bus = 1; bus < 256; ++bus) {
    std::string busid = fmt::format("{}:{:02x}:00.0", domain, bus);
    if (taken.insert(busid).second) return busid;
  }
  throw Error(fmt::format("PCI domain {} has no bus left for more NICs", domain));
}

/// Each NIC becomes so many beside each other; all are numbered anew.
void multiply(int times, std::set<std::string>& taken, int& number,
              std::vector<PciConfig>& elements) {
  std::vector<PciConfig> out;
  for (PciConfig& element : elements) {
    multiply(times, taken, number, element.children);
    if (element.kind != PciConfig::Kind::nic) {
      out.push_back(std::move(element));
      continue;
    }
    for (int copy = 0; copy < times; ++copy) {
      PciConfig& nic = out.emplace_back(element);
      if (copy > 0) nic.busid = free_busid(element.busid, taken);
      nic.name = fmt::format("mlx5_{}", number);
      nic.guid = fmt::format("0x9a3f5e0003{:04x}00", number++);
    }
  }
  elements = std::move(out);
}

void change_gpus(const std::string& name, const PartsCatalogue& parts, NodeType& node) {
  std::vector<std::string> known;
  for (const auto& [gpu, part] : parts.gpus) known.push_back(gpu);
  const auto wanted = parts.gpus.find(name);
  if (wanted == parts.gpus.end())
    throw Error(fmt::format("unknown GPU \"{}\"", name), hint_nearest(name, known));
  const GpuPart& part = wanted->second;
  for_each_gpu(node.pci, [&](PciConfig& gpu) {
    const auto at = parts.gpus.find(gpu.part);
    if (at == parts.gpus.end() || at->first == name) return;
    const GpuPart& before = at->second;
    if (before.nvlink_links != part.nvlink_links || before.c2c_links != part.c2c_links ||
        before.nvlink_per_link != part.nvlink_per_link || before.pcie_gen != part.pcie_gen)
      throw Error(fmt::format("{} does not fit where {} has {}: its links differ", name, node.name,
                              gpu.part),
                  "fabricast list topologies names nodes with it");
    gpu.part = name;
    gpu.ids.reset();
  });
}

void change_nics(const NodeChanges& changes, const PartsCatalogue& parts, NodeType& node) {
  std::vector<std::string> known;
  for (const auto& [nic, part] : parts.nics) known.push_back(nic);
  if (!changes.nic.empty() && !parts.nics.contains(changes.nic))
    throw Error(fmt::format("unknown NIC \"{}\"", changes.nic), hint_nearest(changes.nic, known));
  for_each_nic(node.pci, [&](PciConfig& nic, const TreeWay&) {
    if (!changes.nic.empty()) {
      nic.part = changes.nic;
      nic.ids.reset();
      nic.speed = {};
      nic.pcie_gen = nic.pcie_width = 0;
      nic.network.reset();
    }
    if (changes.network) nic.network = changes.network;
  });
}

/// What the title says of the NICs.
std::string change_count(int count, NodeType& node) {
  const int have = static_cast<int>(nics_of(node).size());
  if (count == have) return {};
  if (have > 0 && count > have && count % have == 0) {
    std::set<std::string> taken;
    note_busids(node.pci, taken);
    for (const NvSwitchConfig& chip : node.nvswitches) taken.insert(chip.busid);
    int number = 0;
    multiply(count / have, taken, number, node.pci);
    return fmt::format("{} NICs, {} in place of each of the {}", count, count / have, have);
  }
  const std::vector<std::string> names = spread_nics(node, count);
  keep_only({names.begin(), names.end()}, node.pci);
  return fmt::format("{} of its {} NICs: {}", count, have, fmt::join(names, ", "));
}

}  // namespace

std::vector<std::size_t> spread_over_tree(std::span<const TreeWay> ways, int count) {
  std::vector<std::size_t> out;
  if (count > 0 && !ways.empty())
    spread(ways, {0, ways.size()}, 0, static_cast<std::size_t>(count), out);
  return out;
}

std::vector<const PciConfig*> nics_of(const NodeType& node) {
  std::vector<const PciConfig*> out;
  for_each_nic(node.pci, [&](const PciConfig& nic, const TreeWay&) { out.push_back(&nic); });
  return out;
}

std::vector<std::string> spread_nics(const NodeType& node, int count) {
  const std::vector<const PciConfig*> nics = nics_of(node);
  const int have = static_cast<int>(nics.size());
  if (count < 1 || count > have)
    throw Error(about("--nics"), fmt::format("{} NICs: {} has {}", count, node.name, have),
                have == 0 ? "" : fmt::format("so many at most, or a multiple of {}", have));
  std::vector<std::string> out;
  for (const std::size_t i : spread_over_tree(nic_ways(node), count)) out.push_back(nics[i]->name);
  return out;
}

NodeType changed(NodeType node, const NodeChanges& changes, const PartsCatalogue& parts) {
  std::vector<std::string> said;
  if (!changes.gpu.empty()) {
    change_gpus(changes.gpu, parts, node);
    said.push_back(fmt::format("with {}", changes.gpu));
  }
  if (!changes.nic.empty() || changes.network) {
    change_nics(changes, parts, node);
    if (!changes.nic.empty()) said.push_back(fmt::format("its NICs are {}", changes.nic));
    if (changes.network) said.push_back(fmt::format("on {}", to_text(*changes.network)));
  }
  if (changes.nics > 0) {
    if (std::string what = change_count(changes.nics, node); !what.empty())
      said.push_back(std::move(what));
  }
  if (!said.empty()) node.title += fmt::format("; {}", fmt::join(said, "; "));
  return node;
}

}  // namespace fabricast
