#include "models/studies/placement/seats.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

/// The most that any of them has: number and count.
std::pair<std::size_t, int> fullest(const std::vector<int>& of, std::size_t kinds) {
  std::vector<int> counts(kinds);
  for (const int one : of) ++counts[static_cast<std::size_t>(one)];
  const auto most = std::ranges::max_element(counts);
  return {static_cast<std::size_t>(most - counts.begin()), *most};
}

}  // namespace

SeatPlan::SeatPlan(const HostTree& tree, const std::string& file, const NodeGraph& node,
                   FabricConfig fabric)
    : tree_(tree), node_(node), fabric_(std::move(fabric)) {
  if (node_.nics().empty()) throw Error(fmt::format("{} has no NIC", node_.name()));
  if (node_.trays() > 1)
    throw Error("nodes of an NVLink domain are not placed yet",
                "--env NCCL_MNNVL_ENABLE=0 takes each server for a node of its own");
  find_leaves();
  fit_leaves(file);
  fit_pods(file);
}

void SeatPlan::find_leaves() {
  std::map<std::string, int> leaves, pods;
  for (const TreeHost& host : tree_.hosts) {
    const std::string pod = host.switches.size() > 1 ? host.switches[1] : "";
    const auto [leaf, is_new] = leaves.try_emplace(host.switches.front(), leaves.size());
    if (is_new) {
      const auto at = pods.try_emplace(pod, pods.size()).first;
      if (at->second == static_cast<int>(pod_names_.size())) pod_names_.push_back(pod);
      leaf_names_.push_back(host.switches.front());
      pod_of_.push_back(at->second);
    }
    leaf_of_.push_back(leaf->second);
  }
}

void SeatPlan::fit_leaves(const std::string& file) {
  const int nics = static_cast<int>(node_.nics().size());
  const int per_host = fabric_.kind == FabricConfig::Kind::rail_optimised ? 1 : nics;
  const auto [leaf, most] = fullest(leaf_of_, leaf_names_.size());
  if (fabric_.is_default) fabric_.leaf_down = most * per_host;
  hosts_per_leaf_ = fabric_.leaf_down / per_host;
  if (most > hosts_per_leaf_)
    throw Error(Place{file, 0, {}},
                fmt::format("{} has {} hosts, a leaf of fabric {} holds {} of {}",
                            leaf_names_[leaf], most, fabric_.name, hosts_per_leaf_, node_.name()),
                "a fabric whose leaf_down is larger; fabricast import --write makes one of "
                "ibnetdiscover's output");
}

void SeatPlan::fit_pods(const std::string& file) {
  const bool groups = fabric_.kind == FabricConfig::Kind::dragonfly;
  leaves_per_pod_ = groups ? fabric_.group_switches : fabric_.pod_leaves;
  if (pod_names_.size() > 1 && leaves_per_pod_ == 0)
    notes_.push_back(fmt::format(
        "{} has {} above the leaves, fabric {} two tiers: ways over several of them "
        "cost no more.",
        file, counted(static_cast<std::int64_t>(pod_names_.size()), "switch group"), fabric_.name));
  if (leaves_per_pod_ == 0) return;
  const auto [pod, most] = fullest(pod_of_, pod_names_.size());
  if (most > leaves_per_pod_)
    throw Error(Place{file, 0, {}},
                fmt::format("{} has {} leaves below it, a {} of fabric {} holds {}",
                            pod_names_[pod].empty() ? "the file" : pod_names_[pod], most,
                            groups ? "group" : "pod", fabric_.name, leaves_per_pod_),
                "a fabric with larger pods, or two tiers");
}

std::vector<int> SeatPlan::seats(const std::vector<int>& hosts) const {
  std::map<int, int> pods, leaves;  // by number in the tree
  std::map<int, int> leaves_of_pod, hosts_of_leaf;
  std::vector<int> out;
  for (const int host : hosts) {
    const int leaf = leaf_of(host);
    auto known = leaves.find(leaf);
    if (known == leaves.end()) {
      int number = static_cast<int>(leaves.size());
      if (leaves_per_pod_ > 0) {
        const int pod = pods.try_emplace(pod_of(leaf), static_cast<int>(pods.size())).first->second;
        number = pod * leaves_per_pod_ + leaves_of_pod[pod]++;
      }
      known = leaves.emplace(leaf, number).first;
    }
    out.push_back(known->second * hosts_per_leaf_ + hosts_of_leaf[leaf]++);
  }
  return out;
}

Cluster SeatPlan::cluster(const std::vector<int>& seats) const {
  return {node_, std::ranges::max(seats) + 1, fabric_};
}

}  // namespace fabricast
