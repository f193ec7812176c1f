// Slurm's topology.conf (also as `scontrol show topology` prints it), topology.yaml, and
// SLURM_TOPOLOGY_ADDR as `srun printenv` shows it. slurm.schedmd.com/topology.conf.html,
// topology.yaml.html and sbatch.html (output environment variables), release 25.05.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "models/io/formats/log_lines.hpp"
#include "models/io/hosts/host_list.hpp"
#include "models/io/hosts/tree_readers.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast::tree_readers {

namespace {

const std::vector<std::string> kConfKeys = {"SwitchName", "BlockName", "Switches",   "Nodes",
                                            "LinkSpeed",  "Level",     "BlockSizes", "BlockSize",
                                            "BlockIndex", "Children"};

/// Key and value of "Key=Value"; keys as kConfKeys has them.
using Pairs = std::map<std::string, std::string>;

Pairs pairs_of(std::string_view line, const Place& place) {
  Pairs out;
  for (const std::string_view word : split_words(line)) {
    const std::size_t equals = word.find('=');
    const std::string key(word.substr(0, equals));
    const auto known = std::ranges::find_if(
        kConfKeys, [&](const std::string& one) { return same_in_any_case(one, key); });
    if (equals == std::string_view::npos || known == kConfKeys.end())
      throw Error(place, fmt::format("unknown key \"{}\"", key), hint_nearest(key, kConfKeys));
    if (!out.emplace(*known, word.substr(equals + 1)).second)
      throw Error(place, fmt::format("{} twice", *known));
  }
  return out;
}

/// Without comments; a line that ends in "\" goes on in the next.
struct ConfLine {
  int number = 0;
  std::string text;
};

std::vector<ConfLine> conf_lines(const std::string& text) {
  std::vector<ConfLine> out;
  LineInput input{std::string_view(text)};
  std::string line;
  bool ended = false, goes_on = false;
  for (int number = 1; input.next(line, ended); ++number) {
    std::string words(line.substr(0, line.find('#')));
    while (!words.empty() && (words.back() == '\r' || words.back() == ' ')) words.pop_back();
    const bool more = words.ends_with('\\');
    if (more) words.pop_back();
    if (goes_on) {
      out.back().text += words;
    } else if (!trimmed(words).empty()) {
      out.push_back({number, std::move(words)});
    }
    goes_on = more && (goes_on || !out.empty());
  }
  return out;
}

std::vector<std::string> listed(const std::string& text, const Place& place) {
  return placed(place, [&] { return parse_host_list(text); });
}

/// Throws Error: a key of a mapping that Slurm does not have there.
void check_keys(const YamlNode& mapping, const std::string& file,
                const std::vector<std::string>& known) {
  for (std::size_t i = 0; i < mapping.keys.size(); ++i) {
    const std::string& key = mapping.keys[i];
    if (std::ranges::find(known, key) == known.end())
      throw Error(Place{file, mapping.key_lines[i], {}}, fmt::format("unknown key \"{}\"", key),
                  hint_nearest(key, known));
  }
}

/// The first of a topology.yaml that says so, else the first of that type.
const YamlNode* chosen(const YamlNode& tree, const std::string& file, const char* type) {
  const YamlNode* first = nullptr;
  for (const YamlNode& one : tree.items) {
    const YamlNode* const found = child_of(one, type);
    if (found == nullptr || found->kind != YamlNode::Kind::mapping) continue;
    check_keys(one, file, {"topology", "cluster_default", "tree", "block", "flat"});
    const std::string is_default = text_of(child_of(one, "cluster_default"));
    if (same_in_any_case(is_default, "true")) return found;
    if (first == nullptr) first = found;
  }
  return first;
}

/// A value that may be a list of texts, or one text.
std::string joined_text(const YamlNode* node) {
  if (node == nullptr || node->kind != YamlNode::Kind::sequence) return text_of(node);
  std::string out;
  for (const YamlNode& one : node->items) out += (out.empty() ? "" : ",") + text_of(&one);
  return out;
}

void add_switches(const YamlNode& tree, const std::string& file, SwitchTree& out) {
  check_keys(tree, file, {"switches"});
  const YamlNode* const switches = child_of(tree, "switches");
  if (switches == nullptr || switches->kind != YamlNode::Kind::sequence)
    throw Error(Place{file, tree.line, "tree.switches"}, "is no list of switches");
  for (const YamlNode& one : switches->items) {
    check_keys(one, file, {"switch", "children", "nodes"});
    const std::string name = text_of(child_of(one, "switch"));
    out.add_switch(name, one.line);
    const Place place{file, one.line, name};
    for (const std::string& child : listed(joined_text(child_of(one, "children")), place))
      out.add_child(name, child, one.line);
    for (const std::string& host : listed(joined_text(child_of(one, "nodes")), place))
      out.add_host(name, host, one.line);
  }
}

void add_blocks(const YamlNode& tree, const std::string& file, SwitchTree& out) {
  check_keys(tree, file, {"block_sizes", "blocks"});
  const YamlNode* const blocks = child_of(tree, "blocks");
  if (blocks == nullptr || blocks->kind != YamlNode::Kind::sequence)
    throw Error(Place{file, tree.line, "block.blocks"}, "is no list of blocks");
  for (const YamlNode& one : blocks->items) {
    check_keys(one, file, {"block", "nodes"});
    const std::string name = text_of(child_of(one, "block"));
    if (name.empty()) throw Error(Place{file, one.line, "block.blocks"}, "a block without a name");
    for (const std::string& host :
         listed(joined_text(child_of(one, "nodes")), Place{file, one.line, name}))
      out.set_domain(host, name, one.line);
  }
}

}  // namespace

