// The matrix of `nvidia-smi topo -m`, cell for cell as the tool writes it to a file (tabs).
#include <fmt/format.h>

#include "models/io/topo_views/topo_text.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

constexpr const char* kLegend = R"(
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
)";

}  // namespace

std::string smi_cell(const NodeGraph& node, VertexId from, VertexId to) {
  switch (node.smi_path(from, to)) {
    case SmiPath::self:
      return "X";
    case SmiPath::nvlink:
      return fmt::format("NV{}", node.nvlinks_between(from, to));
    case SmiPath::pix:
      return "PIX";
    case SmiPath::pxb:
      return "PXB";
    case SmiPath::phb:
      return "PHB";
    case SmiPath::node:
      return "NODE";
    case SmiPath::sys:
      return "SYS";
  }
  return {};
}

namespace {

const CpuInfo& cpu_info(const NodeGraph& node, VertexId device) {
  const VertexId cpu = node.cpu_of(device);
  return node.cpus()[static_cast<std::size_t>(node.vertex(cpu).index)];
}

/// The memory of a GPU on NVLink-C2C is a NUMA node of its own, and seven more are kept for its MIG
/// instances: the driver numbers them behind those of the CPUs (36 in all on a node of 4 GH200).
constexpr int kNumaNodesOfGpu = 8;

int numa_of_gpu(const NodeGraph& node, int gpu) {
  return static_cast<int>(node.cpus().size()) + kNumaNodesOfGpu * gpu;
}

/// "CPU Affinity", "NUMA Affinity" and "GPU NUMA ID" of a GPU.
std::string affinity_cells(const NodeGraph& node, VertexId gpu) {
  const CpuInfo& cpu = cpu_info(node, gpu);
  const auto index = static_cast<std::size_t>(node.vertex(gpu).index);
  const bool has_c2c = node.gpus()[index].c2c_links > 0;
  return fmt::format("\t{}\t{}\t\t{}\n", core_ranges(cpu.affinity), cpu.numa,
                     has_c2c ? std::to_string(numa_of_gpu(node, static_cast<int>(index))) : "N/A");
}

}  // namespace

std::string core_ranges(std::string_view affinity) {
  constexpr int bits_per_word = 32;
  std::vector<std::uint32_t> words;  // highest first, as written
  for (std::string_view rest = affinity;;) {
    const std::size_t comma = rest.find(',');
    words.push_back(to_number<std::uint32_t>(rest.substr(0, comma), 16).value_or(0));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  const int cores = static_cast<int>(words.size()) * bits_per_word;
  const auto has = [&](int core) {
    const std::size_t word = words.size() - 1 - static_cast<std::size_t>(core / bits_per_word);
    return (words[word] >> (core % bits_per_word) & 1u) != 0;
  };
  std::string out;
  for (int core = 0; core < cores; ++core) {
    if (!has(core)) continue;
    const int first = core;
    while (core + 1 < cores && has(core + 1)) ++core;
    if (!out.empty()) out += ",";
    out += first == core ? fmt::format("{}", first) : fmt::format("{}-{}", first, core);
  }
  return out;
}

std::string topo_matrix(const NodeGraph& node) {
  std::vector<VertexId> devices;
  std::string out;
  for (std::size_t gpu = 0; gpu < node.gpus().size(); ++gpu) {
    devices.push_back(node.gpus()[gpu].vertex);
    out += fmt::format("\tGPU{}", gpu);
  }
  for (std::size_t nic = 0; nic < node.nics().size(); ++nic) {
    devices.push_back(node.nics()[nic].vertex);
    out += fmt::format("\tNIC{}", nic);
  }
  out += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (const VertexId from : devices) {
    const bool gpu = node.vertex(from).kind == VertexKind::gpu;
    out += fmt::format("{}{}", gpu ? "GPU" : "NIC", node.vertex(from).index);
    for (const VertexId to : devices) out += "\t" + (from == to ? " X " : smi_cell(node, from, to));
    out += gpu ? affinity_cells(node, from) : "\t\t\t\t\n";
  }
  out += kLegend;
  if (node.nics().empty()) return out + "\n";
  out += "\nNIC Legend:\n\n";
  for (std::size_t nic = 0; nic < node.nics().size(); ++nic) {
    out += fmt::format("  NIC{}: {}\n", nic, node.nics()[nic].name);
  }
  return out + "\n";
}

}  // namespace fabricast
