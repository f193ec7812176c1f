#include "models/io/hosts/host_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "models/io/hosts/tree_readers.hpp"
#include "models/io/imports/ib_network.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace tree_readers {

const YamlNode* child_of(const YamlNode& node, const char* key) {
  if (node.kind != YamlNode::Kind::mapping) return nullptr;
  const auto found = std::ranges::find(node.keys, key);
  return found == node.keys.end()
             ? nullptr
             : &node.items[static_cast<std::size_t>(found - node.keys.begin())];
}

std::string text_of(const YamlNode* node) {
  return node != nullptr && node->kind == YamlNode::Kind::scalar ? node->text : "";
}

namespace {

constexpr std::size_t kDocumentsMax = 100'000;

/// Of a switch "MF0;leaf-001:MQM9701/U1" the part between.
std::string plain_name(const std::string& id, const IbNetwork& network) {
  const auto found = network.switches.find(id);
  if (found == network.switches.end() || found->second.name.empty()) return id;
  const std::string& name = found->second.name;
  return name.substr(name.find(';') == std::string::npos ? 0 : name.find(';') + 1);
}

/// The leaf of a host is all the switches that it hangs on: one of each rail.
std::map<std::string, std::set<std::string>> leaves_of_hosts(const IbNetwork& network) {
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [id, one] : network.switches)
    for (const IbCable& cable : one.cables) {
      const auto adapter = network.adapters.find(cable.peer);
      if (!cable.to_adapter || adapter == network.adapters.end()) continue;
      const std::string host = adapter->second.substr(0, adapter->second.find(' '));
      if (!host.empty()) out[host].insert(id);
    }
  return out;
}

/// Switches one above those, all of them together one name: that of the first.
std::string above(const std::set<std::string>& below, const IbNetwork& network,
                  const std::set<std::string>& leaves) {
  for (const std::string& id : below) {
    const auto found = network.switches.find(id);
    if (found == network.switches.end()) continue;
    std::set<std::string> peers;
    for (const IbCable& cable : found->second.cables)
      if (!cable.to_adapter && !leaves.contains(cable.peer)) peers.insert(cable.peer);
    if (!peers.empty()) return plain_name(*peers.begin(), network);
  }
  return "";
}

/// The documents of a file, each padded so that its lines keep their numbers.
std::vector<YamlNode> documents_of(const std::string& text, const std::string& file) {
  std::vector<YamlNode> out;
  std::string one;
  int line = 0;
  const auto close = [&] {
    if (one.find_first_not_of(" \t\r\n") == std::string::npos) return;
    YamlNode tree = parse_yaml(one, file);
    out.push_back(std::move(tree));
    if (out.size() > kDocumentsMax)
      throw Error(Place{file, line, {}}, fmt::format("more than {} documents", kDocumentsMax));
  };
  std::size_t begin = 0, first_line = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view words(text.data() + begin, end - begin);
    while (words.ends_with('\r') || words.ends_with(' ')) words.remove_suffix(1);
    ++line;
    const bool cuts = words.size() >= 3 && words.find_first_not_of('-') == std::string_view::npos;
    if (cuts) {
      close();
      one.clear();
      first_line = static_cast<std::size_t>(line);
    } else {
      if (one.empty()) one.assign(first_line, '\n');
      one.append(text, begin, end - begin).push_back('\n');
      ++first_line;
    }
    begin = end + 1;
  }
  close();
  return out;
}

/// A ConfigMap that Slinky's operator gets holds the file itself.
const YamlNode* config_of(const YamlNode& document) {
  const YamlNode* const data = child_of(document, "data");
  if (data == nullptr || text_of(child_of(document, "kind")) != "ConfigMap") return nullptr;
  const YamlNode* const conf = child_of(*data, "topology.conf");
  return conf != nullptr ? conf : child_of(*data, "topology.yaml");
}

/// Slurm compares keys in any case.
bool is_conf(const std::string& text) {
  const auto is_same_letter = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  for (const std::string_view key : {"SwitchName=", "BlockName="}) {
    const auto at = std::search(text.begin(), text.end(), key.begin(), key.end(), is_same_letter);
    if (at == text.end()) continue;
    if (at == text.begin() || *(at - 1) == '\n' || *(at - 1) == ' ' || *(at - 1) == '\t')
      return true;
  }
  return false;
}

