#pragma once
// From files to typed config to topology. The only door for YAML besides scenarios.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/hardware/node/node_type.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/io/formats/yaml_tree.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// The catalogue embedded in the program (topologies/parts.yaml) with the shipped calibrated values
/// (topologies/calibrated.yaml), and on top of it the user's own file, if any: parts, which it adds
/// or replaces, or values that `fabricast calibrate` wrote.
PartsCatalogue load_parts(const std::string& own_file = {});
/// topologies/parts.yaml as it stands, for what must not move when somebody calibrates.
PartsCatalogue load_catalogue();

/// What is wanted of a topology.
struct NodesRequest {
  int nodes = 0;  ///< servers; 0 = what the file says, else 1
  /// Joins the nodes of an NVLink domain into one (join_trays()), with so many GPUs of each. NCCL
  /// does unless it is told not to.
  bool joins_domains = false;
  int gpus_per_node = 0;             ///< 0 = all
  std::optional<Routing> routing{};  ///< instead of the fabric's
};

/// So many nodes of a topology as NCCL sees them.
struct DescribedNodes {
  NodeDescription node;  ///< each of them
  int nodes = 1;
  int trays = 1;             ///< servers that NVLink joins into each
  int gpus_per_node = 0;     ///< of each that take part; 0 = all
  bool peer_to_peer = true;  ///< the driver lets its GPUs reach each other over PCIe
};

struct TopologyRequest;

/// What --topology and --fabric name, read once.
class Topology {
 public:
  /// `topology`: preset name, or path of a YAML file (node type or cluster), of NCCL's XML or of a
  /// tool's output. `fabric`: preset name or path of a YAML fabric; "" = the topology's own, else
  /// the default. Both with changes (topology_name.hpp). `parts` outlives it. Throws Error.
  Topology(const std::string& topology, const std::string& fabric, const PartsCatalogue& parts);
  ~Topology();
  Topology(Topology&&) noexcept;

  /// The number of servers it speaks of: that of a cluster, else 1. Throws Error.
  int nodes() const;
  /// What NCCL is told: NCCL's XML may hold what no part of the catalogue is like. Throws Error.
  DescribedNodes describe(const NodesRequest& request) const;
  /// Builds and validates. Throws Error.
  Cluster cluster(const NodesRequest& request) const;

 private:
  struct Read;
  explicit Topology(std::unique_ptr<const Read> read);
  friend Cluster parse_cluster(const std::string& text, const std::string& file,
                               const TopologyRequest& request, const PartsCatalogue& parts);
  std::unique_ptr<const Read> read_;
};

/// The same in one step, for those who want one thing only.
struct TopologyRequest {
  std::string topology;
  int nodes = 0;
  std::string fabric;
  bool joins_domains = false;
  int gpus_per_node = 0;
  std::optional<Routing> routing{};

  NodesRequest of() const { return {nodes, joins_domains, gpus_per_node, routing}; }
};

/// Throws Error unless there is one of that name: a preset, an alias or a file, with changes that
/// can be read. What it says is not looked at.
void check_topology_name(const std::string& topology);
void check_fabric_name(const std::string& fabric);
/// From now on no cluster of more nodes is built. For a server. Before any thread builds.
void build_at_most(int nodes);

/// Names that --topology takes without a path, sorted.
std::vector<std::string> preset_names();

NodeType load_node_type(const std::string& topology);
/// What NCCL is told of one node of a --topology: a preset, a YAML file, or NCCL's own XML, which
/// may hold what no part of the catalogue is like. Throws Error.
NodeDescription load_description(const std::string& topology, const PartsCatalogue& parts);
/// See Topology.
int load_nodes(const std::string& topology, const PartsCatalogue& parts);
Cluster load_cluster(const TopologyRequest& request, const PartsCatalogue& parts);

/// The same from text, for tests and fuzzing; `file` is used in messages only.
/// With a base the text adds to it and replaces what has the same name.
PartsCatalogue parse_parts(const YamlText& text, const std::string& file,
                           const PartsCatalogue* base = nullptr);
/// The same from a tree.
PartsCatalogue read_parts(const YamlNode& tree, const std::string& file,
                          const PartsCatalogue* base = nullptr);
NodeType parse_node_type(const YamlText& text, const std::string& file);
Cluster parse_cluster(const std::string& text, const std::string& file,
                      const TopologyRequest& request, const PartsCatalogue& parts);

}  // namespace fabricast
