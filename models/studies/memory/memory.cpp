#include "models/studies/memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/studies/memory/memory_groups.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

MemoryGroup group_of(const Site& site, const AskedGroup& asked, const MemoryConfig& config,
                     std::vector<std::string>& notes) {
  CommunicatorConfig made = site.communicator;
  made.members = asked.members;
  const Communicator communicator = make_communicator(site.cluster, made);
  for (const std::string& warning : communicator.warnings) add_once(notes, warning);
  MemoryGroup out;
  out.name = asked.name;
  out.ranks = communicator.ranks;
  out.nodes = communicator.nodes;
  out.communicators = config.communicators;
  out.use = use_of(communicator, asked.calls);
  out.memory = communicator_memory(site.cluster, communicator, made.environment, out.use);
  out.rank = config.rank.value_or(out.memory.fullest());
  if (out.rank >= out.ranks) {
    throw Error(about("--rank"),
                fmt::format("--rank {}: the communicator has {} ranks", out.rank, out.ranks),
                "they are numbered from 0");
  }
  return out;
}

/// Where a layout has more ranks than are counted, its other groups still are.
void leave_out_too_large(std::vector<AskedGroup>& asked, std::vector<std::string>& notes) {
  std::erase_if(asked, [&](const AskedGroup& group) {
    if (group.members.ranks() <= kMemoryRanksMax) return false;
    add_once(notes, fmt::format("{}: a communicator of {} ranks is not counted: {} are the most.",
                                group.name, group.members.ranks(), kMemoryRanksMax));
    return true;
  });
}

/// Of one release on so many nodes. 0 = the topology's.
MemoryCase case_of(const Topology& topology, const MemoryConfig& config, int nodes,
                   std::vector<std::string>& notes) {
  const Site site = site_of(topology, config, nodes_of(config, nodes));
  MemoryCase out;
  out.version = config.version;
  out.nodes = site.cluster.nodes() * site.cluster.node().trays();
  std::vector<AskedGroup> asked = {
      {"all", site.communicator.members, calls_of(config.collectives, config.sizes)}};
  if (config.layout) {
    const StepConfig step = sized(*config.layout, site.cluster);
    asked = groups_of_layout(step, gpus_used(site.cluster, config.gpus_per_node));
    leave_out_too_large(asked, notes);
    if (!config.sizes.empty())
      for (AskedGroup& group : asked) group.calls = calls_of(group.collectives(), config.sizes);
    if (asked.empty()) {
      throw Error("no group of the layout has several ranks: NCCL has nothing to join",
                  "tp, cp, ep, pp or data parallelism makes groups");
    }
  }
  for (const AskedGroup& group : asked) {
    out.groups.push_back(group_of(site, group, config, notes));
    out.ranks = std::max(out.ranks, out.groups.back().ranks);
  }
  if (config.layout) out.ranks = sized(*config.layout, site.cluster).layout.gpus;
  return out;
}

bool has_rows(const MemoryCase& of, MemoryPurpose purpose) {
  return std::ranges::any_of(of.groups, [&](const MemoryGroup& group) {
    return std::ranges::any_of(group.told().rows,
                               [&](const MemoryRow& row) { return row.purpose == purpose; });
  });
}

struct Setting {
  std::string variable, value;
};

/// What a user may turn to have less.
std::vector<Setting> settings_to_try(const MemoryConfig& config, const MemoryCase& now,
                                     const BufferSizes& buffers) {
  std::vector<Setting> out;
  int channels = 1, sendrecv = 1;
  bool nvls = false, lazy = true, cumem = false, only_ring = true;
  for (const MemoryGroup& group : now.groups) {
    const CommunicatorMemory& memory = group.memory;
    channels = std::max(channels, memory.channels);
    sendrecv = std::max(sendrecv, memory.sendrecv_channels);
    nvls = nvls || memory.nvls_heads > 0;
    lazy = lazy && memory.settings.lazy;
    cumem = cumem || memory.settings.cumem;
    for (const Algorithm algorithm : memory.connected)
      only_ring = only_ring && algorithm == Algorithm::ring;
  }
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  if (channels > 1) out.push_back({"NCCL_MAX_NCHANNELS", number(channels / 2)});
  if (sendrecv > 1) out.push_back({"NCCL_MAX_P2P_NCHANNELS", number(sendrecv / 2)});
  out.push_back({"NCCL_BUFFSIZE", number(buffers.simple.count / 2)});
  out.push_back({"NCCL_LL128_BUFFSIZE", number(buffers.ll128.count / 2)});
  if (nvls) out.push_back({"NCCL_NVLS_ENABLE", "0"});
  if (nvls && has_rows(now, MemoryPurpose::nvls_buffers) && config.version >= kNccl2_21)
    out.push_back({"NCCL_NVLS_CHUNKSIZE", "65536"});
  if (!lazy && cumem && config.version >= kNccl2_22) out.push_back({"NCCL_RUNTIME_CONNECT", "1"});
  if (lazy && !only_ring) out.push_back({"NCCL_ALGO", "Ring"});
  if (cumem) out.push_back({"NCCL_CUMEM_ENABLE", "0"});
  if (has_rows(now, MemoryPurpose::sendrecv_pool)) {
    out.push_back({"NCCL_P2P_NET_CHUNKSIZE", "65536"});
    out.push_back({"NCCL_P2P_NVL_CHUNKSIZE", "262144"});
  }
  return out;
}

