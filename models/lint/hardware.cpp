#include <fmt/format.h>

#include <algorithm>

#include "models/lint/rules.hpp"
#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/base/net_name.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/nccl/environment/settings.hpp"
#include "text/unit_text.hpp"

namespace fabricast::lint_rules_detail {

namespace {

bool has_nvlink(const NodeGraph& node) {
  return std::ranges::any_of(node.gpus(), [](const GpuInfo& g) { return g.nvlink_count > 0; });
}

int capability(const NodeGraph& node) {
  int most = 0;
  for (const GpuInfo& gpu : node.gpus()) most = std::max(most, gpu.part.sm);
  return most;
}

bool has_c2c(const NodeGraph& node) {
  return std::ranges::any_of(node.gpus(), [](const GpuInfo& g) { return g.c2c_links > 0; });
}

/// REQUIRES: NICs.
NetKind network_of(const NodeGraph& node) { return node.nics()[0].part.network; }

bool uses_sockets(const Sheet& sheet, const Setting& s) {
  const Setting* net = sheet.beside(s, "NCCL_NET");
  return sheet.input.cluster->node().nics().empty() ||
         (net != nullptr && net->value() == "Socket") ||
         sheet.number_beside(s, "NCCL_IB_DISABLE").value_or(0) == 1;
}

/// What is missing, as the end of a sentence; "" when it is there.
std::string missing(const Sheet& sheet, const Setting& s, Need need) {
  const Cluster& cluster = *sheet.input.cluster;
  const NodeGraph& node = cluster.node();
  switch (need) {
    case Need::nodes:
      if (cluster.nodes() > 1) return "";
      return cluster.hosts() > 1 ? "NVLink joins all nodes into one"
                                 : "there is one node (--nodes says how many)";
    case Need::single_node:
      return cluster.nodes() == 1 ? "" : "it counts on a single node only";
    case Need::nic:
      return node.nics().empty() ? node.name() + " has no RDMA NIC" : "";
    case Need::verbs:
      if (node.nics().empty()) return node.name() + " has no RDMA NIC";
      return sheet.lacks_verbs() ? fmt::format(
                                       "{}'s network is {}, which a plugin serves; this is "
                                       "of NCCL's own InfiniBand and RoCE network",
                                       node.name(), net_name(network_of(node)))
                                 : "";
    case Need::several_nics:
      return node.nics_per_tray() > 1 ? "" : node.name() + " has one NIC";
    case Need::sockets:
      return uses_sockets(sheet, s) ? "" : "data go over RDMA NICs, not over sockets";
    case Need::nvlink:
      return has_nvlink(node) ? "" : node.name() + " has no NVLink";
    case Need::no_nvlink:
      return has_nvlink(node) ? node.name() + " has NVLink" : "";
    case Need::nvls:
      if (capability(node) < 90) return "NVLS needs compute capability 9.0";
      return node.nvswitches().empty() ? node.name() + " has no NVSwitch" : "";
    case Need::sm90:
      return capability(node) >= 90 ? "" : "it needs compute capability 9.0";
    case Need::sm100:
      return capability(node) >= 100 ? "" : "it needs compute capability 10.0";
    case Need::sharp:
      return sheet.input.sharp ? "" : "the fabric offers no SHARP (--sharp says that it does)";
    case Need::mnnvl:
      return node.domain_nodes() > 1 ? "" : "there is no NVLink between nodes";
    case Need::c2c:
      return has_c2c(node) ? "" : "no GPU is on NVLink-C2C";
  }
  return "";
}

void check_needs(Sheet& sheet, const Setting& s) {
  for (const Need need : s.variable->needs) {
    const std::string why = missing(sheet, s, need);
    if (why.empty()) continue;
    const bool of_scale = need == Need::nodes || need == Need::single_node;
    const bool off = number_text(s.value()).complete && number_text(s.value()).value == 0;
    Finding& f = sheet.add("FL030", of_scale || off ? Severity::note : Severity::warning, s,
                           fmt::format("{} has no effect here: {}", shown(s), why));
    f.reason = s.variable->effect;
    f.source = s.variable->evidence;
    return;
  }
}

/// NVLink switched off.
void check_p2p(Sheet& sheet, const Setting& s) {
  const NodeGraph& node = sheet.input.cluster->node();
  const bool off = (s.name() == "NCCL_P2P_DISABLE" && number_text(s.value()).value == 1) ||
                   (s.name() == "NCCL_P2P_LEVEL" && (s.value() == "LOC" || s.value() == "0"));
  if (!off || !has_nvlink(node) || node.gpus().size() < 2) return;
  const GpuInfo& gpu = node.gpus()[0];
  const Bandwidth nvlink{gpu.part.nvlink_per_link.bytes_per_s * gpu.nvlink_count};
  Finding& f =
      sheet.add("FL043", Severity::warning, s,
                fmt::format("{} leaves NVLink ({} per GPU) unused", shown(s), to_text(nvlink)));
  f.reason = "GPUs of a node then exchange data through host memory, over PCIe and its sockets";
  f.source = "NCCL 2.21.5 src/graph/paths.cc:283, src/transport/shm.cc";
  f.suggestion = "leave it out; it is for finding faults";
}

/// NVLink between servers switched off.
void check_mnnvl(Sheet& sheet, const Setting& s) {
  const Cluster& cluster = *sheet.input.cluster;
  if (sheet.input.apart == nullptr || cluster.hosts() == cluster.nodes()) return;
  Environment alone;
  alone.set(s.name(), s.value());
  if (joins_nvlink_domain(alone, answered_version(sheet.input.version)) ||
      !joins_nvlink_domain({}, answered_version(sheet.input.version)))
    return;
  Finding& f = sheet.add(
      "FL043", Severity::warning, s,
      fmt::format("{} leaves NVLink between the {} nodes unused", shown(s), cluster.hosts()));
  f.reason = "data between nodes then go over the network";
  f.source = s.variable->evidence;
  f.suggestion = "leave it out; it is for finding faults";
}

/// RDMA switched off although there are NICs for it.
void check_rdma(Sheet& sheet, const Setting& s) {
  const Cluster& cluster = *sheet.input.cluster;
  const bool off = (s.name() == "NCCL_IB_DISABLE" && number_text(s.value()).value == 1 &&
                    !sheet.lacks_verbs()) ||
                   (s.name() == "NCCL_NET" && is_net_name(NetKind::sockets, s.value()));
  if (!off || cluster.nodes() < 2 || cluster.node().nics().empty()) return;
  const NicInfo& nic = cluster.node().nics()[0];
  Finding& f = sheet.add("FL043", Severity::warning, s,
                         fmt::format("{} leaves {} RDMA NICs of {} a node unused", shown(s),
                                     cluster.node().nics_per_tray(), to_bits_text(nic.speed)));
  f.reason = "data between nodes then go through the sockets of the operating system";
  f.source = "NCCL 2.21.5 src/transport/net_ib.cc:311";
}

/// A network asked for by name that the NICs are not of. Unknown names may be those of plugins.
void check_net_name(Sheet& sheet, const Setting& s) {
  const Cluster& cluster = *sheet.input.cluster;
  if (s.name() != "NCCL_NET" || cluster.nodes() < 2 || cluster.node().nics().empty()) return;
  bool known = false;
  for (int i = 0; i < kNetKinds; ++i) {
    const NetKind kind = static_cast<NetKind>(i);
    if (!is_net_name(kind, s.value())) continue;
    known = true;
    if (kind == NetKind::sockets) return;
    for (const NicInfo& nic : cluster.node().nics()) {
      if (nic.part.network == kind) return;
    }
  }
  if (!known) return;
  const std::string_view here = net_name(network_of(cluster.node()));
  Finding& f = sheet.add("FL030", Severity::error, s,
                         fmt::format("{}: {} has no such network, its NICs are of {}", shown(s),
                                     cluster.node().name(), here));
  f.reason = "NCCL takes no other network than the one it is told, and does not start without it";
  f.source = s.variable->evidence;
  f.suggestion = "leave it out: NCCL takes the network of the NICs by itself";
}

/// The level a GPU and a NIC are apart, in NCCL's words.
PathType level_of(SmiPath path) {
  switch (path) {
    case SmiPath::self:
    case SmiPath::nvlink:
    case SmiPath::pix:
      return PathType::pix;
    case SmiPath::pxb:
      return PathType::pxb;
    case SmiPath::phb:
    case SmiPath::node:
      return PathType::phb;
    case SmiPath::sys:
      return PathType::sys;
  }
  return PathType::sys;
}

std::optional<PathType> level_from_text(std::string_view text) {
  constexpr PathType old_numbers[] = {PathType::loc, PathType::pix, PathType::pxb, PathType::phb};
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '3')
    return old_numbers[static_cast<std::size_t>(text[0] - '0')];
  return kPathTypeWords.find(text);
}

/// GPUDirect RDMA switched off for the nearest NIC of a GPU.
void check_gdr_level(Sheet& sheet, const Setting& s) {
  if (s.name() != "NCCL_NET_GDR_LEVEL") return;
  const Cluster& cluster = *sheet.input.cluster;
  const NodeGraph& node = cluster.node();
  const std::optional<PathType> level = level_from_text(s.value());
  if (!level || cluster.nodes() < 2 || node.nics().empty()) return;
  std::vector<std::string> without;
  for (const GpuInfo& gpu : node.gpus_of(0)) {
    PathType nearest = PathType::sys;
    for (const NicInfo& nic : node.nics_of(0))
      nearest = std::min(nearest, level_of(node.smi_path(gpu.vertex, nic.vertex)));
    if (nearest > *level) without.push_back(node.vertex(gpu.vertex).name);
  }
  if (without.empty()) return;
  Finding& f = sheet.add("FL043", Severity::warning, s,
                         fmt::format("{} switches GPUDirect RDMA off for {}: the nearest NIC is "
                                     "farther away",
                                     shown(s), joined(without)));
  f.reason = "data are then copied through host memory on both sides";
  f.source = s.variable->evidence;
}

/// The rules of a release say something for any GPU; without kernels nothing runs.
void note_kernels(Sheet& sheet) {
  for (const GpuInfo& gpu : sheet.input.cluster->node().gpus()) {
    if (has_kernels(sheet.input.version, gpu.part.sm)) continue;
    sheet.result.notes.push_back(why_no_kernels(sheet.input.version, gpu.part.sm, gpu.part.name) +
                                 ". What follows is what its rules would say");
    return;
  }
}

}  // namespace

void check_hardware(Sheet& sheet) {
  if (sheet.input.cluster == nullptr) {
    sheet.result.notes.emplace_back(
        "no --topology: what depends on hardware was not checked (FL030, FL040, FL043, FL050..54)");
    return;
  }
  note_kernels(sheet);
  for (const Setting& s : sheet.settings) {
    if (!s.has_value() || s.value().empty() || !s.acts(sheet.input.version)) continue;
    if (s.at->has(EnvTrap::after_init)) continue;  // FL070
    check_needs(sheet, s);
    check_p2p(sheet, s);
    check_mnnvl(sheet, s);
    check_rdma(sheet, s);
    check_net_name(sheet, s);
    check_gdr_level(sheet, s);
  }
}

}  // namespace fabricast::lint_rules_detail