void read_topology_conf(const std::string& text, const std::string& file, HostTree& out) {
  out.kind = "Slurm topology.conf";
  SwitchTree tree(file);
  for (const ConfLine& line : conf_lines(text)) {
    const Place place{file, line.number, {}};
    const Pairs pairs = pairs_of(line.text, place);
    const auto value = [&](const char* key) {
      const auto found = pairs.find(key);
      return found == pairs.end() ? std::string() : found->second;
    };
    if (pairs.contains("BlockName")) {
      for (const std::string& host : listed(value("Nodes"), place))
        tree.set_domain(host, value("BlockName"), line.number);
    } else if (pairs.contains("SwitchName")) {
      const std::string name = value("SwitchName");
      tree.add_switch(name, line.number);
      const std::string children = value("Switches") + value("Children");
      for (const std::string& child : listed(children, place))
        tree.add_child(name, child, line.number);
      // `scontrol show topology` lists all nodes below a switch of switches, too.
      if (children.empty())
        for (const std::string& host : listed(value("Nodes"), place))
          tree.add_host(name, host, line.number);
    } else if (!pairs.contains("BlockSizes")) {
      throw Error(place, "a line without SwitchName or BlockName",
                  "write SwitchName=leaf1 Nodes=node[01-16]");
    }
  }
  tree.write(out);
}

void read_topology_yaml(const YamlNode& tree, const std::string& file, HostTree& out) {
  out.kind = "Slurm topology.yaml";
  const YamlNode* const switches = chosen(tree, file, "tree");
  const YamlNode* const blocks = chosen(tree, file, "block");
  if (switches == nullptr && blocks == nullptr)
    throw Error(Place{file, tree.line, {}}, "no topology of type tree or block is in it",
                "a flat topology says nothing of switches");
  SwitchTree all(file);
  if (switches != nullptr) add_switches(*switches, file, all);
  if (blocks != nullptr) add_blocks(*blocks, file, all);
  all.write(out);
}

/// SLURM_TOPOLOGY_ADDR=root.spine1.leaf3.node17, SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.switch
/// .node: a line of each task. Names hold no dots but the last, which takes what is left.
void read_topology_addr(const std::string& text, const std::string& file, HostTree& out) {
  out.kind = "SLURM_TOPOLOGY_ADDR";
  struct Address {
    int line = 0;
    std::string text;
  };
  std::vector<Address> addresses;
  std::string pattern;
  const LogText log = read_log(text);
  for (const LogLine& line : log.lines) {
    for (std::string_view word : split_words(line.text)) {
      while (word.ends_with('"') || word.ends_with('\'')) word.remove_suffix(1);
      const auto value = [&](std::string_view name) -> std::optional<std::string> {
        if (!word.starts_with(name)) return std::nullopt;
        std::string_view rest = word.substr(name.size());
        if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
        return std::string(rest);
      };
      const Place place{file, line.number, {}};
      if (const auto found = value("SLURM_TOPOLOGY_ADDR_PATTERN=")) {
        if (!pattern.empty() && *found != pattern)
          throw Error(place, fmt::format("the pattern {} follows on {}", *found, pattern),
                      "give the tasks of one job");
        pattern = *found;
      } else if (const auto address = value("SLURM_TOPOLOGY_ADDR=")) {
        addresses.push_back({line.number, *address});
      }
    }
  }
  const auto levels = static_cast<std::size_t>(std::ranges::count(pattern, '.'));
  std::map<std::string, std::string> seen;  ///< host: its address
  for (const Address& one : addresses) {
    std::vector<std::string> names;
    std::size_t begin = 0;
    const std::size_t dots = static_cast<std::size_t>(std::ranges::count(one.text, '.'));
    const std::size_t most = pattern.empty() ? dots : levels;
    for (std::size_t dot = one.text.find('.'); dot != std::string::npos && names.size() < most;
         dot = one.text.find('.', begin)) {
      names.push_back(one.text.substr(begin, dot - begin));
      begin = dot + 1;
    }
    const std::string host = one.text.substr(begin);
    if (names.size() != most || host.empty())
      throw Error(Place{file, one.line, {}},
                  fmt::format("{} has not the parts of {}", one.text, pattern));
    if (const auto [known, is_new] = seen.try_emplace(host, one.text); !is_new) {
      if (known->second != one.text)
        throw Error(Place{file, one.line, {}},
                    fmt::format("host {} is at {} and at {}", host, known->second, one.text));
      continue;
    }
    std::ranges::reverse(names);
    if (names.empty()) names = {"one switch"};
    out.hosts.push_back({host, std::move(names), {}});
  }
  if (levels == 0 && !addresses.empty())
    out.notes.emplace_back(
        "the addresses name no switch (Slurm without topology/tree): all hosts are taken to hang "
        "on "
        "one leaf.");
}

}  // namespace fabricast::tree_readers
