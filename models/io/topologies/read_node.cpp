// A node type in YAML -> NodeType. The format is shown in topologies/dgx-h100.yaml.
#include "models/io/topologies/read_node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/formats/reader.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/read_networks.hpp"

namespace fabricast {
namespace {

constexpr int kNumaMax = 65'535;
constexpr int kNvlinksMax = 1'024;
constexpr int kDomainMax = 256;
constexpr int kPortMax = 255;
constexpr int kDevMax = 1'023;
constexpr int kCpuidMax = 65'535;

bool is_hex(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// "0000:1b:00.0": domain, bus, device, function.
std::string read_busid(Reader& in) {
  const std::string busid = in.text("busid");
  const std::string_view view = busid;
  const std::size_t domain = view.find(':');
  const bool good = domain != std::string_view::npos && domain >= 4 && domain <= 8 &&
                    view.size() == domain + 8 && is_hex(view.substr(0, domain)) &&
                    is_hex(view.substr(domain + 1, 2)) && view[domain + 3] == ':' &&
                    is_hex(view.substr(domain + 4, 2)) && view[domain + 6] == '.' &&
                    is_hex(view.substr(domain + 7));
  if (!good) {
    in.fail("busid", fmt::format("\"{}\" is not a PCI bus id", busid),
            "write it in quotes like \"0000:1b:00.0\"");
  }
  return busid;
}

std::string read_hex(Reader& in, const char* key) {
  const std::string text = in.text(key);
  if (!text.starts_with("0x") || text.size() > 18 || !is_hex(text.substr(2))) {
    in.fail(key, fmt::format("\"{}\" is not a number like \"0x9a3f5e00030000\"", text));
  }
  return text;
}

std::string read_affinity(Reader& in) {
  const std::string text = in.text("affinity");
  if (!is_core_mask(text)) {
    in.fail("affinity", fmt::format("\"{}\" is not a CPU mask", text),
            "write 32-bit words in hex, highest first, like \"00000000,00ffffff\"");
  }
  return text;
}

PciIds read_ids(Reader in) {
  const PciIds ids{in.text("class", ""), in.text("vendor", ""), in.text("device", ""),
                   in.text("subsystem_vendor", ""), in.text("subsystem_device", "")};
  in.finish();
  return ids;
}

CpuIdentity read_identity(Reader in) {
  const CpuIdentity identity{in.text("arch", ""), in.text("vendor", ""),
                             in.whole("family_id", 0, kCpuidMax, 0),
                             in.whole("model_id", 0, kCpuidMax, 0)};
  in.finish();
  return identity;
}

PciConfig read_element(Reader& in);

void read_switch(Reader& in, PciConfig& config) {
  config.name = in.text("name", "");
  for (Reader& child : in.children("pci")) config.children.push_back(read_element(child));
}

void read_gpu(Reader& in, PciConfig& config) {
  config.name = in.text("name", "");
  config.gdr = in.flag("gdr", true);
  config.dev = in.whole("dev", 0, kDevMax, -1);
  config.c2c = in.whole("c2c", 1, kNvlinksMax, 0);
  if (!in.has("nvlink")) return;
  Reader nvlink = in.child("nvlink");
  for (const std::string& target : nvlink.keys()) {
    config.nvlinks.push_back({target, nvlink.whole(target, 1, kNvlinksMax)});
  }
}

void read_nic(Reader& in, PciConfig& config) {
  config.name = in.text("name");
  config.gdr = in.flag("gdr", true);
  config.port = in.whole("port", 0, kPortMax, 1);
  if (in.has("guid")) config.guid = read_hex(in, "guid");
  if (in.has("speed")) config.speed = in.bandwidth("speed");
  if (in.has("network")) config.network = net_kind(in, "network");
  config.vf = in.flag("vf", false);
  config.ats = in.flag("ats", false);
  if (config.ats && !config.vf)
    in.fail("ats", "it matters for a virtual function only", "add vf: true");
}

PciConfig read_element(Reader& in) {
  PciConfig config;
  config.place = in.place();
  if (in.has("switch")) {
    config.kind = PciConfig::Kind::pcie_switch;
    config.part = in.text("switch");
    read_switch(in, config);
  } else if (in.has("gpu")) {
    config.kind = PciConfig::Kind::gpu;
    config.part = in.text("gpu");
    read_gpu(in, config);
  } else {
    config.kind = PciConfig::Kind::nic;
    if (!in.has("nic")) {
      throw Error(in.place(), "this PCI element is neither a switch nor a gpu nor a nic",
                  "write its part, like {gpu: H100_SXM5, busid: ...}");
    }
    config.part = in.text("nic");
    read_nic(in, config);
  }
  const bool needs_busid = config.kind != PciConfig::Kind::nic || in.has("busid");
  if (needs_busid) config.busid = read_busid(in);
  if (in.has("ids")) config.ids = read_ids(in.child("ids"));
  config.pcie_gen = in.whole("pcie_gen", 1, kPcieGenMax, 0);
  config.pcie_width = in.whole("pcie_width", 1, kPcieWidthMax, 0);
  config.host_bridge = in.whole("host_bridge", 0, kNumaMax, -1);
  in.finish();
  return config;
}

void read_cpu(Reader& in, const std::string& host_hash, NodeType& node) {
  CpuConfig cpu;
  cpu.place = in.place();
  cpu.part = in.text("cpu");
  cpu.name = in.text("name", fmt::format("cpu{}", node.cpus.size()));
  if (in.has("identity")) cpu.identity = read_identity(in.child("identity"));
  cpu.numa = in.whole("numa", -1, kNumaMax);
  cpu.affinity = read_affinity(in);
  cpu.host_hash = host_hash;
  for (Reader& child : in.children("pci")) {
    node.pci.push_back(read_element(child));
    node.pci.back().cpu = cpu.name;
  }
  in.finish();
  node.cpus.push_back(std::move(cpu));
}

}  // namespace

bool is_core_mask(std::string_view text) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (!is_hex(word) || word.size() > 8) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

NodeType parse_node_type(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"node"});
  NodeType node;
  node.place = {file, 0, {}};
  node.name = root.text("name");
  node.title = root.text("title", node.name);
  const std::string host_hash = root.has("host_hash") ? read_hex(root, "host_hash") : "";
  node.acs = root.flag("acs", false);
  node.peer_to_peer = root.flag("peer_to_peer", false);
  for (Reader& in : root.children("nvswitches")) {
    NvSwitchConfig chip;
    chip.place = in.place();
    chip.part = in.text("nvswitch");
    chip.name = in.text("name", fmt::format("nvswitch{}", node.nvswitches.size()));
    chip.busid = read_busid(in);
    chip.chips = in.whole("chips", 1, kNvlinksMax, 1);
    in.finish();
    node.nvswitches.push_back(std::move(chip));
  }
  node.domain_nodes = root.whole("nvlink_domain", 2, kDomainMax, 1);
  if (node.domain_nodes > 1 && node.nvswitches.empty())
    root.fail("nvlink_domain", "without NVSwitches no two nodes are joined");
  for (Reader& in : root.children("cpus")) read_cpu(in, host_hash, node);
  root.finish();
  return node;
}

}  // namespace fabricast