std::vector<MemorySaving> savings_of(const Topology& topology, const MemoryConfig& config,
                                     int nodes, const MemoryCase& now) {
  std::vector<MemorySaving> out;
  const BufferSizes buffers = read_settings(config.environment, config.version).buffers;
  for (const Setting& setting : settings_to_try(config, now, buffers)) {
    MemoryConfig other = config;
    other.environment.set(setting.variable, setting.value);
    std::vector<std::string> unheard;
    try {
      const MemoryCase then = case_of(topology, other, nodes, unheard);
      MemorySaving saving{setting.variable, setting.value,
                          now.bytes(MemoryPlace::gpu) - then.bytes(MemoryPlace::gpu),
                          now.bytes(MemoryPlace::host) - then.bytes(MemoryPlace::host)};
      if (saving.gpu > 0 || (saving.gpu == 0 && saving.host > 0)) out.push_back(std::move(saving));
    } catch (const Error&) {  // NCCL would refuse it here
    }
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &MemorySaving::gpu);
  return out;
}

void add_notes(MemoryResult& result) {
  const auto any = [&](auto&& holds) {
    return std::ranges::any_of(
        result.cases, [&](const MemoryCase& of) { return std::ranges::any_of(of.groups, holds); });
  };
  if (!result.config.environment.get("NCCL_CUMEM_ENABLE") &&
      any([](const MemoryGroup& group) { return group.memory.settings.cumem; }))
    add_once(
        result.notes,
        "NCCL_CUMEM_ENABLE is not set: taken for on, as NCCL does from 2.19 on where the driver "
        "can. In a container that forbids it, set it to 0 here, too.");
  if (any([](const MemoryGroup& group) {
        return std::ranges::any_of(group.memory.connected, [](Algorithm one) {
          return one == Algorithm::collnet_direct || one == Algorithm::collnet_chain;
        });
      }))
    add_once(result.notes, "Connections of CollNet between the GPUs of a node are not counted.");
  add_once(result.notes,
           "Not counted: the CUDA context and the code of kernels (some hundred MB, once per "
           "process), what network plugins and drivers take, and buffers that users register.");
}

}  // namespace

std::int64_t MemoryCase::bytes(MemoryPlace place) const {
  std::int64_t sum = 0;
  for (const MemoryGroup& group : groups) sum += group.communicators * group.told().bytes(place);
  return sum;
}

MemoryResult run_memory(const MemoryConfig& config, const PartsCatalogue& parts) {
  MemoryResult result;
  result.config = config;
  result.topology = std::filesystem::path(config.topology).stem().string();
  const Topology topology = topology_of(config, parts);
  std::vector<int> nodes = config.nodes;
  if (nodes.empty()) nodes = {config.layout ? config.layout->nodes : topology.nodes()};
  std::vector<NcclVersion> releases = config.releases;
  if (releases.empty()) releases = {config.version};
  for (const int count : nodes) {
    for (const NcclVersion version : releases) {
      MemoryConfig one = config;
      one.version = version;
      result.cases.push_back(case_of(topology, one, count, result.notes));
    }
  }
  MemoryConfig first = config;
  first.version = releases.front();
  result.savings = savings_of(topology, first, nodes.front(), result.cases.front());
  add_notes(result);
  return result;
}

}  // namespace fabricast
