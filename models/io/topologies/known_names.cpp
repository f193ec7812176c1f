#include "models/io/topologies/known_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/formats/reader.hpp"
#include "models/io/report/columns.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// The embedded files of these kinds, as they call themselves.
void add_files(const std::vector<std::string>& kinds, std::vector<KnownName>& out) {
  for (const EmbeddedFile& file : embedded_topologies()) {
    const std::string name(file.name);
    const YamlNode tree = parse_yaml(file.yaml(), name);
    Reader in(tree, name);
    const std::string kind = in.text("kind");
    if (std::ranges::find(kinds, kind) != kinds.end())
      out.push_back({name, kind, in.text("title")});
  }
}

std::vector<KnownName> topologies() {
  std::vector<KnownName> out;
  add_files({"node", "cluster"}, out);
  for (const TopologyAlias& alias : topology_aliases())
    out.push_back({alias.name, "alias", fmt::format("is {}: {}", to_text(alias), alias.what)});
  return out;
}

std::string gpu_text(const GpuPart& part) {
  std::string out = fmt::format("sm {}", part.sm);
  if (part.nvlink_links > 0)
    out += fmt::format(", {} NVLinks of {}", part.nvlink_links, to_text(part.nvlink_per_link));
  if (part.c2c_links > 0) out += ", NVLink-C2C";
  return out + fmt::format(", PCIe gen{} x{}", part.pcie_gen, part.pcie_width);
}

std::vector<KnownName> parts_of(const PartsCatalogue& parts) {
  std::vector<KnownName> out;
  for (const auto& [name, part] : parts.gpus) out.push_back({name, "GPU", gpu_text(part)});
  for (const auto& [name, part] : parts.nics)
    out.push_back({name, "NIC",
                   fmt::format("{} {}, PCIe gen{} x{}", to_bits_text(part.port_rate),
                               to_text(part.network), part.pcie_gen, part.pcie_width)});
  for (const auto& [name, part] : parts.cpus)
    out.push_back({name, "CPU", fmt::format("{} {}", part.arch, part.vendor)});
  for (const auto& [name, part] : parts.pcie_switches)
    out.push_back({name, "PCIe switch", fmt::format("gen{}", part.pcie_gen)});
  for (const auto& [name, part] : parts.nvswitches)
    out.push_back({name, "NVSwitch", fmt::format("{} from port to port", to_text(part.latency))});
  for (const auto& [name, part] : parts.fabric_switches)
    out.push_back({name, "fabric switch",
                   fmt::format("{} ports of {}, {}", part.radix, to_bits_text(part.port_rate),
                               kLinkLayerNames[part.link_layer])});
  for (const auto& [name, cable] : parts.cables) out.push_back({name, "cable", ""});
  for (const auto& [name, part] : parts.transceivers)
    out.push_back({name, "transceiver",
                   fmt::format("{}, {:.4g} m of {}", to_bits_text(part.rate), part.reach_metres,
                               part.fibre)});
  for (const auto& [name, part] : parts.copper_cables)
    out.push_back({name, "copper cable",
                   fmt::format("{}, up to {:.4g} m{}", to_bits_text(part.rate), part.reach_metres,
                               part.splits ? ", split" : "")});
  return out;
}

std::vector<KnownName> frameworks() {
  std::vector<KnownName> out;
  for (const auto& [name, framework] : load_frameworks())
    out.push_back(
        {name, name.find(' ') == std::string::npos ? "framework" : "release", framework.title});
  return out;
}

std::vector<KnownName> variables() {
  std::vector<KnownName> out;
  const VariableCatalogue catalogue = load_variables();
  for (const Variable& variable : catalogue.all())
    out.push_back({variable.name, variable.reader_text(), variable.effect});
  return out;
}

}  // namespace

const std::vector<std::string>& subjects_with_names() {
  static const std::vector<std::string> out = {"topologies", "fabrics",    "models",
                                               "parts",      "frameworks", "variables"};
  return out;
}

std::vector<KnownName> known_names(const std::string& subject, const PartsCatalogue& parts) {
  std::vector<KnownName> out;
  if (subject == "topologies") return topologies();
  if (subject == "parts") return parts_of(parts);
  if (subject == "frameworks") return frameworks();
  if (subject == "variables") return variables();
  if (subject == "fabrics") add_files({"fabric"}, out);
  if (subject == "models")
    for (const std::string& name : model_names())
      out.push_back({name, "model", load_transformer(name).title});
  return out;
}

std::string known_names_text(const std::vector<KnownName>& names) {
  TextTable table;
  for (const KnownName& one : names) table.add({one.name, one.kind, one.what});
  return table.text();
}

Report known_names_report(const std::string& subject, const std::vector<KnownName>& names) {
  Report out;
  out.study = "list";
  out.job["ask"] = {{"subject", subject}};
  ReportTable rows("names", {column::text("name"), column::text("kind"), column::text("what")});
  for (const KnownName& one : names) rows.add({one.name, one.kind, one.what});
  out.tables.push_back(std::move(rows));
  return out;
}

}  // namespace fabricast
