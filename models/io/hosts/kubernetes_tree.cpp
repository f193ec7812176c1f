// Nodes of Kubernetes (kubectl get nodes -o yaml or json) with the labels that topograph, cloud
// providers and GPU Operator write, the Topology of Kueue and KAI that says which labels count, and
// Volcano's HyperNodes. Sources: docs/placement.md.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/io/hosts/tree_readers.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast::tree_readers {

namespace {

constexpr int kTiersMax = 8;
const std::vector<std::string> kDomainLabels = {
    "accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator",
    "nvidia.com/gpu.clique", "topology.k8s.aws/ultraserver-id"};

/// "prefix0", "prefix1", ...
std::vector<std::string> tiers(const std::string& prefix, int first, int last) {
  std::vector<std::string> out;
  const int step = first <= last ? 1 : -1;
  for (int n = first; n != last + step; n += step) out.push_back(prefix + std::to_string(n));
  return out;
}

using Labels = std::map<std::string, std::string>;

struct Node {
  std::string name;
  int line = 0;
  Labels labels;
};

struct HyperNode {
  std::string name;
  int line = 0;
  const YamlNode* members = nullptr;
};

class Reader {
 public:
  Reader(const std::string& file, const std::vector<std::string>& labels, HostTree& out)
      : file_(file), labels_(labels), out_(out) {}

  void read(const std::vector<YamlNode>& documents) {
    for (const YamlNode& one : documents) take(one);
    if (!hyper_nodes_.empty() && labels_.empty()) return hyper_tree();
    if (nodes_.empty())
      throw Error(Place{file_, 0, {}}, "no node of Kubernetes is in it",
                  "write one with: kubectl get nodes -o yaml");
    by_labels();
  }

 private:
  [[noreturn]] void fail(int line, std::string what, std::string hint = {}) const {
    throw Error(Place{file_, line, {}}, std::move(what), std::move(hint));
  }

  void take(const YamlNode& object) {
    const std::string kind = text_of(child_of(object, "kind"));
    if (kind == "List" || kind == "NodeList" || kind == "HyperNodeList" || kind == "TopologyList") {
      if (const YamlNode* const items = child_of(object, "items"))
        for (const YamlNode& one : items->items) take(one);
    } else if (kind == "Node") {
      add_node(object);
    } else if (kind == "Topology") {
      add_levels(object);
    } else if (kind == "HyperNode") {
      const YamlNode* const spec = child_of(object, "spec");
      const YamlNode* const members = spec == nullptr ? nullptr : child_of(*spec, "members");
      hyper_nodes_.push_back({name_of(object), object.line, members});
    }
  }

  std::string name_of(const YamlNode& object) const {
    const YamlNode* const metadata = child_of(object, "metadata");
    const std::string name = metadata == nullptr ? "" : text_of(child_of(*metadata, "name"));
    if (name.empty()) fail(object.line, "an object without metadata.name");
    return name;
  }

  void add_node(const YamlNode& object) {
    Node node{name_of(object), object.line, {}};
    const YamlNode* const labels = child_of(*child_of(object, "metadata"), "labels");
    for (std::size_t i = 0; labels != nullptr && i < labels->keys.size(); ++i)
      node.labels[labels->keys[i]] = text_of(&labels->items[i]);
    if (!names_.insert(node.name).second) fail(node.line, "node " + node.name + " once more");
    nodes_.push_back(std::move(node));
  }

  /// Kueue and KAI name the farthest level first and end with the host.
  void add_levels(const YamlNode& object) {
    const YamlNode* const spec = child_of(object, "spec");
    const YamlNode* const levels = spec == nullptr ? nullptr : child_of(*spec, "levels");
    if (levels == nullptr) fail(object.line, "a Topology without spec.levels");
    if (!levels_.empty())
      fail(object.line, "a second Topology", "--labels says which labels count");
    for (const YamlNode& level : levels->items) {
      const std::string label = text_of(child_of(level, "nodeLabel"));
      if (label.empty()) fail(level.line, "a level without nodeLabel");
      if (label != "kubernetes.io/hostname") levels_.insert(levels_.begin(), label);
    }
  }

  static std::size_t with_all(const std::vector<Node>& nodes, const std::string& label) {
    return static_cast<std::size_t>(std::ranges::count_if(
        nodes, [&](const Node& node) { return node.labels.contains(label); }));
  }

