#include "models/io/topologies/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/hardware/cluster/nvlink_domain.hpp"
#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/import_node.hpp"
#include "models/io/topologies/read_fabric.hpp"
#include "models/io/topologies/tool_node.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "text/words.hpp"

namespace fabricast {

struct TopologyFile {
  std::string name;  ///< for messages
  std::string text;
  std::string_view packed = {};             ///< its tree, where it travels in the program
  std::vector<NodeChanges> changes = {};    ///< of the node, one after the other
  std::optional<TopologyAlias> alias = {};  ///< that it was found behind; without text if composed
  bool is_composed() const { return alias && alias->composed; }
  YamlText yaml() const { return {text, packed}; }
};

/// What a cluster file says; a node type alone is a cluster of one node.
struct ClusterConfig {
  NodeType node;
  std::optional<NodeDescription> described;  ///< the node, where NCCL's XML says it
  int nodes = 1;
  std::optional<FabricConfig> fabric;
  int nodes_per_rack = 0;  ///< 0 = what the fabric says
};

namespace {

constexpr int kNodesMax = 1'000'000'000;  // the cluster itself says how many fit

/// The names of embedded files of one of these kinds.
std::vector<std::string> embedded_of_kind(const std::vector<std::string>& kinds) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_topologies()) {
    const std::string name(file.name);
    const YamlNode tree = parse_yaml(file.yaml(), name);
    const std::string kind = Reader(tree, name).text("kind");
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) names.push_back(name);
  }
  return names;
}

const std::vector<std::string> kTopologyKinds = {"node", "cluster"};
const std::vector<std::string> kFabricKinds = {"fabric"};

/// "--topology" of "topology". Only a cluster's file names a node type.
std::string option_of(std::string_view what) {
  return what == "node type" ? std::string() : fmt::format("--{}", what);
}

/// "did you mean p5", of "p5.48xlarge" or "ND96isr_H100_v5": names that makers and clouds use stand
/// in what an alias says. Empty if none does.
std::string hint_of_makers(const std::string& name) {
  const std::string typed = lower_case(name);
  if (typed.size() < 3 || typed.find('/') != std::string::npos) return {};
  for (const TopologyAlias& alias : topology_aliases()) {
    const std::size_t at = lower_case(alias.what).find(typed);
    if (at != std::string::npos && is_whole_word(alias.what, at, typed.size()))
      return fmt::format("did you mean \"{}\"?", alias.name);
  }
  return {};
}

/// Of "dgx-spark-2" not only "dgx-spark": what begins so as well.
std::string hint_with_longer(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  if (near.empty() || !name.starts_with(near + "-")) return hint_nearest(name, known);
  std::string out = fmt::format("did you mean \"{}\"", near);
  for (const std::string& other : known)
    if (other.starts_with(near + "-")) out += fmt::format(" or \"{}\"", other);
  return out + "?";
}

/// A preset by name, else a file. `folder` is where relative paths start.
TopologyFile find_file(const std::string& name, const std::vector<std::string>& kinds,
                       std::string_view what, const std::filesystem::path& folder = {}) {
  if (const EmbeddedFile* embedded = find_embedded(embedded_topologies(), name)) {
    return {fmt::format("topologies/{}.yaml", name), std::string(embedded->text), embedded->packed};
  }
  const std::filesystem::path path = folder / name;
  std::error_code ignored;
  if (!name.empty() && std::filesystem::exists(path, ignored)) {
    return {path.string(), read_text_file(path.string())};
  }
  const bool is_machine = kinds != kFabricKinds;
  std::string hint = is_machine ? hint_of_makers(name) : std::string();
  if (hint.empty() && name.find_first_of("/.") != std::string::npos) {
    throw Error(Place{path.string(), 0, {}, option_of(what)}, "no such file");
  }
  std::vector<std::string> known = embedded_of_kind(kinds);
  if (is_machine) {
    for (const TopologyAlias& alias : topology_aliases()) known.push_back(alias.name);
  }
  if (hint.empty()) {
    hint = is_machine && nearest(name, known).empty()
               ? "fabricast list topologies names those that are known"
               : hint_with_longer(name, known);
  }
  throw Error(about(option_of(what)), fmt::format("unknown {} \"{}\"", what, name), hint);
}

