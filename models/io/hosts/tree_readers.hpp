#pragma once
// The readers behind parse_host_tree(), one for each family of formats.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/formats/yaml_tree.hpp"
#include "models/io/hosts/host_tree.hpp"

namespace fabricast::tree_readers {

/// Hosts by the switch they hang on, and which switch hangs on which. Fills a HostTree.
class SwitchTree {
 public:
  explicit SwitchTree(std::string file) : file_(std::move(file)) {}

  /// Throws Error: the name is taken.
  void add_switch(const std::string& name, int line);
  bool has_switch(const std::string& name) const { return switches_.contains(name); }
  /// REQUIRES: add_switch(parent).
  void add_child(const std::string& parent, const std::string& child, int line);
  void add_host(const std::string& parent, const std::string& host, int line);
  void set_domain(const std::string& host, const std::string& domain, int line);
  /// Throws Error: a child that is no switch, a circle.
  void write(HostTree& out) const;

 private:
  struct Switch {
    int line = 0;
    std::string parent;
    int parent_line = 0;
  };
  struct Host {
    std::string leaf, domain;
  };
  std::vector<std::string> above(const std::string& leaf) const;

  std::string file_;
  std::map<std::string, Switch> switches_;
  std::map<std::string, int> children_;  ///< first line that names them
  std::map<std::string, Host> hosts_;
  std::vector<std::string> order_, notes_;
};

/// The kind of a tree by labels.
inline constexpr std::string_view kNodesKind = "nodes of Kubernetes";

void read_topology_conf(const std::string& text, const std::string& file, HostTree& out);
void read_topology_yaml(const YamlNode& tree, const std::string& file, HostTree& out);
void read_topology_addr(const std::string& text, const std::string& file, HostTree& out);
void read_ib_network(const std::string& text, const std::string& file, HostTree& out);
/// Nodes, Topologies and HyperNodes of Kubernetes: the documents of a file.
void read_kubernetes(const std::vector<YamlNode>& documents, const std::string& file,
                     const std::vector<std::string>& labels, HostTree& out);
/// {"instances": [{"id": ..., "network_layers": [...]}]}
void read_instances(const YamlNode& tree, const std::string& file, HostTree& out);

/// The value of a mapping's key; nullptr where there is none.
const YamlNode* child_of(const YamlNode& node, const char* key);
/// Text of a scalar, else "".
std::string text_of(const YamlNode* node);

}  // namespace fabricast::tree_readers