  /// Of the family that most nodes have, labels that some node has.
  std::vector<std::string> chosen_labels() const {
    if (!labels_.empty()) return labels_;
    if (!levels_.empty()) return levels_;
    std::vector<std::string> out;
    std::size_t most = 0;
    for (const std::vector<std::string>& family : known_switch_labels()) {
      std::vector<std::string> there;
      for (const std::string& label : family)
        if (with_all(nodes_, label) > 0) there.push_back(label);
      if (there.empty() || with_all(nodes_, there.front()) <= most) continue;
      most = with_all(nodes_, there.front());
      out = std::move(there);
    }
    return out;
  }

  [[noreturn]] void fail_unknown_label(const std::string& label) const {
    std::set<std::string> known;
    for (const Node& node : nodes_)
      for (const auto& [key, value] : node.labels) known.insert(key);
    const std::string near = nearest(label, {known.begin(), known.end()});
    fail(0, fmt::format("no node has the label \"{}\"", label),
         near.empty() ? "kubectl get nodes --show-labels lists those there are"
                      : fmt::format("did you mean \"{}\"?", near));
  }

  std::string domain_of(const Node& node) const {
    for (const std::string& label : kDomainLabels) {
      const auto found = node.labels.find(label);
      if (found != node.labels.end() && !found->second.empty()) return found->second;
    }
    return "";
  }

  /// A value is that of its level and of those above it: "rack1" of "block2" is another one than
  /// that of "block1".
  void by_labels() {
    const std::vector<std::string> labels = chosen_labels();
    const bool has_domains =
        std::ranges::any_of(nodes_, [&](const Node& node) { return !domain_of(node).empty(); });
    if (labels.empty() && !has_domains)
      fail(0, "no label of the nodes names a switch",
           "--labels KEY,KEY names those that do, the nearest switch first");
    for (const std::string& label : labels)
      if (with_all(nodes_, label) == 0) fail_unknown_label(label);
    out_.kind = kNodesKind;
    std::size_t bare = 0;
    for (const Node& node : nodes_) {
      TreeHost host{node.name, {}, domain_of(node)};
      for (const std::string& label : labels) {
        const auto found = node.labels.find(label);
        if (found != node.labels.end() && !found->second.empty())
          host.switches.push_back(found->second);
      }
      if (host.switches.empty() && !host.domain.empty()) host.switches = {host.domain};
      if (host.switches.size() < std::max<std::size_t>(labels.size(), 1)) {
        ++bare;
        continue;
      }
      qualify(host);
      out_.hosts.push_back(std::move(host));
    }
    std::string used;
    for (const std::string& label : labels) used += (used.empty() ? "" : ", ") + label;
    if (out_.hosts.empty()) fail(0, "no node has all of the labels " + used);
    if (!used.empty()) out_.notes.push_back("switches by the labels " + used + ".");
    if (bare > 0)
      out_.notes.push_back(fmt::format("{} without these labels left out.",
                                       counted(static_cast<std::int64_t>(bare), "node")));
  }

  /// A leaf whose name stands below another spine already goes by both names.
  void qualify(TreeHost& host) {
    for (std::size_t i = host.switches.size(); i-- > 0;) {
      const std::string above = i + 1 < host.switches.size() ? host.switches[i + 1] : "";
      const auto [at, is_new] = above_.try_emplace({i, host.switches[i]}, above);
      if (!is_new && at->second != above) host.switches[i] = above + "/" + host.switches[i];
    }
  }

  /// HyperNodes of tier 1 hold nodes, others hold HyperNodes.
  void hyper_tree() {
    out_.kind = "HyperNodes of Volcano";
    SwitchTree tree(file_);
    for (const HyperNode& one : hyper_nodes_) tree.add_switch(one.name, one.line);
    for (const HyperNode& one : hyper_nodes_) {
      if (one.members == nullptr) continue;
      for (const YamlNode& member : one.members->items) add_member(one, member, tree);
    }
    tree.write(out_);
    for (TreeHost& host : out_.hosts) {
      const auto node = std::ranges::find(nodes_, host.name, &Node::name);
      if (node != nodes_.end()) host.domain = domain_of(*node);
    }
  }

