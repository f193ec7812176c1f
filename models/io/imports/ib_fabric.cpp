// From the cables of a subnet to a fabric of leaves, spines and cores.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/io/imports/ib_network.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kListed = 4;
constexpr double kWholeTree = 0.5;  ///< of the pairs of leaf and spine that a cable joins, at least

/// What a port word stands for, and the switch of the catalogue that has such ports (NVIDIA's
/// Quantum generations; 4 lanes a port).
struct Speed {
  const char* word;
  int gbps;  ///< of 4 lanes
  const char* part;
};
constexpr Speed kSpeeds[] = {
    {"EDR", 100, "SB7800"}, {"HDR", 200, "QM8700"}, {"NDR", 400, "QM9700"}, {"XDR", 800, "Q3400"}};

/// "2xNDR" -> 200
std::optional<int> gbps_of(const std::string& speed) {
  const std::size_t x = speed.find('x');
  const auto lanes = to_number<std::int64_t>(std::string_view(speed).substr(0, x));
  if (x == std::string::npos || !lanes) return std::nullopt;
  for (const Speed& known : kSpeeds)
    if (speed.substr(x + 1) == known.word) return static_cast<int>(*lanes) * known.gbps / 4;
  return std::nullopt;
}

/// "MF0;leaf-001:MQM9701/U1" -> "leaf-001:MQM9701/U1"
std::string short_name(const std::string& name) {
  return name.substr(name.find(';') == std::string::npos ? 0 : name.find(';') + 1);
}

/// Counts of what should be one: "32 x14, 31 x2".
using Counts = std::map<int, int>;
std::string text_of(const Counts& counts) {
  std::string out;
  for (auto at = counts.rbegin(); at != counts.rend(); ++at)
    out += fmt::format("{}{} x{}", out.empty() ? "" : ", ", at->first, at->second);
  return out;
}

class FabricFinder {
 public:
  FabricFinder(const IbNetwork& network, const PartsCatalogue& parts, const std::string& file)
      : network_(network), parts_(parts), file_(file) {}

  IbFabric find() {
    find_tiers();
    find_speeds();
    find_hosts();
    count_leaves();
    find_pods();
    count_cores();
    tell_rest();
    write();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& hint = {}) const {
    throw Error(Place{file_, 0, {}}, "no fabric file: " + what, hint);
  }
  void note(std::string text) { out_.notes.push_back(std::move(text)); }
  std::string name(const std::string& id) const {
    const auto found = network_.switches.find(id);
    return found == network_.switches.end() || found->second.name.empty()
               ? id
               : short_name(found->second.name);
  }
  int tier(const std::string& id) const {
    const auto found = tiers_.find(id);
    return found == tiers_.end() ? -1 : found->second;
  }

  /// 0 = leaf: has hosts; 1 = spine: next to a leaf; 2 = core.
  void find_tiers() {
    for (const auto& [id, node] : network_.switches) {
      if (std::ranges::any_of(node.cables, &IbCable::to_adapter)) tiers_[id] = 0;
    }
    if (network_.switches.empty()) refuse("no switch was seen");
    if (tiers_.empty()) refuse("no switch has a host");
    for (int below = 0; below < 2; ++below) {
      std::set<std::string> above;
      for (const auto& [id, t] : tiers_) {
        if (t != below || !network_.switches.contains(id)) continue;
        for (const IbCable& cable : network_.switches.at(id).cables)
          if (!cable.to_adapter && !tiers_.contains(cable.peer)) above.insert(cable.peer);
      }
      for (const std::string& id : above) tiers_[id] = below + 1;
    }
    for (const auto& [id, node] : network_.switches) {
      const int t = tier(id);
      if (t < 0 && node.cables.empty()) continue;
      if (t < 0)
        refuse(fmt::format("switch {} is more than two tiers above all leaves", name(id)),
               "trees of two and three tiers are modelled");
      for (const IbCable& cable : node.cables) {
        if (cable.to_adapter || std::abs(t - tier(cable.peer)) == 1) continue;
        constexpr const char* kWhat[] = {"both have hosts", "both stand next to leaves",
                                         "both stand two tiers up"};
        refuse(fmt::format("switches {} and {} are joined (port {}), and {}: no fat-tree", name(id),
                           name(cable.peer), cable.port,
                           t == tier(cable.peer) ? kWhat[t] : "they are two tiers apart"),
               "a dragonfly or a mesh is written by hand: docs/topologies.md");
      }
    }
  }