/// The file of a topology or node type, behind aliases, and what is changed of it.
TopologyFile find_topology(const std::string& text, const std::vector<std::string>& kinds,
                           std::string_view what, const std::filesystem::path& folder = {}) {
  std::error_code ignored;
  const bool is_file = !text.empty() && std::filesystem::exists(folder / text, ignored);
  if (is_file || find_embedded(embedded_topologies(), text) != nullptr)
    return find_file(text, kinds, what, folder);
  TopologyName name = parse_topology_name(text);
  TopologyFile out;
  std::vector<NodeChanges> changes;
  for (TopologyAlias& alias : topology_aliases()) {
    if (alias.name != name.base) continue;
    if (!alias.composed) {
      const TopologyName meant = parse_topology_name(alias.is);
      name.base = meant.base;
      changes.push_back(meant.changes);
    }
    out.alias = std::move(alias);
    break;
  }
  changes.push_back(name.changes);
  if (!out.is_composed()) {
    TopologyFile file = find_file(name.base, kinds, what, folder);
    out.name = std::move(file.name);
    out.text = std::move(file.text);
    out.packed = file.packed;
  }
  out.changes = std::move(changes);
  return out;
}

/// The node that an alias says in a few words, under the alias's name.
NodeType composed_node(const TopologyAlias& alias, const PartsCatalogue& parts) {
  NodeType out = compose_node(*alias.composed, parts);
  out.name = alias.name;
  return out;
}

FabricConfig load_fabric(const std::string& name, const std::filesystem::path& folder,
                         const PartsCatalogue& parts) {
  const TopologyFile file = find_file(name, kFabricKinds, "fabric", folder);
  const YamlNode tree = parse_yaml(file.yaml(), file.name);
  Reader in(tree, file.name);
  in.choice("kind", kFabricKinds);
  return read_fabric(in, parts);
}

/// NCCL's XML, with so many of its nets as is asked for.
NodeDescription read_described(const TopologyFile& file, const PartsCatalogue& parts) {
  NodeDescription out = parse_nccl_xml(file.text, file.name);
  check_is_detected(out);
  for (const NodeChanges& changes : file.changes) {
    if (changes.empty()) continue;
    NodeChanges others = changes;
    others.nics = 0;
    if (!others.empty())
      throw Error(Place{file.name, 0, {}}, "NCCL's XML says which GPUs and NICs there are",
                  "of what it says only the number of NICs can be changed, to fewer");
    const NodeType node = import_node(out, parts);
    const std::vector<std::string> names = spread_nics(node, changes.nics);
    const std::vector<const PciConfig*> nics = nics_of(node);
    const std::vector<NodeDescription::Net> nets = nets_of(out);
    std::vector<int> kept;
    for (std::size_t i = 0; i < nics.size(); ++i)
      if (std::ranges::find(names, nics[i]->name) != names.end()) kept.push_back(nets[i].dev);
    out = used_part(out, gpu_devs(out), kept);
  }
  return out;
}

/// The node that a description is of.
void read_described_node(const NodeDescription& described, const std::vector<NodeChanges>& changed,
                         const PartsCatalogue& parts, ClusterConfig& config) {
  config.described = described;
  config.node = import_node(described, parts);
  for (const NodeChanges& changes : changed)
    if (changes.nics > 0)
      config.node.title += fmt::format(
          "; of its NICs {}: {}", changes.nics,
          fmt::join(spread_nics(config.node, static_cast<int>(nics_of(config.node).size())), ", "));
}

/// As the parts say that NCCL's XML is of; so it is where none is like a GPU of it.
bool peer_to_peer(const NodeDescription& described, const PartsCatalogue& parts) {
  try {
    return NodeGraph::build(import_node(described, parts), parts).peer_to_peer();
  } catch (const Error&) {
    return true;
  }
}

/// A node type in YAML or of a few words, NCCL's XML, or what a tool printed.
void read_node(const TopologyFile& file, const PartsCatalogue& parts, ClusterConfig& config) {
  if (is_xml(file.text))
    return read_described_node(read_described(file, parts), file.changes, parts, config);
  if (is_tool_output(file.text)) {
    NodeChanges asked;
    for (const NodeChanges& changes : file.changes) asked = changes;  // a file has no alias
    ToolNode read = node_from_tool(file.text, file.name, asked, parts);
    config.node = std::move(read.node);
    config.nodes = read.nodes;
    return;
  }
  config.node = file.is_composed() ? composed_node(*file.alias, parts)
                                   : parse_node_type(file.yaml(), file.name);
  for (const NodeChanges& changes : file.changes)
    config.node = changed(std::move(config.node), changes, parts);
}

