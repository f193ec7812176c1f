// What other readers of this folder know already: nccl-tests' tables, NCCL's XML, settings.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/io/environments/env_file.hpp"
#include "models/io/formats/xml_reader.hpp"
#include "models/io/imports/import_readers.hpp"
#include "models/io/imports/nccl_tests_log.hpp"
#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "text/counted.hpp"

namespace fabricast::import_readers {

namespace {

std::string number_text(double value) { return fmt::format("{:g}", value); }

struct Counts {
  int pcis = 0, gpus = 0, nics = 0, nets = 0, nvlinks = 0;
  std::map<std::string, int> models;
  std::set<std::string> speeds, net_speeds, link_counts;
};

void count(const NodeDescription::Pci& pci, Counts& counts) {
  ++counts.pcis;
  if (!pci.link_speed.empty()) counts.speeds.insert(pci.link_speed);
  if (pci.gpu) {
    ++counts.gpus;
    for (const auto& link : pci.gpu->nvlinks) {
      counts.nvlinks += link.count;
      counts.link_counts.insert(fmt::format("{} to {}", link.count, link.tclass));
    }
  }
  if (pci.nic) {
    ++counts.nics;
    for (const auto& net : pci.nic->nets) {
      ++counts.nets;
      counts.net_speeds.insert(fmt::format("{} Mb/s", net.speed_mbps));
    }
  }
  for (const auto& child : pci.children) count(child, counts);
}

std::string words(const std::set<std::string>& set) { return joined({set.begin(), set.end()}); }

void tell_node(const NodeDescription& node, ImportedFile& out) {
  Counts counts;
  std::map<std::string, int> cpus;
  for (const auto& cpu : node.cpus) {
    ++cpus[fmt::format("{} {} family {} model {}", cpu.arch, cpu.vendor, cpu.family, cpu.model)];
    for (const auto& child : cpu.children) count(child, counts);
  }
  std::vector<std::string> makes;
  for (const auto& [make, number] : cpus) makes.push_back(fmt::format("{} x{}", make, number));
  out.add("cpus", node.cpus.size());
  out.add("cpu types", joined(makes));
  out.add("pci entries", static_cast<std::size_t>(counts.pcis));
  out.add("gpus", static_cast<std::size_t>(counts.gpus));
  out.add("nics", static_cast<std::size_t>(counts.nics));
  out.add("nets", static_cast<std::size_t>(counts.nets));
  out.add("nvlinks", words(counts.link_counts));
  out.add("net speeds", words(counts.net_speeds));
  out.add("link speeds", words(counts.speeds));
  try {
    check_is_detected(node);
  } catch (const Error& error) {
    out.remark(error.reason());
  }
}

/// Attributes of the root, as far as they are there.
void tell_attributes(pugi::xml_node root, ImportedFile& out) {
  for (const char* name : {"name", "coll", "proto", "ngpus", "nchannels", "nchunksperloop",
                           "inplace", "outofplace", "minBytes", "maxBytes"}) {
    if (const auto attribute = root.attribute(name)) out.add(name, attribute.as_string());
  }
}

void tell_algorithm(pugi::xml_node root, ImportedFile& out) {
  out.kind = "MSCCL algorithm";
  tell_attributes(root, out);
  std::size_t gpus = 0, blocks = 0, steps = 0;
  for (const auto gpu : root.children("gpu")) {
    ++gpus;
    for (const auto block : gpu.children("tb")) {
      ++blocks;
      steps += static_cast<std::size_t>(
          std::distance(block.children("step").begin(), block.children("step").end()));
    }
  }
  out.add("gpus in the file", gpus);
  out.add("thread blocks", blocks);
  out.add("steps", steps);
  if (std::to_string(gpus) != root.attribute("ngpus").as_string())
    out.remark(fmt::format("the header says {} GPUs, the file has {}: it is incomplete",
                           root.attribute("ngpus").as_string(), gpus));
}

void tell_graphs(pugi::xml_node root, ImportedFile& out) {
  out.kind = "NCCL graphs (XML)";
  std::vector<std::string> graphs;
  for (const auto graph : root.children("graph"))
    graphs.push_back(fmt::format(
        "id {} pattern {} channels {} crossnic {} {}/{}", graph.attribute("id").as_string(),
        graph.attribute("pattern").as_string(), graph.attribute("nchannels").as_string(),
        graph.attribute("crossnic").as_string(), graph.attribute("typeintra").as_string(),
        graph.attribute("typeinter").as_string()));
  out.add("graphs", joined(graphs, "; "));
}

/// What can be counted of a system that is not read whole (RCCL's).
void tell_elements(pugi::xml_node root, ImportedFile& out) {
  std::map<std::string, std::size_t> counts;
  std::set<std::string> speeds, nets;
  const auto visit = [&](const auto& self, pugi::xml_node node) -> void {
    for (const auto child : node.children()) {
      ++counts[child.name()];
      if (const auto speed = child.attribute("link_speed")) speeds.insert(speed.as_string());
      if (const auto speed = child.attribute("speed")) nets.insert(speed.as_string());
      self(self, child);
    }
  };
  visit(visit, root);
  out.add("version", root.attribute("version").as_string());
  for (const auto cpu : root.children("cpu")) {
    if (!cpu.attribute("vendor")) continue;
    out.add("cpu type", fmt::format("{} family {} model {}", cpu.attribute("vendor").as_string(),
                                    cpu.attribute("familyid").as_string(),
                                    cpu.attribute("modelid").as_string()));
    break;
  }
  for (const char* name : {"cpu", "pci", "gpu", "nic", "net", "nvlink", "xgmi"}) {
    if (counts[name] > 0) out.add(name, counts[name]);
  }
  out.add("link speeds", words(speeds));
  out.add("net speeds", words(nets));
}

}  // namespace

bool read_xml(const std::string& text, const std::string& file, ImportedFile& out) {
  if (!is_xml(text)) return false;
  try {
    const XmlReader xml(text, file);
    const std::string root = xml.root().name();
    if (root == "graphs") return tell_graphs(xml.root(), out), true;
    if (root == "algo") return tell_algorithm(xml.root(), out), true;
    if (root != "system") return false;
    out.kind = "NCCL topology (XML)";
    try {
      tell_node(parse_nccl_xml(text, file), out);
    } catch (const Error& error) {
      tell_elements(xml.root(), out);
      out.remark(error.reason());
    }
  } catch (const Error& error) {
    out.kind = text.find("<algo ") != std::string::npos ? "MSCCL algorithm" : "XML";
    out.remark(error.reason());
  }
  return true;
}

bool read_settings(const std::string& text, const std::string& file, ImportedFile& out) {
  EnvFile read;
  try {
    read = parse_env_file(text, file);
  } catch (const Error&) {
    return false;
  }
  std::map<std::string, std::string> settings;
  int remote = 0, others = 0;
  for (const EnvAssignment& assignment : read.assignments) {
    const bool ours = assignment.name.starts_with("NCCL_") ||
                      assignment.name.starts_with("TORCH_NCCL_") ||
                      assignment.name.starts_with("FI_") || assignment.name.starts_with("UCX_") ||
                      assignment.name.starts_with("RCCL_") || assignment.name.starts_with("OMPI_");
    if (!ours) {
      ++others;
      continue;
    }
    if (read.kind == EnvKind::nccl_conf && settings.contains(assignment.name))
      continue;  // first wins
    std::string value = assignment.value;
    std::ranges::replace(value, '\n', ' ');
    if (assignment.scope == EnvScope::shell_only) value += " (not exported)";
    if (assignment.scope == EnvScope::unset) value = "(unset)";
    settings[assignment.name] = std::move(value);
    remote += assignment.has(EnvTrap::value_elsewhere) || assignment.computed ? 1 : 0;
  }
  if (settings.empty()) return false;
  out.kind = "settings";
  out.add("written as", std::string(to_text(read.kind)));
  std::vector<std::string> lines;
  for (const auto& [name, value] : settings) lines.push_back(fmt::format("{}={}", name, value));
  out.add("settings", joined(lines, "; "));
  if (remote > 0) out.remark(fmt::format("{} known at run time only", counted(remote, "value")));
  if (others > 0) out.remark(fmt::format("{} of others passed over", counted(others, "setting")));
  out.remark("fabricast lint says what each does and what is wrong with it");
  return true;
}

namespace {

/// What the tables of nccl-tests say.
void tell_tables(const NcclTestsLog& log, ImportedFile& out) {
  std::set<std::string> collectives, types, devices;
  std::int64_t smallest = -1, largest = 0;
  std::optional<double> bounds, average;
  for (const NcclTestsTable& table : log.tables) {
    if (table.collective) collectives.insert(std::string(to_text(*table.collective)));
    if (table.out_of_bounds) bounds = table.out_of_bounds;
    if (table.average_busbw) average = table.average_busbw;
    for (const NcclTestsRow& row : table.rows) {
      if (!row.type.empty()) types.insert(row.type);
      smallest = smallest < 0 ? row.size : std::min(smallest, row.size);
      largest = std::max(largest, row.size);
    }
    for (const NcclTestsDevice& device : table.devices) devices.insert(device.model);
  }
  out.add("tables", log.rows() == 0 ? 0 : log.tables.size());
  out.add("collective", words(collectives));
  out.add("rows", log.rows());
  if (smallest >= 0) out.add("sizes", fmt::format("{} .. {} B", smallest, largest));
  out.add("types", words(types));
  out.add("devices", log.devices());
  out.add("hosts", static_cast<std::size_t>(log.tables.front().hosts()));
  out.add("gpu", words(devices));
  out.add("nccl", log.nccl_version);
  out.add("nccl-tests", log.tests_version);
  if (bounds) out.add("out of bounds", number_text(*bounds));
  if (average) out.add("average busbw", number_text(*average));
  std::vector<std::string> settings;
  for (const auto& [name, value] : log.environment.variables())
    settings.push_back(fmt::format("{}={}", name, value));
  out.add("settings", joined(settings, "; "));
  for (const std::string& remark : log.remarks) out.remark(remark);
}

/// What NCCL's own lines between them say.
void tell_beside(const LogText& log, ImportedFile& out) {
  ImportedFile beside;
  if (!log.has_info || !read_nccl_log(log, beside)) return;
  for (ImportFinding& finding : beside.found) {
    if (finding.key != "version" && finding.key != "settings")
      out.add("NCCL " + finding.key, std::move(finding.value));
  }
  for (std::string& remark : beside.remarks) out.remark(std::move(remark));
}

bool is_torch_bench(std::string_view text) {
  return text.find("algo throughput:") != std::string_view::npos ||
         text.find("all_reduce_bench") != std::string_view::npos;
}

bool has_torch_bench(const LogText& log) {
  for (const LogLine& line : log.lines)
    if (is_torch_bench(line.text)) return true;
  return false;
}

bool tell_torch_bench(ImportedFile& out) {
  out.kind = "all_reduce_bench of PyTorch";
  out.remark("not nccl-tests: its throughputs are not read; run nccl-tests' all_reduce_perf");
  return true;
}

}  // namespace

bool read_nccl_tests(const std::string& text, const std::string& file, ImportedFile& out) {
  if (text.find('{') != text.find_first_not_of(" \t\r\n") || is_docker_log(text))
    return read_nccl_tests_lines(read_log(text), out);
  if (!is_nccl_tests_json(text)) return false;
  try {
    const NcclTestsLog log = parse_nccl_tests_json(text, file);
    if (log.tables.empty()) return false;
    out.kind = "nccl-tests (JSON)";
    tell_tables(log, out);
  } catch (const Error& error) {
    out.kind = import_kind::kNcclTests;
    out.remark(error.reason());
  }
  return true;
}

bool read_nccl_tests_lines(const LogText& text, ImportedFile& out) {
  const NcclTestsLog log = parse_nccl_tests_lines(text);
  if (log.tables.empty()) {
    const bool torch = has_torch_bench(text);
    return torch && tell_torch_bench(out);
  }
  if (text.has_info && log.rows() == 0) return false;
  out.kind = import_kind::kNcclTests;
  tell_tables(log, out);
  tell_beside(text, out);
  return true;
}

}  // namespace fabricast::import_readers
