#pragma once
// NodeType + parts -> NodeGraph, with every check that needs more than one entry of the file. Only
// NodeGraph::build uses it; the PCI tree is in node_graph_builder.cpp, NVLink in
// nvlink_builder.cpp.

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/node/node_graph.hpp"
#include "models/hardware/node/node_type.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

class NodeGraphBuilder {
 public:
  NodeGraphBuilder(const NodeType& type, const PartsCatalogue& parts)
      : type_(type), parts_(parts) {}

  NodeGraph build();

 private:
  /// Every root must hang under a CPU that exists.
  void check_roots() const;
  static const std::string& label(const PciConfig& config);
  VertexId add_vertex(Vertex vertex, const Place& place);
  /// A name or bus id may be used once; on the way up from an element to its CPU, too.
  using Taken = std::map<std::pair<int, std::string>, Place>;  ///< by tray
  void claim(Taken& taken, std::string_view what, const std::string& name, int tray,
             const Place& place) const;
  void add_link(VertexId from, VertexId to, LinkKind kind, Bandwidth rate, Duration latency);
  void add_cpu(const CpuConfig& config);
  std::string default_name(VertexKind kind, const char* stem) const;
  void add_element(const PciConfig& config, VertexId parent, int bridge);
  /// What all PCI elements share, and the two links to the parent.
  template <class Part>
  VertexId add_pci_vertex(VertexKind kind, const char* stem, const Part& part,
                          const PciConfig& config, VertexId parent, int bridge, Duration latency);
  Bandwidth pcie_rate(const Vertex& vertex, const Place& place) const;
  void add_pcie_switch(const PciConfig& config, VertexId parent, int bridge);
  void add_gpu(const PciConfig& config, VertexId parent, int bridge);
  /// Where the file says dev, it gives the order of GPUs, and so their names.
  void number_gpus();
  void add_nic(const PciConfig& config, VertexId parent, int bridge);
  /// Every CPU (NUMA node) reaches every other one directly.
  void add_sockets();
  /// Of a GPU below this CPU; 0 = never limits.
  Bandwidth duplex_rate(const CpuPart& cpu, VertexId gpu) const;
  /// What limits host memory and traffic between root ports.
  void add_roots();

  void add_nvswitches();
  void add_nvlinks(std::size_t gpu);
  void add_c2c(std::size_t gpu);
  /// Notes one target of a GPU. A link to another GPU is added at once, this direction only: the
  /// other GPU lists it as well.
  void add_nvlink(GpuInfo& info, const PciConfig::Nvlink& nvlink, const Place& place);
  /// Both GPUs of a pair must name the same number of links between them.
  void check_nvlink_pairs() const;
  static int links_to(const GpuInfo& info, const std::string& busid);

  template <class Part>
  static const Part& find_part(const std::map<std::string, Part>& parts, const std::string& name,
                               std::string_view what, const Place& place) {
    const auto found = parts.find(name);
    if (found != parts.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [key, unused] : parts) known.push_back(key);
    throw Error(place, fmt::format("unknown {} part \"{}\"", what, name),
                hint_nearest(name, known));
  }

  const NodeType& type_;
  const PartsCatalogue& parts_;
  NodeGraph graph_;
  std::array<int, 5> counts_{};         // by VertexKind
  std::array<int, 5> counts_before_{};  // of the trays before the one being added
  int tray_ = 0;                        // that one
  int host_bridges_ = 0;
  VertexId nvswitch_{};
  Taken names_, busids_;
  std::vector<const PciConfig*> gpu_configs_;  // in the order of gpus()
  std::vector<const PciConfig*> way_up_;       // switches above the element being added
};

}  // namespace fabricast
