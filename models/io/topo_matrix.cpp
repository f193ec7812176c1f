// The matrix of `nvidia-smi topo -m`, cell for cell as the tool writes it to a file (tabs).
#include <fmt/format.h>

#include "models/io/topo_text.hpp"

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

std::string cell(const NodeGraph& node, VertexId from, VertexId to) {
  switch (node.smi_path(from, to)) {
    case SmiPath::self:
      return " X ";
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

const CpuInfo& cpu_info(const NodeGraph& node, VertexId device) {
  const VertexId cpu = node.cpu_of(device);
  return node.cpus()[static_cast<std::size_t>(node.vertex(cpu).index)];
}

}  // namespace

std::string core_ranges(std::string_view affinity) {
  constexpr int bits_per_word = 32;
  std::vector<std::uint32_t> words;  // highest first, as written
  for (std::string_view rest = affinity;;) {
    const std::size_t comma = rest.find(',');
    words.push_back(
        static_cast<std::uint32_t>(std::stoul(std::string(rest.substr(0, comma)), nullptr, 16)));
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
    for (const VertexId to : devices) out += "\t" + cell(node, from, to);
    const CpuInfo& cpu = cpu_info(node, from);
    out +=
        gpu ? fmt::format("\t{}\t{}\t\tN/A\n", core_ranges(cpu.affinity), cpu.numa) : "\t\t\t\t\n";
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
