#include "models/io/nccl_xml.hpp"

#include <fmt/format.h>

namespace fabricast {
namespace {

// PCI classes of NVLink's far ends (src/graph/xml.cc, ncclTopoGetXmlFromGpu): an NVSwitch is a
// bridge of its own class, another GPU a 3D controller.
constexpr const char* kNvSwitchClass = "0x068000";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// Writes one element per line, two blanks per level, as NCCL's ncclTopoDumpXml does. Not with
/// pugixml: it puts a blank before "/>", and NCCL does not.
class XmlWriter {
 public:
  explicit XmlWriter(const NodeGraph& node) : node_(node) {}

  std::string write() {
    line("<system version=\"1\">");
    ++depth_;
    for (const CpuInfo& cpu : node_.cpus()) write_cpu(cpu);
    --depth_;
    line("</system>");
    return std::move(out_);
  }

 private:
  void line(const std::string& text) {
    out_.append(2 * depth_, ' ');
    out_ += text + "\n";
  }

  void write_cpu(const CpuInfo& cpu) {
    line(
        fmt::format("<cpu host_hash=\"{}\" numaid=\"{}\" affinity=\"{}\" arch=\"{}\" vendor=\"{}\" "
                    "familyid=\"{}\" modelid=\"{}\">",
                    escaped(cpu.host_hash), cpu.numa, escaped(cpu.affinity), escaped(cpu.part.arch),
                    escaped(cpu.part.vendor), cpu.part.family_id, cpu.part.model_id));
    write_children(cpu.vertex);
    line("</cpu>");
  }

  void write_children(VertexId parent) {
    ++depth_;
    for (const VertexId child : node_.children(parent)) write_pci(child);
    --depth_;
  }

  void write_pci(VertexId id) {
    const Vertex& vertex = node_.vertex(id);
    line(fmt::format(
        "<pci busid=\"{}\" class=\"{}\" vendor=\"{}\" device=\"{}\" "
        "subsystem_vendor=\"{}\" subsystem_device=\"{}\" link_speed=\"{}\" "
        "link_width=\"{}\">",
        escaped(vertex.busid), escaped(vertex.ids.device_class), escaped(vertex.ids.vendor),
        escaped(vertex.ids.device), escaped(vertex.ids.subsystem_vendor),
        escaped(vertex.ids.subsystem_device), escaped(vertex.pcie_speed), vertex.pcie_width));
    ++depth_;
    if (vertex.kind == VertexKind::gpu) write_gpu(vertex);
    if (vertex.kind == VertexKind::nic) write_nic(vertex);
    --depth_;
    write_children(id);
    line("</pci>");
  }

  void write_gpu(const Vertex& vertex) {
    const GpuInfo& gpu = node_.gpus()[static_cast<std::size_t>(vertex.index)];
    const std::string element = fmt::format("<gpu dev=\"{0}\" sm=\"{1}\" rank=\"{0}\" gdr=\"{2}\"",
                                            vertex.index, gpu.part.sm, gpu.gdr ? 1 : 0);
    if (gpu.nvlink_targets.empty()) return line(element + "/>");
    line(element + ">");
    ++depth_;
    for (const auto& [target, count] : gpu.nvlink_targets) {
      line(fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>", escaped(target), count,
                       class_of(target)));
    }
    --depth_;
    line("</gpu>");
  }

  std::string class_of(const std::string& busid) const {
    for (const GpuInfo& gpu : node_.gpus()) {
      const Vertex& vertex = node_.vertex(gpu.vertex);
      if (vertex.busid == busid) return vertex.ids.device_class;
    }
    return kNvSwitchClass;
  }

  void write_nic(const Vertex& vertex) {
    const NicInfo& nic = node_.nics()[static_cast<std::size_t>(vertex.index)];
    constexpr std::int64_t bytes_per_s_of_mbit = 1'000'000 / 8;
    line("<nic>");
    ++depth_;
    line(
        fmt::format("<net name=\"{}\" dev=\"{}\" speed=\"{}\" port=\"{}\" latency=\"0.000000\" "
                    "guid=\"{}\" maxconn=\"{}\" gdr=\"{}\"/>",
                    escaped(nic.name), vertex.index, nic.speed.bytes_per_s / bytes_per_s_of_mbit,
                    nic.port, escaped(nic.guid), nic.max_connections, nic.gdr ? 1 : 0));
    --depth_;
    line("</nic>");
  }

  const NodeGraph& node_;
  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string to_nccl_xml(const NodeGraph& node) { return XmlWriter(node).write(); }

}  // namespace fabricast
