#include "models/io/nccl_xml/read_nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "models/io/formats/text_file.hpp"
#include "models/io/formats/xml_reader.hpp"

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;
using Cpu = NodeDescription::Cpu;

constexpr int kIntMax = std::numeric_limits<int>::max();
// NCCL's own limit is 576 devices of a kind (src/include/graph.h, NCCL_TOPO_MAX_NODES).
constexpr int kGpusMax = 128, kNetsMax = 576, kPciMax = 576;
constexpr int kDevMax = 1023, kSmMax = 999, kLinksMax = 1024, kLanesMax = 64;
constexpr const char* kDumpHint =
    "NCCL_TOPO_DUMP_FILE=node.xml makes NCCL write a whole one on the machine itself";

// PCI classes by their first digits.
constexpr std::string_view kDisplayClass = "0x03";  // VGA, 3D and other display controllers
constexpr std::string_view kNetworkClass = "0x02";
constexpr std::string_view kBridgeClass = "0x06800";  // NVSwitch, or the NVLink port of a CPU
constexpr const char* kNvSwitchClass = "0x068000";
constexpr const char* kGpuClass = "0x030200";

class NcclXmlReader {
 public:
  NcclXmlReader(const std::string& text, const std::string& file) : xml_(text, file) {
    out_.name = file;
  }

  NodeDescription read() {
    const pugi::xml_node root = xml_.root();
    check_root(root);
    for (const pugi::xml_node node : root.children("cpu")) read_cpu(node);
    if (out_.cpus.empty()) xml_.fail(root, "the node has no CPU");
    if (gpus_.empty()) fail_without_gpu(root);
    number_gpus();
    name_nvlink_ends();
    return std::move(out_);
  }

 private:
  void check_root(pugi::xml_node root) const {
    const std::string_view name = root.name();
    if (name == "graphs") {
      xml_.fail(root, "these are graphs that NCCL found (NCCL_GRAPH_DUMP_FILE), not a topology",
                kDumpHint);
    }
    if (name != "system") {
      xml_.fail(root, fmt::format("<{}> is not NCCL's topology: <system> is expected", name),
                kDumpHint);
    }
    const int version = xml_.whole(root, "version", 0, kIntMax);
    if (version == 2) {
      xml_.fail(root, "version 2 is RCCL's, with GPUs of AMD; NCCL reads version 1 only");
    }
    if (version != 1) xml_.fail(root, fmt::format("version {}, but NCCL reads 1 only", version));
  }

  [[noreturn]] void fail_without_gpu(pugi::xml_node root) const {
    if (unknown_ > 0) {
      xml_.fail(root,
                fmt::format("no GPU: {} PCI functions have neither a <gpu> or <nic> nor a class, "
                            "which NCCL would ask the machine for",
                            unknown_),
                kDumpHint);
    }
    xml_.fail(root, "the node has no GPU");
  }

  void read_cpu(pugi::xml_node node) {
    Cpu cpu;
    cpu.numa = xml_.whole(node, "numaid", -1, kIntMax);
    cpu.arch = xml_.text(node, "arch");
    cpu.vendor = xml_.text(node, "vendor");
    cpu.family = xml_.whole(node, "familyid", 0, kIntMax, 0);
    cpu.model = xml_.whole(node, "modelid", 0, kIntMax, 0);
    cpu.affinity = xml_.text(node, "affinity");
    cpu.host_hash = xml_.text(node, "host_hash");
    for (const Cpu& other : out_.cpus) {
      if (other.numa == cpu.numa) xml_.fail(node, fmt::format("numaid {} twice", cpu.numa));
      if (other.host_hash != cpu.host_hash)
        xml_.fail(node, "CPUs of several hosts: one node is expected");
    }
    cpu.children = read_children(node, true);
    out_.cpus.push_back(std::move(cpu));
  }