void read_any(const std::string& text, const std::string& file,
              const std::vector<std::string>& labels, bool nested, HostTree& out) {
  if (is_conf(text) && !text.starts_with("kind:") && text.find("\nkind:") == std::string::npos)
    return read_topology_conf(text, file, out);
  if (text.find("SLURM_TOPOLOGY_ADDR=") != std::string::npos)
    return read_topology_addr(text, file, out);
  if (!parse_ib_network(read_log(text)).empty()) return read_ib_network(text, file, out);
  const auto refuse = [&] {
    throw Error(Place{file, 0, {}}, "hosts and switches of no kind that is known",
                "docs/placement.md lists the kinds: topology.conf, topology.yaml, nodes of "
                "Kubernetes, ibnetdiscover, ...");
  };
  // What is no YAML at all should not be blamed for its YAML.
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (!has("kind") && !has("topology") && !has("instances")) refuse();
  const std::vector<YamlNode> documents = documents_of(text, file);
  if (documents.empty()) refuse();
  const YamlNode& first = documents.front();
  if (first.kind == YamlNode::Kind::sequence) return read_topology_yaml(first, file, out);
  if (child_of(first, "instances") != nullptr) return read_instances(first, file, out);
  if (const YamlNode* const inside = config_of(first); inside != nullptr && !nested)
    return read_any(inside->text, file, labels, true, out);
  if (child_of(first, "kind") == nullptr) refuse();
  read_kubernetes(documents, file, labels, out);
}

}  // namespace

void read_ib_network(const std::string& text, const std::string& file, HostTree& out) {
  out.kind = "ibnetdiscover";
  const IbNetwork network = parse_ib_network(read_log(text));
  const auto hosts = leaves_of_hosts(network);
  std::set<std::string> leaves;
  for (const auto& [host, all] : hosts) leaves.insert(all.begin(), all.end());
  for (const auto& [host, all] : hosts) {
    std::string leaf = plain_name(*all.begin(), network);
    if (all.size() > 1) leaf += fmt::format(" +{}", all.size() - 1);
    TreeHost one{host, {leaf}, {}};
    if (const std::string spine = above(all, network, leaves); !spine.empty())
      one.switches.push_back(spine);
    out.hosts.push_back(std::move(one));
  }
  if (out.hosts.empty()) throw Error(Place{file, 0, {}}, "no host hangs on a switch in it");
}

}  // namespace tree_readers

int HostTree::find(const std::string& name) const {
  const auto short_name = [](const std::string& of) { return of.substr(0, of.find('.')); };
  if (by_name_.empty())
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      by_name_.emplace(hosts[i].name, static_cast<int>(i));
      by_short_name_[short_name(hosts[i].name)].push_back(static_cast<int>(i));
    }
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  const auto found = by_short_name_.find(short_name(name));
  if (found == by_short_name_.end()) return -1;
  const std::vector<int>& of_that_name = found->second;
  if (of_that_name.size() > 1) {
    const auto named = [&](std::size_t i) {
      return hosts[static_cast<std::size_t>(of_that_name[i])].name;
    };
    throw Error(fmt::format("host {} may be {} or {}", name, named(0), named(1)),
                "say the whole name");
  }
  return of_that_name.front();
}

std::vector<std::string> HostTree::names() const {
  std::vector<std::string> out;
  for (const TreeHost& host : hosts) out.push_back(host.name);
  return out;
}

HostTree parse_host_tree(const std::string& text, const std::string& file,
                         const std::vector<std::string>& labels) {
  HostTree out;
  tree_readers::read_any(text, file, labels, false, out);
  if (!labels.empty() && out.kind != tree_readers::kNodesKind)
    throw Error(Place{file, 0, {}},
                fmt::format("{} has no labels, and --labels names some", out.kind),
                "leave it out: labels are those of nodes of Kubernetes");
  if (out.hosts.empty()) throw Error(Place{file, 0, {}}, "no host is in it");
  return out;
}

}  // namespace fabricast
