#include "models/studies/accuracy/calibrate_reach.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "models/hardware/node/compose_node.hpp"
#include "models/io/bands/band_key.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

std::vector<std::string> words_of(std::string_view path) {
  std::vector<std::string> out(1);
  for (const char c : path) {
    if (c == '.') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

void add_pci(const PciConfig& element, std::set<std::string>& out) {
  constexpr std::array kTables = {"pcie_switches.", "gpus.", "nics."};
  out.insert(kTables[static_cast<std::size_t>(element.kind)] + element.part);
  for (const PciConfig& child : element.children) add_pci(child, out);
}

}  // namespace

RunParts parts_of(const MappedRun& run, const PartsCatalogue& parts) {
  RunParts out;
  const NodeType node = compose_node(run.shape, parts);
  for (const CpuConfig& cpu : node.cpus) out.parts.insert("cpus." + cpu.part);
  for (const PciConfig& element : node.pci) add_pci(element, out.parts);
  for (const NvSwitchConfig& nvswitch : node.nvswitches)
    out.parts.insert("nvswitches." + nvswitch.part);
  out.key = band_key(run.shape, parts, Collective::all_reduce, Bytes{0});
  return out;
}

bool is_network_figure(std::string_view path) {
  const std::string table = words_of(path).front();
  return table == "networks" || table == "nics" || table == "fabric_switches" ||
         table == "cables" || path == "software.collnet_sync" || path.ends_with(".net");
}

bool can_matter(std::string_view path, const RunParts& run, std::string_view protocol) {
  const std::vector<std::string> words = words_of(path);
  const std::string& table = words.front();
  if (is_network_figure(path) && run.key.network == "none") return false;
  if (table == "networks" && words.size() > 1 && words[1] != run.key.network) return false;
  constexpr std::array kPartTables = {"gpus", "cpus", "pcie_switches", "nics", "nvswitches"};
  if (std::ranges::find(kPartTables, table) != kPartTables.end() && words.size() > 1 &&
      !run.parts.contains(table + "." + words[1]))
    return false;
  // A figure of one protocol: "software.protocols.ll.start", "gpus.H100_SXM5.copy_rate.ll".
  const std::string chosen = lower_case(protocol);
  return std::ranges::none_of(words, [&](const std::string& word) {
    return (word == "ll" || word == "ll128" || word == "simple") && word != chosen;
  });
}

}  // namespace fabricast
