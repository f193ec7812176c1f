#include "models/io/nccl_xml/nccl_xml.hpp"

#include <fmt/format.h>

#include "text/quoting.hpp"

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;
using Cpu = NodeDescription::Cpu;

/// Writes one element per line, two blanks per level, as NCCL's ncclTopoDumpXml does. Not with
/// pugixml: it puts a blank before "/>", and NCCL does not.
class XmlWriter {
 public:
  std::string write(const NodeDescription& node) {
    open("<system version=\"1\">");
    for (const Cpu& cpu : node.cpus) write_cpu(cpu);
    close("</system>");
    return std::move(out_);
  }

 private:
  void line(const std::string& text) {
    out_.append(2 * depth_, ' ');
    out_ += text + "\n";
  }
  void open(const std::string& text) {
    line(text);
    ++depth_;
  }
  void close(const std::string& text) {
    --depth_;
    line(text);
  }

  void write_cpu(const Cpu& cpu) {
    const std::string host =
        cpu.host_hash.empty() ? "" : fmt::format(" host_hash=\"{}\"", markup_text(cpu.host_hash));
    open(fmt::format(
        "<cpu{} numaid=\"{}\" affinity=\"{}\" arch=\"{}\" vendor=\"{}\" familyid=\"{}\" "
        "modelid=\"{}\">",
        host, cpu.numa, markup_text(cpu.affinity), markup_text(cpu.arch), markup_text(cpu.vendor),
        cpu.family, cpu.model));
    for (const Pci& child : cpu.children) write_pci(child);
    close("</cpu>");
  }

  void write_pci(const Pci& pci) {
    if (pci.busid.empty()) return write_nic(*pci.nic);
    open(fmt::format(
        "<pci busid=\"{}\" class=\"{}\" vendor=\"{}\" device=\"{}\" "
        "subsystem_vendor=\"{}\" subsystem_device=\"{}\" link_speed=\"{}\" "
        "link_width=\"{}\">",
        markup_text(pci.busid), markup_text(pci.device_class), markup_text(pci.vendor),
        markup_text(pci.device), markup_text(pci.subsystem_vendor),
        markup_text(pci.subsystem_device), markup_text(pci.link_speed), pci.link_width));
    if (pci.gpu) write_gpu(*pci.gpu);
    if (pci.nic) write_nic(*pci.nic);
    for (const Pci& child : pci.children) write_pci(child);
    close("</pci>");
  }

  void write_gpu(const NodeDescription::Gpu& gpu) {
    const std::string element = fmt::format("<gpu dev=\"{0}\" sm=\"{1}\" rank=\"{0}\" gdr=\"{2}\"",
                                            gpu.dev, gpu.sm, gpu.gdr ? 1 : 0);
    if (gpu.nvlinks.empty() && gpu.c2c.empty()) return line(element + "/>");
    open(element + ">");
    for (const NodeDescription::Nvlink& link : gpu.nvlinks) {
      line(fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>",
                       markup_text(link.target), link.count, markup_text(link.tclass)));
    }
    for (const NodeDescription::C2c& link : gpu.c2c) {
      line(fmt::format("<c2c bw=\"{}\" count=\"{}\"/>", link.bw, link.count));
    }
    close("</gpu>");
  }

  void write_nic(const NodeDescription::Nic& nic) {
    open("<nic>");
    for (const NodeDescription::Net& net : nic.nets) {
      const std::string guid = net.guid ? fmt::format(" guid=\"0x{:x}\"", *net.guid) : "";
      line(fmt::format(
          "<net name=\"{}\" dev=\"{}\" speed=\"{}\" port=\"{}\" latency=\"{:.6f}\"{} "
          "maxconn=\"{}\" gdr=\"{}\"{}/>",
          markup_text(net.name), net.dev, net.speed_mbps, net.port, net.latency_us, guid,
          net.max_connections, net.gdr ? 1 : 0, net.collnet ? " coll=\"1\"" : ""));
    }
    close("</nic>");
  }

  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string to_nccl_xml(const NodeDescription& node) { return XmlWriter().write(node); }
std::string to_nccl_xml(const NodeGraph& node) { return to_nccl_xml(describe(node)); }

}  // namespace fabricast