ClusterConfig read_cluster(Reader& in, const TopologyFile& file, bool fabric_given,
                           const PartsCatalogue& parts) {
  const std::filesystem::path folder = std::filesystem::path(file.name).parent_path();
  ClusterConfig config;
  in.text("name");
  in.text("title", "");
  const std::string node_name = in.text("node");
  TopologyFile node = placed(
      in.place("node"), [&] { return find_topology(node_name, {"node"}, "node type", folder); });
  node.changes.insert(node.changes.end(), file.changes.begin(), file.changes.end());
  read_node(node, parts, config);
  config.nodes = in.whole("nodes", 1, kNodesMax);
  if (in.is_mapping("fabric")) {
    Reader fabric = in.child("fabric");
    config.fabric = read_fabric(fabric, parts);
  } else if (const std::string name = in.text("fabric", ""); !name.empty() && !fabric_given) {
    config.fabric = placed(in.place("fabric"), [&] { return load_fabric(name, folder, parts); });
  }
  config.nodes_per_rack = in.whole("nodes_per_rack", 1, kNodesMax, 0);
  in.finish();
  return config;
}

/// A cluster in YAML, or one node.
ClusterConfig read_config(const TopologyFile& file, bool fabric_given,
                          const PartsCatalogue& parts) {
  ClusterConfig config;
  if (file.alias && file.alias->nodes > 0) config.nodes = file.alias->nodes;
  if (file.is_composed() || is_xml(file.text) || is_tool_output(file.text)) {
    read_node(file, parts, config);
    return config;
  }
  const YamlNode tree = parse_yaml(file.yaml(), file.name);
  Reader in(tree, file.name);
  if (kTopologyKinds[in.choice("kind", kTopologyKinds)] == "cluster") {
    return read_cluster(in, file, fabric_given, parts);
  }
  read_node(file, parts, config);
  return config;
}

/// How many trays make one node, and how many nodes there are then.
struct Joined {
  int trays = 1, nodes = 1;
};
/// 0 = any number.
int& nodes_most() {
  static int most = 0;
  return most;
}

void check_count(int nodes) {
  if (nodes_most() > 0 && nodes > nodes_most())
    throw Error(fmt::format("{} nodes: at most {} on this page", nodes, nodes_most()),
                "the command line takes more");
}

Joined joined(const ClusterConfig& config, const NodesRequest& request) {
  const int nodes = request.nodes != 0 ? request.nodes : config.nodes;
  check_count(nodes);
  const int trays = request.joins_domains ? trays_per_domain(config.node, nodes) : 1;
  return {trays, nodes / trays};
}

NodeGraph build_node(const ClusterConfig& config, int trays, int gpus,
                     const PartsCatalogue& parts) {
  if (trays == 1) return NodeGraph::build(config.node, parts);
  return NodeGraph::build(join_trays(config.node, trays, gpus), parts);
}

}  // namespace

PartsCatalogue load_catalogue() {
  static const PartsCatalogue parts = CatalogueText().parts();
  return parts;
}

PartsCatalogue load_parts(const std::string& own_file) {
  const auto shipped = [] {
    CatalogueText out;
    overlay(shipped_calibrated(), out);
    return out;
  };
  if (own_file.empty()) {
    static const PartsCatalogue parts = shipped().parts();
    return parts;
  }
  CatalogueText catalogue = shipped();
  const std::string own = read_text_file(own_file);
  if (is_calibrated_file(own, own_file)) {
    overlay(parse_calibrated(own, own_file), catalogue);
    return catalogue.parts();
  }
  const PartsCatalogue parts = catalogue.parts();
  return parse_parts(own, own_file, &parts);
}

void check_topology_name(const std::string& topology) {
  find_topology(topology, kTopologyKinds, "topology");
}
void check_fabric_name(const std::string& fabric) {
  const FabricName name = parse_fabric_name(fabric);
  if (!name.base.empty()) find_file(name.base, kFabricKinds, "fabric");
}
void build_at_most(int nodes) { nodes_most() = nodes; }