  /// What NCCL does not know it passes over. A NIC directly below a CPU is no PCI function.
  std::vector<Pci> read_children(pugi::xml_node parent, bool with_nics) {
    std::vector<Pci> out;
    for (const pugi::xml_node node : parent.children()) {
      const std::string_view name = node.name();
      if (name == "pci") out.push_back(read_pci(node));
      if (name == "nic" && with_nics) out.emplace_back().nic = read_nic(node);
    }
    return out;
  }

  Pci read_pci(pugi::xml_node node) {
    if (++pcis_ > kPciMax) xml_.fail(node, fmt::format("more than {} PCI functions", kPciMax));
    Pci out;
    out.busid = read_busid(node);
    out.device_class = xml_.text(node, "class");
    out.vendor = xml_.text(node, "vendor");
    out.device = xml_.text(node, "device");
    out.subsystem_vendor = xml_.text(node, "subsystem_vendor");
    out.subsystem_device = xml_.text(node, "subsystem_device");
    out.link_speed = xml_.text(node, "link_speed");
    out.link_width = xml_.whole(node, "link_width", 0, kLanesMax, 0);
    if (const pugi::xml_node gpu = node.child("gpu")) {
      out.gpu = read_gpu(gpu);
    } else if (const pugi::xml_node nic = node.child("nic")) {
      out.nic = read_nic(nic);
      for (NodeDescription::Net& net : out.nic->nets) net.network = network_of(out.vendor);
    } else if (out.device_class.starts_with(kDisplayClass)) {
      out.gpu.emplace().dev = kNoDev;
    } else if (out.device_class.starts_with(kNetworkClass)) {
      out.nic.emplace();
    }
    if (out.gpu) add_gpu(node, out.busid);
    // NCCL looks below PCIe switches only, and takes for one what it cannot tell.
    if (out.gpu || out.nic || out.device_class.starts_with(kBridgeClass)) return out;
    out.children = read_children(node, false);
    if (out.children.empty() && out.device_class.empty()) ++unknown_;
    return out;
  }

  /// By the maker of the NIC: AWS, Cray; the file does not say.
  static NetKind network_of(std::string_view vendor) {
    if (vendor == "0x1d0f") return NetKind::efa;
    return vendor == "0x17db" ? NetKind::cxi : NetKind::ib;
  }

  std::string read_busid(pugi::xml_node node) const {
    const std::string busid(xml_.required(node, "busid"));
    if (busid.size() > 17 ||
        busid.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos) {
      xml_.fail(node, fmt::format("busid=\"{}\" is not a PCI bus id", busid),
                "it looks like 0000:1b:00.0");
    }
    return busid;
  }

  void add_gpu(pugi::xml_node node, const std::string& busid) {
    if (static_cast<int>(gpus_.size()) == kGpusMax) {
      xml_.fail(node, fmt::format("more than {} GPUs in one node", kGpusMax));
    }
    if (!gpus_.insert(busid).second) xml_.fail(node, fmt::format("two GPUs at {}", busid));
  }

  NodeDescription::Gpu read_gpu(pugi::xml_node node) {
    NodeDescription::Gpu out;
    out.dev = xml_.whole(node, "dev", -1, kDevMax, kNoDev);
    if (out.dev >= 0 && !devs_.insert(out.dev).second) {
      xml_.fail(node, fmt::format("dev {} twice", out.dev));
    }
    out.sm = xml_.whole(node, "sm", 0, kSmMax, 0);
    out.gdr = xml_.whole(node, "gdr", 0, kIntMax, 1) != 0;
    for (const pugi::xml_node link : node.children("nvlink")) {
      out.nvlinks.push_back({std::string(xml_.text(link, "target")),
                             xml_.whole(link, "count", 0, kLinksMax),
                             std::string(xml_.text(link, "tclass"))});
    }
    for (const pugi::xml_node link : node.children("c2c")) {
      out.c2c.push_back(
          {xml_.whole(link, "count", 0, kLinksMax), xml_.whole(link, "bw", 0, kIntMax)});
    }
    return out;
  }

