#pragma once
// What `--topology` and `--fabric` name: a preset, an alias or a file, and what is changed of it:
// "dgx-h100:nics=4", "node.yaml:gpu=H200_SXM", "fabric-ndr-rail:oversubscription=2".

#include <optional>
#include <string>
#include <vector>

#include "models/hardware/node/compose_node.hpp"
#include "models/hardware/node/node_changes.hpp"
#include "models/io/formats/yaml_tree.hpp"

namespace fabricast {

struct TopologyName {
  std::string base;
  NodeChanges changes;
};

/// Takes ":nics=4", ":gpu=PART", ":nic=PART", ":network=roce" off the end. Throws Error.
TopologyName parse_topology_name(const std::string& text);
/// The name of `topology` with these changes on top of its own.
std::string with_changes(const std::string& topology, const NodeChanges& changes);

struct FabricName {
  std::string base;             ///< "" = the topology's own, else the default
  double oversubscription = 0;  ///< of leaves; 0 = the file's
};

/// Takes ":oversubscription=2" off the end. Throws Error.
FabricName parse_fabric_name(const std::string& text);
/// The name with `key` changed to `value`, in place of what it says of that key.
std::string with_change(const std::string& name, const std::string& key, const std::string& value);

/// Another name of a machine: a preset, or one with a few changes, or a node of a few words.
struct TopologyAlias {
  std::string name;                   ///< "p5"
  std::string is;                     ///< "dgx-h100:nic=EFA_v2:nics=32", or the shape as text
  std::optional<NodeShape> composed;  ///< instead of a preset
  int nodes = 0;                      ///< how many, where it names more than one; else 0
  std::string what, source;           ///< for people
};
/// "dgx-h100:nic=EFA_v2:nics=32", "18 nodes of gb200-nvl72".
std::string to_text(const TopologyAlias& alias);
/// In the order of the file. Throws Error.
std::vector<TopologyAlias> parse_aliases(const YamlText& text, const std::string& file);
/// topologies/aliases.yaml
std::vector<TopologyAlias> topology_aliases();

/// "hgx-h100 is dgx-h100", "4 of its 8 NICs: ...": what a --topology stands for, where its name is
/// an alias, asks for changes or is what a tool printed; else "". Throws Error.
std::string topology_note(const std::string& topology, const PartsCatalogue& parts);

/// Presets of one node, sorted.
std::vector<std::string> node_preset_names();

}  // namespace fabricast