  void find_speeds() {
    std::map<std::string, int> hosts, trunks;
    for (const auto& [id, node] : network_.switches)
      for (const IbCable& cable : node.cables) ++(cable.to_adapter ? hosts : trunks)[cable.speed];
    const auto most = [](const std::map<std::string, int>& of) {
      return std::ranges::max_element(of, {}, [](const auto& one) { return one.second; })->first;
    };
    host_speed_ = most(hosts);
    trunk_speed_ = trunks.empty() ? host_speed_ : most(trunks);
    std::string known;
    for (const Speed& speed : kSpeeds) {
      known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", speed.part, speed.word);
      if (trunk_speed_.ends_with(speed.word)) part_ = speed.part;
    }
    if (part_.empty() || !gbps_of(host_speed_) || !gbps_of(trunk_speed_))
      refuse(fmt::format("most links to hosts are {}, between switches {}",
                         host_speed_.empty() ? "of no known speed" : host_speed_,
                         trunk_speed_.empty() ? "of no known speed" : trunk_speed_),
             "the catalogue has " + known);
    std::vector<std::string> slow;
    for (const auto& [id, node] : network_.switches) {
      for (const IbCable& cable : node.cables) {
        const std::string& usual = cable.to_adapter ? host_speed_ : trunk_speed_;
        if (cable.speed != usual)
          slow.push_back(fmt::format("{} port {}: {}", name(id), cable.port,
                                     cable.speed.empty() ? "?" : cable.speed));
      }
    }
    if (!slow.empty())
      note(
          fmt::format("{} of another speed than most ({} to hosts, {} between switches), taken "
                      "for one of it: {}",
                      counted(std::ssize(slow), "end"), host_speed_, trunk_speed_, listed(slow)));
  }

  static std::string listed(std::vector<std::string> all) {
    const std::size_t more = all.size() > kListed ? all.size() - kListed : 0;
    all.resize(all.size() - more);
    std::string out;
    for (const std::string& one : all) out += (out.empty() ? "" : ", ") + one;
    return more > 0 ? out + fmt::format(" and {} more", more) : out;
  }

  struct CableEnd {
    std::string device, leaf;
  };
  using Hosts = std::map<std::string, std::vector<CableEnd>>;

  /// "node0007 mlx5_3" -> host and device
  Hosts cables_of_hosts() {
    Hosts out;
    int nameless = 0;
    for (const auto& [id, node] : network_.switches) {
      for (const IbCable& cable : node.cables) {
        if (!cable.to_adapter) continue;
        const auto found = network_.adapters.find(cable.peer);
        std::string full = found == network_.adapters.end() ? cable.peer : found->second;
        if (full.find("Mellanox Technologies") != std::string::npos) {  // nobody named it
          full = cable.peer;
          ++nameless;
        }
        const std::size_t blank = full.find(' ');
        const std::string device = blank == std::string::npos ? "" : full.substr(blank + 1);
        out[full.substr(0, blank)].push_back({device, id});
      }
    }
    if (nameless > 0)
      note(fmt::format("{} without a host's name: each taken for a host",
                       counted(nameless, "adapter")));
    return out;
  }

  void find_hosts() {
    const Hosts hosts = cables_of_hosts();
    hosts_ = static_cast<int>(hosts.size());
    Counts cables;
    for (const auto& [host, ends] : hosts) ++cables[static_cast<int>(ends.size())];
    per_host_ = std::ranges::max_element(cables, {}, [](const auto& one) {
                  return one.second * 1000 + one.first;
                })->first;
    if (cables.size() > 1) {
      std::vector<std::string> fewer;
      for (const auto& [host, ends] : hosts)
        if (static_cast<int>(ends.size()) != per_host_)
          fewer.push_back(fmt::format("{} has {}", host, ends.size()));
      note(fmt::format("most hosts have {}: {}", counted(per_host_, "cable"), listed(fewer)));
    }
    find_rails(hosts);
  }