  NodeDescription::Nic read_nic(pugi::xml_node node) {
    NodeDescription::Nic out;
    for (const pugi::xml_node in : node.children("net")) {
      if (nets_ == kNetsMax) xml_.fail(in, fmt::format("more than {} nets in one node", kNetsMax));
      NodeDescription::Net& net = out.nets.emplace_back();
      net.name = xml_.text(in, "name");
      net.dev = nets_++;
      net.speed_mbps = xml_.whole(in, "speed", -kIntMax, kIntMax, 0);
      net.port = xml_.whole(in, "port", -1, kIntMax, 0);
      net.guid = xml_.hex(in, "guid");
      net.gdr = xml_.whole(in, "gdr", 0, kIntMax, 0) != 0;
      net.latency_us = xml_.number(in, "latency", 1e6F);
      net.max_connections = xml_.whole(in, "maxconn", 0, kIntMax, 0);
      net.collnet = xml_.whole(in, "coll", 0, kIntMax, 0) != 0;
    }
    return out;
  }

  /// Calls visit(pci) for every GPU, in the order of the file.
  template <typename Visit>
  static void for_each_gpu(std::vector<Pci>& children, const Visit& visit) {
    for (Pci& pci : children) {
      if (pci.gpu) visit(pci);
      for_each_gpu(pci.children, visit);
    }
  }
  template <typename Visit>
  void for_each_gpu(const Visit& visit) {
    for (Cpu& cpu : out_.cpus) for_each_gpu(cpu.children, visit);
  }

  /// NVML counts GPUs in the order of their bus ids.
  void number_gpus() {
    std::map<std::string, NodeDescription::Gpu*> unnumbered;
    for_each_gpu([&](Pci& pci) {
      if (pci.gpu->dev < 0) unnumbered[pci.busid] = &*pci.gpu;
    });
    int dev = 0;
    for (auto& [busid, gpu] : unnumbered) {
      while (devs_.contains(dev)) ++dev;
      devs_.insert(dev);
      gpu->dev = dev;
    }
  }

  /// A far end without class is what is at that bus id; one that is not in the file, as in a
  /// virtual machine, an NVSwitch.
  void name_nvlink_ends() {
    std::map<std::string, std::string> classes;
    for_each_gpu([&](const Pci& pci) {
      classes[pci.busid] = pci.device_class.empty() ? kGpuClass : pci.device_class;
    });
    for_each_gpu([&](Pci& pci) {
      for (NodeDescription::Nvlink& link : pci.gpu->nvlinks) {
        if (!link.tclass.empty()) continue;
        const auto known = classes.find(link.target);
        link.tclass = known == classes.end() ? kNvSwitchClass : known->second;
      }
    });
  }

  static constexpr int kNoDev = -1;

  XmlReader xml_;
  NodeDescription out_;
  std::set<std::string> gpus_;  ///< bus ids
  std::set<int> devs_;          ///< of GPUs
  int nets_ = 0, pcis_ = 0;
  int unknown_ = 0;  ///< PCI functions of which nothing but the place is known
};

bool is_detected(const std::vector<Pci>& children, const Pci*& missing) {
  for (const Pci& pci : children) {
    if (pci.gpu && pci.gpu->sm == 0) missing = &pci;
    if (missing != nullptr || !is_detected(pci.children, missing)) return false;
  }
  return true;
}

}  // namespace

bool is_xml(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

NodeDescription parse_nccl_xml(const std::string& text, const std::string& file) {
  return NcclXmlReader(text, file).read();
}

NodeDescription read_nccl_xml(const std::string& path) {
  return parse_nccl_xml(read_text_file(path), path);
}

void check_is_detected(const NodeDescription& node) {
  for (const Cpu& cpu : node.cpus) {
    const Pci* missing = nullptr;
    if (is_detected(cpu.children, missing)) continue;
    throw Error(Place{node.name, 0, {}},
                fmt::format("the GPU at {} has no compute capability (<gpu sm=...>), nor its "
                            "NVLinks: NCCL would ask the driver",
                            missing->busid),
                kDumpHint);
  }
}

}  // namespace fabricast
