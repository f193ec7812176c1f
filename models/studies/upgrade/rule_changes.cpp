// What releases changed in the rules that decide, with the file of NCCL where each rule stands.
#include <algorithm>
#include <array>

#include "models/studies/upgrade/upgrade_cause.hpp"

namespace fabricast {

namespace {

using enum UpgradeStage;
using Machine = RuleChangeNote::Machine;
constexpr std::string_view kTuning = "src/graph/tuning.cc", kSearch = "src/graph/search.cc",
                           kPaths = "src/graph/paths.cc", kTopo = "src/graph/topo.cc",
                           kConnect = "src/graph/connect.cc", kEnqueue = "src/enqueue.cc",
                           kNvls = "src/transport/nvls.cc";

constexpr std::array kNotes = std::to_array<RuleChangeNote>({
    {kNccl2_19, search, "", "AMD's link between sockets counts 16 GB/s, not as no limit", kTopo,
     Machine::amd},
    {kNccl2_19, search, "", "channels start at the nets in turn, and at GPUs in turn", kSearch},
    {kNccl2_19, search, "NVLS", "NVLS may raise its rate between nodes", kSearch},
    {kNccl2_19, gate, "NVLS", "NVLS does all_gather and reduce_scatter, on one node", kTuning},
    {kNccl2_19, gate, "Ring", "NCCL_ALGO masks rings of all collectives", kTuning},
    {kNccl2_19, model, "Tree", "Tree Simple costs 28 us a hop, and no base", kTuning},
    {kNccl2_19, model, "NVLS", "NVLS: 23 us over NVLink, its share 5/6 of the least rate", kTuning},
    {kNccl2_19, model, "CollNet", "CollNetDirect 31 us and CollNetChain 30 us over the network",
     kTuning},
    {kNccl2_20, search, "", "NVLink of Hopper counts 20.6 GB/s a link, not 20.0", kTopo,
     Machine::hopper},
    {kNccl2_20, search, "", "crossing NICs need not be better by 15 %", kSearch},
    {kNccl2_20, channels, "", "a communicator gets as many channels as NVLS has", kConnect},
    {kNccl2_20, gate, "NVLS", "an all_gather counts as bytes, which NVLS leaves out (to 2.21)",
     "src/misc/argcheck.cc"},
    {kNccl2_20, split, "", "each channel has a contiguous part of the call", kEnqueue},
    {kNccl2_21, model, "LL",
     "rings of LL count half of Simple's bandwidth, up to 141 GB/s on Hopper", kTuning,
     Machine::hopper},
    {kNccl2_21, model, "NVLS", "NVLS costs 25 us, not 23", kTuning},
    {kNccl2_21, search, "", "GPUs behind an NVSwitch speak with their neighbours only", kSearch,
     Machine::nvswitch},
    {kNccl2_22, search, "",
     "each rank finds its own GPU, and what the ranks of a node found is joined: GPUs behind a "
     "switch that holds a NIC come first",
     kTopo},
    {kNccl2_22, search, "CollNetDirect", "CollNetDirect has a graph of its own", kSearch},
    {kNccl2_22, search, "NVLS", "a GPU heads one NVLS channel only", kSearch},
    {kNccl2_22, gate, "NVLS", "all_gather is spared the test of types", kEnqueue},
    {kNccl2_22, width, "Tree", "Tree always runs 640 threads", kEnqueue},
    {kNccl2_22, width, "", "calls start from all channels of the communicator", kEnqueue},
    {kNccl2_22, split, "", "calls are split in cells of equal traffic, 512 B and more a channel",
     kEnqueue},
    {kNccl2_23, search, "", "P2P through the CPU is off by default but on AMD with two GPUs",
     kPaths},
    {kNccl2_23, search, "", "only rings may cross NICs, in pairs of channels", kSearch},
    {kNccl2_23, gate, "PAT", "PAT is new", kTuning},
    {kNccl2_23, model, "Tree",
     "Tree Simple costs 4 us a hop inside, 14 us between nodes, 8.4 us base", kTuning},
    {kNccl2_23, model, "Ring", "rings take 2 (N - 1) steps between nodes, not 2 N", kTuning},
    {kNccl2_23, model, "LL128",
     "LL128 of one rank per node counts 0.92 of Simple's bandwidth, not 0.7", kTuning},
    {kNccl2_23, model, "", "with one rank per node all algorithms take Tree's network latency",
     kTuning},
    {kNccl2_23, model, "NVLS", "NVLS loses no sixth in all_gather and reduce_scatter", kTuning},
    {kNccl2_23, split, "", "a channel gets 16 KiB of traffic or more", kEnqueue},
    {kNccl2_24, model, "PAT", "PAT counts 0.75 of the bandwidth, not 0.85", kTuning},
    {kNccl2_24, gate, "", "lists are per collective, and what they leave nothing for is refused",
     kTuning},
    {kNccl2_25, search, "",
     "the search starts at the nearest paths there are and stops at the farthest, so that trees "
     "before Hopper may come back no longer way than rings (to 2.28)",
     kSearch},
    {kNccl2_25, search, "", "Blackwell counts 40.0 GB/s an NVLink, with rates of its own", kSearch,
     Machine::blackwell},
    {kNccl2_25, channels, "",
     "a communicator may have 64 channels; Blackwell doubles them as Hopper", kConnect},
    {kNccl2_25, gate, "LL128", "LL128 is safe on capability 10.0 and 12.0", kTuning,
     Machine::blackwell},
    {kNccl2_25, model, "", "Blackwell has figures of its own, twice Hopper's", kTuning,
     Machine::blackwell},
    {kNccl2_26, search, "",
     "links between sockets: 22 GB/s on Sapphire Rapids, 40 on Emerald Rapids", kTopo,
     Machine::intel},
    {kNccl2_26, search, "", "C2C is a path type, and two NVLink islands get two channels", kTopo},
    {kNccl2_26, gate, "PAT", "PAT needs capability 6.0", kTuning},
    {kNccl2_26, split, "LL", "LL counts four times as traffic, so that it gets fewer channels",
     kEnqueue},
    {kNccl2_27, search, "", "a net's own GPU is tried first, then those as near", kSearch},
    {kNccl2_27, search, "", "NICs behind a C2C CPU are nearer than PXN", kPaths, Machine::grace},
    {kNccl2_27, search, "", "Blackwell counts 40.1 GB/s an NVLink and tries 96 GB/s", kSearch,
     Machine::blackwell},
    {kNccl2_27, channels, "NVLS", "NVLS takes 24 channels on one node of Blackwell", kNvls,
     Machine::blackwell},
    {kNccl2_27, gate, "LL128", "LL128 is safe from capability 7.0 on", kTuning},
    {kNccl2_27, gate, "NVLS", "NVLS does all_gather and reduce_scatter between nodes with CollNet",
     kTuning},
    {kNccl2_27, model, "NVLS", "NVLS: all_gather and reduce_scatter have figures of their own",
     kTuning},
    {kNccl2_28, search, "", "NICs stay in the graph of a single node, and PXN goes over C2C",
     kPaths},
    {kNccl2_28, channels, "", "the communicator no longer gets as many channels as NVLS has",
     kConnect},
    {kNccl2_28, model, "NVLS",
     "NVLS has measured efficiencies (0.85 Hopper, 0.74 Blackwell); NVLSTree "
     "costs 20.9 us between nodes and has ceilings per channel",
     kTuning},
    {kNccl2_28, model, "LL128", "ceilings of LL128 on Blackwell were measured again", kTuning,
     Machine::blackwell},
    {kNccl2_28, model, "Tree", "ceilings of Tree on Blackwell were measured again", kTuning,
     Machine::blackwell},
    {kNccl2_28, gate, "NVLS", "NVLS needs two channels of its graph", kTuning},
    {kNccl2_28, width, "NVLS",
     "NVLS over several nodes takes no more channels than the communicator", kEnqueue},
    {kNccl2_29, search, "", "trees before Hopper may come back the long way again", kSearch},
    {kNccl2_29, search, "", "Blackwell tries 45 GB/s inside and 80 GB/s between nodes", kSearch,
     Machine::blackwell},
    {kNccl2_29, search, "", "GPUDirect RDMA goes over C2C by default", kPaths, Machine::grace},
    {kNccl2_29, model, "LL128",
     "rings of LL128 on Blackwell count 40 GB/s a channel; before 2.29.7 34.6 inside a node",
     kTuning, Machine::blackwell},
    {kNccl2_29, model, "NVLSTree", "NVLSTree on Blackwell with x86 is corrected by size, as Tree",
     kTuning, Machine::blackwell},
    {kNccl2_29, gate, "NVLS", "NVLS needs two GPUs of a node, not three", kNvls},
    {kNccl2_29, split, "", "a channel gets 32 KiB of traffic or more", kEnqueue},
    {kNccl2_30, search, "", "the nearest path wins, then the widest, then the shortest", kPaths},
    {kNccl2_30, search, "", "PXN needs GPUDirect RDMA of the GPU next to the NIC", kPaths},
    {kNccl2_30, search, "", "Blackwell tries 86 GB/s between nodes", kSearch, Machine::blackwell},
    {kNccl2_30, channels, "NVLS", "NVLS of Blackwell takes channels and chunks by the NICs' rate",
     kNvls, Machine::blackwell},
    {kNccl2_30, split, "NVLS", "NVLS of Blackwell takes chunks by the NICs' rate", kNvls,
     Machine::blackwell},
    {kNccl2_30, gate, "LL128", "LL128 is safe among different GPUs from capability 9.0 on",
     kTuning},
    {kNccl2_30, gate, "CollNetChain", "a CollNet chain must start at CollNet's heads", kTuning},
    {kNccl2_30, model, "NVLSTree", "NVLSTree on Blackwell counts up to 80 GB/s a channel", kTuning,
     Machine::blackwell},
    {kNccl2_31, gate, "NVLSTree",
     "NVLSTree is never offered: nothing fills the graph its model reads", "src/tuning/nvls.cc"},
    {kNccl2_31, gate, "LL128", "LL128 is not checked unless NCCL_ALGO or NCCL_PROTO is set",
     "src/tuning"},
    {kNccl2_31, model, "",
     "the model was written anew: rings count the rate between nodes from two "
     "nodes on, trees the lesser of both, and ties go to the last",
     "src/tuning"},
    {kNccl2_31, search, "", "links between sockets of AMD: 16 to 32 GB/s by family", kTopo,
     Machine::amd},
});

bool is_about(const RuleChangeNote& note, const CallKey& key) {
  if (note.of.empty()) return true;
  if (!key.algorithm) return false;
  const std::string_view algorithm = to_text(*key.algorithm);
  // "LL" is not LL128, but "NVLS" is NVLSTree, too, and "CollNet" both of them.
  return note.of == to_text(key.protocol) || algorithm.starts_with(note.of);
}

bool is_of(const RuleChangeNote& note, const TunerInput& in) {
  switch (note.machine) {
    case RuleChangeNote::Machine::any:
      return true;
    case RuleChangeNote::Machine::hopper:
      return in.compute_capability_min >= 90 && in.compute_capability_min < 100;
    case RuleChangeNote::Machine::blackwell:
      return in.compute_capability_max >= 100;
    case RuleChangeNote::Machine::amd:
      return in.cpu == HostCpu::amd;
    case RuleChangeNote::Machine::intel:
      return in.cpu == HostCpu::intel;
    case RuleChangeNote::Machine::grace:
      return in.cpu == HostCpu::arm;
    case RuleChangeNote::Machine::nvswitch:
      return in.nvswitch;
  }
  return true;
}

}  // namespace

std::vector<const RuleChangeNote*> rule_changes(NcclVersion since, UpgradeStage stage,
                                                const TunerInput& machine, const CallKey& before,
                                                const CallKey& after) {
  std::vector<const RuleChangeNote*> out;
  for (const RuleChangeNote& note : kNotes) {
    if (note.since.series != since.series || note.stage != stage || !is_of(note, machine)) continue;
    if (is_about(note, before) || is_about(note, after)) out.push_back(&note);
  }
  return out;
}

}  // namespace fabricast