  /// Leaves are rails where each serves one device, and a host has each of its cables on another.
  void find_rails(const Hosts& hosts) {
    std::map<std::string, std::set<std::string>> devices_of_leaf;
    std::set<std::string> devices;
    int apart = 0, together = 0;
    for (const auto& [host, ends] : hosts) {
      std::set<std::string> leaves;
      for (const auto& [device, leaf] : ends) {
        leaves.insert(leaf);
        if (device.empty()) continue;
        devices_of_leaf[leaf].insert(device);
        devices.insert(device);
      }
      if (ends.size() < 2) continue;
      if (leaves.size() == ends.size()) ++apart;
      if (leaves.size() == 1) ++together;
    }
    const bool one_device = std::ranges::all_of(
        devices_of_leaf, [](const auto& leaf) { return leaf.second.size() == 1; });
    rails_ = per_host_ > 1 && apart > 0 && together == 0 && one_device;
    if (per_host_ == 1 && one_device && devices.size() > 1)
      note(
          "each leaf serves one device of its hosts, as rails do, but hosts show one cable only: "
          "written as fat_tree; shape: rail_optimised if there are more");
    if (per_host_ > 1 && !rails_ && together < hosts_)
      note(
          fmt::format("{} of {} hosts with several cables have them on one leaf, {} have each on "
                      "a leaf of its own, but leaves serve several devices: written as fat_tree, "
                      "where a node's NICs share a leaf",
                      together, hosts_, apart));
  }

  void count_leaves() {
    Counts down, up;
    std::vector<std::string> unlike;
    for (const auto& [id, t] : tiers_) {
      if (t != 0) continue;
      ++leaves_;
      int hosts = 0, uplinks = 0;
      for (const IbCable& cable : network_.switches.at(id).cables)
        ++(cable.to_adapter ? hosts : uplinks);
      ++down[hosts];
      ++up[uplinks];
      per_leaf_[id] = {hosts, uplinks};
    }
    leaf_down_ = down.rbegin()->first;
    leaf_up_ = std::ranges::max_element(up, {}, [](const auto& one) { return one.second; })->first;
    if (down.size() > 1)
      note(fmt::format("leaves have unequal numbers of hosts' ports ({}): written with {}",
                       text_of(down), leaf_down_));
    if (up.size() > 1) {
      for (const auto& [id, links] : per_leaf_)
        if (links.second != leaf_up_)
          unlike.push_back(fmt::format("{} has {}", name(id), links.second));
      note(fmt::format("leaves have unequal numbers of uplinks ({}): written with {}; {}",
                       text_of(up), leaf_up_, listed(unlike)));
    }
    if (leaves_ > 1 && leaf_up_ == 0) refuse("several leaves, and most have no uplink");
  }

  double oversubscription(double down, double up) {
    const double ratio = up > 0 ? down / up : 1;
    return std::max(1.0, ratio);
  }

  std::set<std::string> peers_above(const std::string& id) const {
    std::set<std::string> out;
    const auto found = network_.switches.find(id);
    if (found == network_.switches.end()) return out;
    for (const IbCable& cable : found->second.cables)
      if (!cable.to_adapter && tier(cable.peer) == tier(id) + 1) out.insert(cable.peer);
    return out;
  }

  /// By a leaf that stands for the pod.
  struct Pods {
    std::map<std::string, std::set<std::string>> spines, leaves;
  };

  /// Leaves that have spines in common.
  Pods joined_leaves() const {
    std::map<std::string, std::string> pod_of;  // spine -> a leaf that stands for its pod
    Pods out;
    for (const auto& [id, t] : tiers_) {
      if (t != 0) continue;
      std::set<std::string> joined = {id};
      const std::set<std::string> spines = peers_above(id);
      for (const std::string& spine : spines) {
        const auto found = pod_of.find(spine);
        if (found != pod_of.end()) joined.insert(found->second);
      }
      const std::string& pod = *joined.begin();
      for (const std::string& other : joined) {
        if (other == pod) continue;
        for (const std::string& spine : out.spines[other]) pod_of[spine] = pod;
        out.spines[pod].merge(out.spines[other]);
        out.leaves[pod].merge(out.leaves[other]);
        out.spines.erase(other);
        out.leaves.erase(other);
      }
      out.leaves[pod].insert(id);
      for (const std::string& spine : spines) {
        pod_of[spine] = pod;
        out.spines[pod].insert(spine);
      }
    }
    return out;
  }