  void add_member(const HyperNode& parent, const YamlNode& member, SwitchTree& tree) const {
    const YamlNode* const selector = child_of(member, "selector");
    if (selector == nullptr) fail(member.line, "a member without a selector");
    const bool is_host = text_of(child_of(member, "type")) != "HyperNode";
    if (const YamlNode* const exact = child_of(*selector, "exactMatch")) {
      const std::string name = text_of(child_of(*exact, "name"));
      if (name.empty()) fail(member.line, "exactMatch without a name");
      return is_host ? tree.add_host(parent.name, name, member.line)
                     : tree.add_child(parent.name, name, member.line);
    }
    const YamlNode* const label = child_of(*selector, "labelMatch");
    if (label == nullptr || !is_host)
      fail(member.line, "this selector is not read",
           "name members with exactMatch, or nodes with labelMatch");
    const YamlNode* const wanted = child_of(*label, "matchLabels");
    if (wanted == nullptr) fail(member.line, "labelMatch without matchLabels");
    if (nodes_.empty())
      fail(member.line, "labelMatch speaks of nodes, and no node is in the file",
           "add what kubectl get nodes -o yaml prints, after a line ---");
    for (const Node& node : nodes_) {
      bool matches = true;
      for (std::size_t i = 0; i < wanted->keys.size(); ++i) {
        const auto found = node.labels.find(wanted->keys[i]);
        matches =
            matches && found != node.labels.end() && found->second == text_of(&wanted->items[i]);
      }
      if (matches) tree.add_host(parent.name, node.name, member.line);
    }
  }

  const std::string& file_;
  const std::vector<std::string>& labels_;
  HostTree& out_;
  std::vector<Node> nodes_;
  std::set<std::string> names_;
  std::vector<HyperNode> hyper_nodes_;
  std::vector<std::string> levels_;
  std::map<std::pair<std::size_t, std::string>, std::string> above_;
};

}  // namespace

void read_kubernetes(const std::vector<YamlNode>& documents, const std::string& file,
                     const std::vector<std::string>& labels, HostTree& out) {
  Reader(file, labels, out).read(documents);
}

void read_instances(const YamlNode& tree, const std::string& file, HostTree& out) {
  out.kind = "topograph's instances";
  std::set<std::string> seen;
  for (const YamlNode& one : child_of(tree, "instances")->items) {
    TreeHost host{text_of(child_of(one, "id")), {}, {}};
    if (host.name.empty()) throw Error(Place{file, one.line, "instances"}, "one without an id");
    if (!seen.insert(host.name).second)
      throw Error(Place{file, one.line, "instances"}, host.name + " once more");
    if (const YamlNode* const layers = child_of(one, "network_layers"))
      for (const YamlNode& layer : layers->items) host.switches.push_back(text_of(&layer));
    if (const YamlNode* const labels = child_of(one, "labels"))
      for (const std::string& label : kDomainLabels)
        if (host.domain.empty()) host.domain = text_of(child_of(*labels, label.c_str()));
    if (host.switches.empty() && !host.domain.empty()) host.switches = {host.domain};
    if (host.switches.empty())
      throw Error(Place{file, one.line, "instances"}, host.name + " has no network_layers");
    out.hosts.push_back(std::move(host));
  }
}

}  // namespace fabricast::tree_readers

namespace fabricast {

const std::vector<std::vector<std::string>>& known_switch_labels() {
  using tree_readers::kTiersMax;
  using tree_readers::tiers;
  static const std::vector<std::vector<std::string>> kFamilies = {
      tiers("fabric.topograph.run/tier-", 0, kTiersMax),
      tiers("network.topology.nvidia.com/tier-", 0, kTiersMax),
      {"network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine",
       "network.topology.nvidia.com/core"},
      {"network.topology.nvidia.com/block", "network.topology.nvidia.com/spine",
       "network.topology.nvidia.com/datacenter"},
      tiers("topology.k8s.aws/network-node-layer-", 4, 1),
      {"cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"},
      {"oci.oraclecloud.com/rdma.local_block_id", "oci.oraclecloud.com/rdma.network_block_id",
       "oci.oraclecloud.com/rdma.hpc_island_id"}};
  return kFamilies;
}

}  // namespace fabricast
