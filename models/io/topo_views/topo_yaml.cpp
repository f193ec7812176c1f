#include <fmt/format.h>

#include <algorithm>

#include "models/io/topo_views/topo_formats.hpp"
#include "text/quoting.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

/// Keys and values of a mapping in order, without what is empty.
class Keys {
 public:
  void add(std::string_view key, const std::string& value) {
    keys_.push_back(fmt::format("{}: {}", key, value));
  }
  void add_text(std::string_view key, std::string_view value) {
    if (!value.empty()) add(key, yaml_text(value));
  }
  const std::vector<std::string>& lines() const { return keys_; }
  std::string flow() const { return fmt::format("{{{}}}", fmt::join(keys_, ", ")); }

 private:
  std::vector<std::string> keys_;
};

std::string ids_text(const PciIds& ids) {
  Keys out;
  out.add_text("class", ids.device_class);
  out.add_text("vendor", ids.vendor);
  out.add_text("device", ids.device);
  out.add_text("subsystem_vendor", ids.subsystem_vendor);
  out.add_text("subsystem_device", ids.subsystem_device);
  return out.flow();
}

std::string identity_text(const CpuIdentity& identity) {
  Keys out;
  out.add_text("arch", identity.arch);
  out.add_text("vendor", identity.vendor);
  out.add("family_id", std::to_string(identity.family_id));
  out.add("model_id", std::to_string(identity.model_id));
  return out.flow();
}

/// "200 Gb/s", or in bytes when that would round.
std::string rate_text(Bandwidth rate) {
  const std::string text = to_bits_text(rate);
  return parse_bandwidth(text) == rate ? text : fmt::format("{} B/s", rate.bytes_per_s);
}

class YamlWriter {
 public:
  YamlWriter(const NodeGraph& node, const PartsCatalogue& parts) : node_(node), parts_(parts) {}

  std::string write() {
    line(0, "kind: node");
    line(0, "name: " + yaml_text(node_.name()));
    line(0, "title: " + yaml_text(node_.title()));
    if (const std::string& hash = node_.cpus().front().host_hash; hash.starts_with("0x"))
      line(0, "host_hash: " + yaml_text(hash));
    if (node_.acs()) line(0, "acs: true");
    if (node_.has_patched_driver()) line(0, "peer_to_peer: true");
    if (node_.domain_nodes() > 1) line(0, fmt::format("nvlink_domain: {}", node_.domain_nodes()));
    if (!node_.nvswitches().empty()) line(0, "\nnvswitches:");
    for (const NvSwitchInfo& chip : node_.nvswitches()) {
      const std::string chips = chip.chips > 1 ? fmt::format(", chips: {}", chip.chips) : "";
      line(1, fmt::format("- {{nvswitch: {}, name: {}, busid: {}{}}}", yaml_text(chip.part.name),
                          yaml_text(chip.name), yaml_text(chip.busid), chips));
    }
    line(0, "\ncpus:");
    for (const CpuInfo& cpu : node_.cpus()) write_cpu(cpu);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(static_cast<std::size_t>(2 * depth), ' ');
    out_ += text + "\n";
  }

  void write_cpu(const CpuInfo& cpu) {
    const std::string& name = node_.vertex(cpu.vertex).name;
    const CpuIdentity &identity = cpu.part, &of_part = parts_.cpus.at(cpu.part.name);
    line(1, "- cpu: " + yaml_text(cpu.part.name));
    line(2, "name: " + yaml_text(name));
    if (identity != of_part) line(2, "identity: " + identity_text(identity));
    line(2, fmt::format("numa: {}", cpu.numa));
    line(2, "affinity: " + yaml_text(cpu.affinity));
    write_children(cpu.vertex, 2);
  }

  void write_children(VertexId parent, int depth) {
    const std::vector<VertexId> children = node_.children(parent);
    if (!children.empty()) line(depth, "pci:");
    for (const VertexId child : children) write_element(child, depth + 1);
  }