std::vector<std::string> preset_names() {
  std::vector<std::string> names = embedded_of_kind(kTopologyKinds);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> node_preset_names() {
  std::vector<std::string> names = embedded_of_kind({"node"});
  std::sort(names.begin(), names.end());
  return names;
}

NodeType load_node_type(const std::string& topology) {
  const TopologyFile file = find_file(topology, {"node"}, "node type");
  return parse_node_type(file.yaml(), file.name);
}

std::string topology_note(const std::string& topology, const PartsCatalogue& parts) {
  std::string out;
  const std::string base = parse_topology_name(topology).base;
  for (const TopologyAlias& alias : topology_aliases()) {
    if (alias.name == base)
      out = fmt::format("{} is {} ({})", alias.name, to_text(alias), alias.what);
  }
  const TopologyFile file = find_topology(topology, kTopologyKinds, "topology");
  if (is_tool_output(file.text)) {
    const TopologyName name = parse_topology_name(topology);
    const ToolNode read = node_from_tool(file.text, file.name, name.changes, parts);
    return fmt::format("{}: {}, like {}; {}", file.name, read.kind, read.nearest,
                       fmt::join(read.notes, "; "));
  }
  if (std::ranges::all_of(file.changes, &NodeChanges::empty)) return out;
  TopologyFile unchanged = file;
  unchanged.changes.clear();
  const NodeType node = read_config(file, false, parts).node;
  const std::string title = read_config(unchanged, false, parts).node.title;
  if (node.title == title) return out;
  return out + (out.empty() ? fmt::format("{}: ", topology) : "; ") +
         node.title.substr(title.size() + 2);
}

struct Topology::Read {
  const PartsCatalogue& parts;
  std::optional<NodeDescription> xml;   ///< NCCL's, which needs no part of the catalogue
  std::optional<ClusterConfig> config;  ///< anything else
  std::optional<FabricConfig> fabric;   ///< in place of the topology's own
  double oversubscription = 0;          ///< in place of the fabric's; 0 = as it is

  Read(const TopologyFile& file, const std::string& fabric_text, const PartsCatalogue& catalogue)
      : parts(catalogue) {
    const auto [fabric_name, changed_oversubscription] = parse_fabric_name(fabric_text);
    oversubscription = changed_oversubscription;
    if (is_xml(file.text)) {
      xml = read_described(file, parts);
      changes = file.changes;
    } else {
      config = read_config(file, !fabric_name.empty(), parts);
    }
    if (!fabric_name.empty()) fabric = load_fabric(fabric_name, {}, parts);
  }

  ClusterConfig known() const {
    if (config) return *config;
    ClusterConfig out;
    read_described_node(*xml, changes, parts, out);
    return out;
  }

  std::vector<NodeChanges> changes;  ///< of NCCL's XML
};

Topology::Topology(const std::string& topology, const std::string& fabric,
                   const PartsCatalogue& parts)
    : read_(std::make_unique<Read>(find_topology(topology, kTopologyKinds, "topology"), fabric,
                                   parts)) {}
Topology::Topology(std::unique_ptr<const Read> read) : read_(std::move(read)) {}
Topology::~Topology() = default;
Topology::Topology(Topology&&) noexcept = default;

int Topology::nodes() const { return read_->xml ? 1 : cluster({}).hosts(); }

DescribedNodes Topology::describe(const NodesRequest& request) const {
  check_count(request.nodes);
  if (read_->xml)
    return {*read_->xml, std::max(request.nodes, 1), 1, request.gpus_per_node,
            peer_to_peer(*read_->xml, read_->parts)};
  const ClusterConfig& config = *read_->config;
  const auto [trays, nodes] = joined(config, request);
  const int gpus = gpus_asked_of_node(trays, request.gpus_per_node);
  const NodeGraph node = build_node(config, trays, request.gpus_per_node, read_->parts);
  return {config.described ? *config.described : fabricast::describe(node), nodes, trays, gpus,
          node.peer_to_peer()};
}

Cluster Topology::cluster(const NodesRequest& request) const {
  const ClusterConfig config = read_->known();
  const auto [trays, nodes] = joined(config, request);
  NodeGraph node = build_node(config, trays, request.gpus_per_node, read_->parts);
  FabricConfig fabric = read_->fabric   ? *read_->fabric
                        : config.fabric ? *config.fabric
                                        : default_fabric(node, read_->parts);
  if (config.nodes_per_rack > 0) fabric.nodes_per_rack = config.nodes_per_rack;
  if (request.routing) fabric.routing = *request.routing;
  if (read_->oversubscription > 0) fabric.oversubscription = read_->oversubscription;
  return Cluster(std::move(node), nodes, std::move(fabric));
}

int load_nodes(const std::string& topology, const PartsCatalogue& parts) {
  return Topology(topology, {}, parts).nodes();
}

NodeDescription load_description(const std::string& topology, const PartsCatalogue& parts) {
  return Topology(topology, {}, parts).describe({1}).node;
}

Cluster load_cluster(const TopologyRequest& request, const PartsCatalogue& parts) {
  return Topology(request.topology, request.fabric, parts).cluster(request.of());
}

Cluster parse_cluster(const std::string& text, const std::string& file,
                      const TopologyRequest& request, const PartsCatalogue& parts) {
  return Topology(std::make_unique<Topology::Read>(TopologyFile{file, text}, request.fabric, parts))
      .cluster(request.of());
}

}  // namespace fabricast
