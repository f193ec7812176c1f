#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/lint/rules.hpp"
#include "models/nccl/environment/ib_hca.hpp"
#include "models/nccl/node/network.hpp"
#include "sim/base/error.hpp"

namespace fabricast::lint_rules_detail {

namespace {

constexpr std::string_view kSource = "NCCL 2.21.5 src/transport/net_ib.cc:412, src/misc/socket.cc";

/// The list without its markers.
struct HcaList {
  bool exclude = false, exact = false;
  std::vector<std::string_view> entries;
};

HcaList hca_list(std::string_view value) {
  HcaList out;
  if (value.starts_with('^')) {
    out.exclude = true;
    value.remove_prefix(1);
  }
  if (value.starts_with('=')) {
    out.exact = true;
    value.remove_prefix(1);
  }
  for (const std::string_view entry : comma_list(value)) {
    if (!entry.empty()) out.entries.push_back(entry);
  }
  return out;
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find(':')); }

/// A name that ends in digits names one device to a person, and to NCCL all that begin so.
void check_prefixes(Sheet& sheet, const Setting& s, const HcaList& list) {
  if (list.exact || sheet.input.cluster != nullptr) return;
  for (const std::string_view entry : list.entries) {
    const std::string_view name = name_of(entry);
    const bool one_digit = name.size() > 2 && name.back() >= '1' && name.back() <= '9' &&
                           name[name.size() - 2] == '_';  // mlx5_1, not mlx5
    if (!one_digit) continue;
    Finding& f = sheet.add(
        "FL052", Severity::note, s,
        fmt::format("{}: {} is a prefix: {}0, {}1, ... match, too", shown(s), name, name, name));
    f.source = kSource;
    f.suggestion = "a '=' in front of the list (behind '^') makes names exact";
    return;
  }
}

void check_markers(Sheet& sheet, const Setting& s) {
  const IbHcaFilter filter(s.value());
  for (const std::string& warning : filter.warnings()) {
    if (warning.find("blanks") != std::string::npos) continue;  // FL015
    sheet.add("FL051", Severity::warning, s, warning).source = kSource;
  }
}

/// On the node: what each entry matches.
void check_entries(Sheet& sheet, const Setting& s, const HcaList& list) {
  const NodeGraph& node = sheet.input.cluster->node();
  std::vector<std::string> known;
  for (const NicInfo& nic : node.nics_of(0)) known.push_back(nic.name);
  for (const std::string_view entry : list.entries) {
    const IbHcaFilter one((list.exact ? "=" : "") + std::string(entry));
    std::vector<std::string> matched;
    for (const NicInfo& nic : node.nics_of(0)) {
      if (one.selects(nic.name, nic.port)) matched.push_back(nic.name);
    }
    if (matched.empty()) {
      Finding& f =
          sheet.add("FL051", Severity::warning, s,
                    fmt::format("{}: \"{}\" matches no HCA of {}", shown(s), entry, node.name()));
      f.reason = "its HCAs are " + joined(known);
      f.source = kSource;
    } else if (matched.size() > 1 && std::ranges::find(matched, name_of(entry)) != matched.end()) {
      Finding& f =
          sheet.add("FL052", Severity::warning, s,
                    fmt::format("{}: \"{}\" matches {}", shown(s), entry, joined(matched)));
      f.reason = "without '=' a name stands for all that begin with it";
      f.source = kSource;
      f.suggestion = "a '=' in front of the list (behind '^') makes names exact";
    }
  }
}

/// GPUs and selected NICs of one NUMA node.
struct Numa {
  std::vector<std::string> gpus;
  int nics = 0, selected = 0;
};

std::map<int, Numa> by_numa(const NodeGraph& node, const IbHcaFilter& filter) {
  std::map<std::uint32_t, int> numa_of;
  for (const CpuInfo& cpu : node.cpus()) numa_of[index_of(cpu.vertex)] = cpu.numa;
  std::map<int, Numa> out;
  for (const GpuInfo& gpu : node.gpus_of(0))
    out[numa_of[index_of(node.cpu_of(gpu.vertex))]].gpus.push_back(node.vertex(gpu.vertex).name);
  for (const NicInfo& nic : node.nics_of(0)) {
    Numa& numa = out[numa_of[index_of(node.cpu_of(nic.vertex))]];
    ++numa.nics;
    numa.selected += filter.selects(nic.name, nic.port) ? 1 : 0;
  }
  return out;
}

void check_selection(Sheet& sheet, const Setting& s) {
  const Cluster& cluster = *sheet.input.cluster;
  const NodeGraph& node = cluster.node();
  const IbHcaFilter filter(s.value());
  std::vector<std::string> selected;
  for (const NicInfo& nic : node.nics_of(0)) {
    if (filter.selects(nic.name, nic.port)) selected.push_back(nic.name);
  }
  if (selected.empty()) {
    Finding& f = sheet.add("FL050", cluster.nodes() > 1 ? Severity::error : Severity::warning, s,
                           fmt::format("{} selects no HCA of {}", shown(s), node.name()));
    f.reason = "NCCL falls back to sockets, or does not start when NCCL_NET=IB";
    f.source = kSource;
    return;
  }
  for (const auto& [number, numa] : by_numa(node, filter)) {
    if (numa.gpus.empty() || numa.nics == 0 || numa.selected > 0) continue;
    Finding& f = sheet.add("FL053", Severity::warning, s,
                           fmt::format("{} leaves NUMA node {} without a NIC: {} reach {} over the "
                                       "link between sockets",
                                       shown(s), number, joined(numa.gpus), joined(selected)));
    f.reason = fmt::format("the NUMA node has {} of the node's NICs, none is selected", numa.nics);
    f.source =
        "NCCL 2.21.5 src/graph/paths.cc (path SYS is beyond the default of "
        "NCCL_NET_GDR_LEVEL)";
    f.suggestion = "select NICs on each NUMA node that has GPUs";
  }
  if (selected.size() < node.nics_of(0).size()) {
    Finding& f = sheet.add(
        "FL054", Severity::note, s,
        fmt::format("{} selects {} of {} NICs", shown(s), selected.size(), node.nics_of(0).size()));
    f.reason = joined(selected);
    f.source = kSource;
  }
}

/// NCCL refuses groups that it cannot make of the node's NICs.
void check_fused(Sheet& sheet, const Setting& s) {
  constexpr NcclVersion since{24, 3};
  if (sheet.input.cluster == nullptr || sheet.input.version < since) return;
  Environment alone;
  alone.set(s.name(), s.value());
  std::vector<std::string> warnings;
  try {
    choose_network(describe(sheet.input.cluster->node()), alone, sheet.input.version, {}, 2,
                   warnings);
  } catch (const Error& e) {
    if (e.message().find("not modelled") != std::string::npos) return;
    sheet.add("FL051", Severity::error, s, e.reason()).source =
        "NCCL 2.24.3 src/graph/topo.cc, ncclTopoForceMerge";
  }
}

}  // namespace

void check_hcas(Sheet& sheet) {
  for (const Setting& s : sheet.settings) {
    if (!s.has_value() || s.value().empty()) continue;
    if (s.name() == "NCCL_NET_FORCE_MERGE") check_fused(sheet, s);
    if (s.name() != "NCCL_IB_HCA") continue;
    if (s.value().find_first_of(" \t") != std::string::npos) continue;  // FL015, FL080
    check_markers(sheet, s);
    const HcaList list = hca_list(s.value());
    check_prefixes(sheet, s, list);
    if (sheet.input.cluster == nullptr || sheet.input.cluster->node().nics().empty()) continue;
    if (sheet.lacks_verbs()) continue;  // FL030
    if (sheet.number_beside(s, "NCCL_IB_DISABLE").value_or(0) == 1) continue;
    check_entries(sheet, s, list);
    check_selection(sheet, s);
  }
}

}  // namespace fabricast::lint_rules_detail