  void write_element(VertexId id, int depth) {
    const Vertex& vertex = node_.vertex(id);
    const auto index = static_cast<std::size_t>(vertex.index);
    if (vertex.kind == VertexKind::gpu) {
      line(depth, "- " + gpu_keys(vertex, node_.gpus()[index]).flow());
    } else if (vertex.kind == VertexKind::nic) {
      line(depth, "- " + nic_keys(vertex, node_.nics()[index]).flow());
    } else {
      const Keys keys = common_keys("switch", "pcisw", vertex, parts_.pcie_switches);
      for (std::size_t i = 0; i < keys.lines().size(); ++i)
        line(depth, (i == 0 ? "- " : "  ") + keys.lines()[i]);
      write_children(id, depth + 1);
    }
  }

  template <class Part>
  Keys common_keys(std::string_view kind, std::string_view stem, const Vertex& vertex,
                   const std::map<std::string, Part>& parts) const {
    const Part& part = parts.at(vertex.part);
    Keys out;
    out.add(kind, yaml_text(vertex.part));
    if (vertex.name != fmt::format("{}{}", stem, vertex.index)) out.add_text("name", vertex.name);
    out.add_text("busid", vertex.busid);
    if (vertex.ids != part.ids) out.add("ids", ids_text(vertex.ids));
    if (vertex.pcie_gen != part.pcie_gen) out.add("pcie_gen", std::to_string(vertex.pcie_gen));
    if (vertex.pcie_width != part.pcie_width)
      out.add("pcie_width", std::to_string(vertex.pcie_width));
    if (shares_host_bridge(vertex)) out.add("host_bridge", std::to_string(vertex.host_bridge));
    return out;
  }

  /// With another element directly below the same CPU.
  bool shares_host_bridge(const Vertex& vertex) const {
    if (node_.vertex(vertex.parent).kind != VertexKind::cpu) return false;
    const std::vector<VertexId> siblings = node_.children(vertex.parent);
    return std::count_if(siblings.begin(), siblings.end(), [&](VertexId id) {
             return node_.vertex(id).host_bridge == vertex.host_bridge;
           }) > 1;
  }

  Keys gpu_keys(const Vertex& vertex, const GpuInfo& gpu) const {
    Keys out = common_keys("gpu", "gpu", vertex, parts_.gpus);
    if (!is_depth_first()) out.add("dev", std::to_string(vertex.index));
    if (!gpu.gdr) out.add("gdr", "false");
    if (gpu.c2c_links > 0) out.add("c2c", std::to_string(gpu.c2c_links));
    Keys targets;
    for (const auto& [target, count] : gpu.nvlink_targets)
      targets.add(yaml_text(target), std::to_string(count));
    if (!targets.lines().empty()) out.add("nvlink", targets.flow());
    return out;
  }

  bool is_depth_first() const {
    return std::is_sorted(node_.gpus().begin(), node_.gpus().end(),
                          [](const GpuInfo& a, const GpuInfo& b) { return a.vertex < b.vertex; });
  }

  Keys nic_keys(const Vertex& vertex, const NicInfo& nic) const {
    Keys out = common_keys("nic", "", vertex, parts_.nics);
    if (nic.port != 1) out.add("port", std::to_string(nic.port));
    if (nic.speed != nic.part.port_rate) out.add("speed", rate_text(nic.speed));
    out.add_text("guid", nic.guid);
    if (!nic.gdr) out.add("gdr", "false");
    if (nic.part.network != parts_.nics.at(vertex.part).network)
      out.add("network", std::string(to_text(nic.part.network)));
    return out;
  }

  const NodeGraph& node_;
  const PartsCatalogue& parts_;
  std::string out_;
};

}  // namespace

std::string topo_yaml(const NodeGraph& node, const PartsCatalogue& parts) {
  return YamlWriter(node, parts).write();
}

}  // namespace fabricast
