#pragma once
// Hosts and the switches above them, as schedulers and their tools say it: Slurm's topology.conf,
// topology.yaml and SLURM_TOPOLOGY_ADDR, topograph, nodes and topologies of Kubernetes (KAI, Kueue,
// Volcano), ibnetdiscover. docs/placement.md lists the formats with their sources.

#include <map>
#include <string>
#include <vector>

namespace fabricast {

struct TreeHost {
  std::string name;
  std::vector<std::string> switches;  ///< the nearest first: leaf, spine, core
  std::string domain;                 ///< of NVLink, that it is in; "" = not said
};

struct HostTree {
  std::string kind;             ///< "Slurm topology.conf"
  std::vector<TreeHost> hosts;  ///< each once, in the order of the file
  std::vector<std::string>
      notes;  ///< what was not read, or was taken for something; a sentence each

  /// Its number among the hosts, by its name or the part of either name before the first dot; -1 =
  /// it is not there. Throws Error when that part is several hosts'.
  int find(const std::string& name) const;
  /// Of the hosts' names, for the nearest one.
  std::vector<std::string> names() const;

 private:
  mutable std::map<std::string, int> by_name_;
  mutable std::map<std::string, std::vector<int>> by_short_name_;
};

/// `labels`: keys of node labels that name a host's switches, the nearest first, in place of those
/// that are known; for nodes of Kubernetes only. Throws Error with the file: of no kind that is
/// known, broken, a host or a switch that is told of twice in different ways, no host.
HostTree parse_host_tree(const std::string& text, const std::string& file,
                         const std::vector<std::string>& labels = {});

/// Labels of nodes that are known, families with the nearest switch first.
const std::vector<std::vector<std::string>>& known_switch_labels();

}  // namespace fabricast