  /// Each leaf of a pod must be joined to nearly all of its spines.
  void check_joined(const Pods& pods) {
    std::size_t pairs = 0, joined = 0;
    for (const auto& [pod, members] : pods.leaves) {
      if (const auto spines = pods.spines.find(pod); spines != pods.spines.end())
        pairs += members.size() * spines->second.size();
      for (const std::string& leaf : members) joined += peers_above(leaf).size();
    }
    if (static_cast<double>(joined) < kWholeTree * static_cast<double>(pairs))
      refuse(fmt::format("of {} pairs of a leaf and a spine, {} are joined: no fat-tree", pairs,
                         joined),
             "every leaf of a pod has a cable to each of its spines");
    if (joined < pairs)
      note(
          fmt::format("{} of {} pairs of a leaf and a spine are not joined: written as if all were",
                      pairs - joined, pairs));
  }

  void find_pods() {
    Pods pods = joined_leaves();
    check_joined(pods);
    Counts leaves, spines;
    for (const auto& [pod, members] : pods.leaves) {
      ++leaves[static_cast<int>(members.size())];
      ++spines[static_cast<int>(pods.spines[pod].size())];
    }
    pods_ = static_cast<int>(pods.leaves.size());
    if (pods_ == 1) {
      // With one pod there is nothing for a core to join.
      const auto idle = std::erase_if(tiers_, [](const auto& one) { return one.second == 2; });
      if (idle > 0)
        note(
            fmt::format("{} next to the spines show no host: taken for leaves that are empty or "
                        "not in the file",
                        idle == 1 ? std::string("1 switch") : fmt::format("{} switches", idle)));
    }
    pod_leaves_ = leaves.rbegin()->first;
    spines_ = spines.rbegin()->first;
    if (leaves.size() > 1)
      note(fmt::format("pods have unequal numbers of leaves ({}): written with {}", text_of(leaves),
                       pod_leaves_));
    if (spines.size() > 1)
      note(fmt::format("pods have unequal numbers of spines ({})", text_of(spines)));
    if (spines_ > 0 && leaf_up_ > spines_)
      note(
          fmt::format("a leaf has {} uplinks to {} spines: parallel cables are simulated as if to "
                      "{} spines",
                      leaf_up_, spines_, leaf_up_));
  }

  void count_cores() {
    Counts down, up;
    std::set<std::string> cores;
    for (const auto& [id, t] : tiers_) {
      if (t == 2) cores.insert(id);
      if (t != 1 || !network_.switches.contains(id)) continue;
      int below = 0, above = 0;
      for (const IbCable& cable : network_.switches.at(id).cables)
        ++(tier(cable.peer) == 0 ? below : above);
      ++down[below];
      ++up[above];
    }
    cores_ = static_cast<int>(cores.size());
    if (pods_ > 1 && cores_ == 0)
      refuse(fmt::format("the leaves fall apart into {} groups that no cable joins", pods_),
             "a file that is cut, or several fabrics: write one file for each");
    if (cores_ == 0) return;
    spine_down_ = down.rbegin()->first;
    spine_up_ = up.rbegin()->first;
    if (down.size() > 1 || up.size() > 1)
      note(fmt::format("spines are unlike: down {}, up {}; written with {} and {}", text_of(down),
                       text_of(up), spine_down_, spine_up_));
  }

  void tell_rest() {
    std::set<std::string> missing;
    for (const auto& [id, node] : network_.switches)
      for (const IbCable& cable : node.cables)
        if (!cable.to_adapter && !network_.switches.contains(cable.peer))
          missing.insert(cable.peer);
    if (!missing.empty())
      note(
          fmt::format("{} without a block of their own: the file is partial, their other cables "
                      "are not known",
                      missing.size() == 1 ? std::string("1 switch")
                                          : fmt::format("{} switches", missing.size())));
    if (!network_.unlinked.empty())
      note(fmt::format("ports without a link: {}", listed(network_.unlinked)));
    const auto radix = parts_.fabric_switches.at(part_).radix;
    if (leaf_down_ + leaf_up_ > radix)
      refuse(fmt::format("a leaf has {} cables, {} has {} ports", leaf_down_ + leaf_up_, part_,
                         radix));
  }

  void write() {
    const double host = *gbps_of(host_speed_), trunk = *gbps_of(trunk_speed_);
    // A node's NIC, or the port, is what a leaf has to carry away.
    const double leaf = oversubscription(leaf_down_ * host, leaf_up_ * trunk);
    if (leaf_up_ * trunk > leaf_down_ * host)
      note(
          fmt::format("leaves have more up ({:g} Gb/s) than down ({:g} Gb/s): written as "
                      "non-blocking",
                      leaf_up_ * trunk, leaf_down_ * host));
    const char* const shape = rails_ ? "rail_optimised" : "fat_tree";
    out_.summary = fmt::format(
        "{} of {}: {}, {} down and {} up, {:.3g}:1, {} on {} each", shape, part_,
        leaves_ == 1 ? std::string("1 leaf") : fmt::format("{} leaves", leaves_), leaf_down_,
        leaf_up_, leaf, counted(hosts_, "host"), counted(per_host_, "cable"));
    if (spines_ > 0) out_.summary += fmt::format(", {}", counted(spines_, "spine"));
    if (cores_ > 0)
      out_.summary += fmt::format(" in each of {} pods, {}", pods_, counted(cores_, "core"));
    std::string& yaml = out_.yaml;
    yaml = fmt::format("# Written by `fabricast import {} --write`.\n# {}\n", line_text(file_),
                       line_text(out_.summary));
    for (const std::string& one : out_.notes) yaml += fmt::format("# note: {}\n", line_text(one));
    yaml += fmt::format(
        "\nkind: fabric\nname: {}\nshape: {}\n\nsources:\n  cables: {{what: \"cables that "
        "ibnetdiscover saw\", url: {}}}\n\nleaf: {}\n",
        "imported", shape, yaml_text("file:" + file_), part_);
    const auto figure = [&](const char* key, const std::string& value, bool found) {
      yaml += fmt::format("{}: {{value: {}, source: {}}}\n", key, value,
                          found ? "cables, status: derived" : "model, status: assumed");
    };
    const auto run = [&](const char* key, const char* cable, const char* metres) {
      yaml += fmt::format(
          "{}:\n  cable: {}\n  length: {{value: {}, source: model, status: "
          "assumed}}\n",
          key, cable, metres);
    };
    figure("leaf_down", std::to_string(leaf_down_), true);
    figure("oversubscription", fmt::format("{}", leaf), true);
    figure("nodes_per_rack", "4", false);
    run("node_leaf", "copper", "5 m");
    run("leaf_spine", "optical", "30 m");
    if (cores_ == 0) return;
    figure("pod_leaves", std::to_string(pod_leaves_), true);
    figure("core_oversubscription", fmt::format("{}", oversubscription(spine_down_, spine_up_)),
           true);
    run("spine_core", "optical", "50 m");
  }

  const IbNetwork& network_;
  const PartsCatalogue& parts_;
  const std::string& file_;
  IbFabric out_;
  std::map<std::string, int> tiers_;
  std::map<std::string, std::pair<int, int>> per_leaf_;  ///< cables down, up
  std::string host_speed_, trunk_speed_, part_;
  int hosts_ = 0, per_host_ = 0, leaves_ = 0, leaf_down_ = 0, leaf_up_ = 0;
  int pods_ = 0, pod_leaves_ = 0, spines_ = 0, cores_ = 0, spine_down_ = 0, spine_up_ = 0;
  bool rails_ = false;
};

}  // namespace

IbFabric fabric_of(const IbNetwork& network, const PartsCatalogue& parts, const std::string& file) {
  return FabricFinder(network, parts, file).find();
}

}  // namespace fabricast
