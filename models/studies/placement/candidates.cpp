#include "models/studies/placement/candidates.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace fabricast {

namespace {

constexpr int kLeafNumbersMax = 6;  ///< numbers of leaves that are tried, the fewest first

/// A leaf with what is open on it.
struct OpenLeaf {
  int leaf = 0, pod = 0;
  std::vector<int> hosts;  ///< those of the job now first
  int own = 0;

  int size() const { return static_cast<int>(hosts.size()); }
};

std::vector<OpenLeaf> open_leaves(const SeatPlan& plan, const std::vector<int>& now,
                                  const std::vector<int>& open) {
  std::map<int, OpenLeaf> by_leaf;
  const std::set<int> own(now.begin(), now.end());
  for (const bool mine : {true, false})
    for (const int host : mine ? now : open) {
      if (!mine && own.contains(host)) continue;
      OpenLeaf& leaf = by_leaf[plan.leaf_of(host)];
      leaf.hosts.push_back(host);
      leaf.own += mine ? 1 : 0;
    }
  std::vector<OpenLeaf> out;
  for (auto& [number, leaf] : by_leaf) {
    leaf.leaf = number;
    leaf.pod = plan.pod_of(number);
    out.push_back(std::move(leaf));
  }
  return out;
}

/// How many hosts of each of these leaves; empty where they hold fewer. Even: as equal as what is
/// open allows.
std::vector<int> counts_of(const std::vector<OpenLeaf>& leaves, int wanted, bool even) {
  std::vector<int> out(leaves.size());
  int left = wanted;
  if (!even) {
    for (std::size_t i = 0; i < leaves.size(); ++i)
      left -= out[i] = std::min(left, leaves[i].size());
  } else {
    for (bool grows = true; left > 0 && grows;) {
      grows = false;
      for (std::size_t i = 0; i < leaves.size() && left > 0; ++i) {
        if (out[i] == leaves[i].size()) continue;
        ++out[i];
        --left;
        grows = true;
      }
    }
  }
  return left == 0 ? out : std::vector<int>{};
}

class Finder {
 public:
  Finder(const SeatPlan& plan, const std::vector<int>& now, const std::vector<int>& open)
      : wanted_(static_cast<int>(now.size())),
        now_(now.begin(), now.end()),
        all_(open_leaves(plan, now, open)),
        plan_(plan) {}

  std::vector<std::vector<int>> find() {
    std::set<int> pods;
    for (const OpenLeaf& leaf : all_) pods.insert(leaf.pod);
    for (const int pod : pods) {  // a pod alone, where it holds them
      std::vector<OpenLeaf> inside = all_;
      std::erase_if(inside, [&](const OpenLeaf& leaf) { return leaf.pod != pod; });
      if (pods.size() > 1) add(inside);
    }
    add(all_);
    return std::move(out_);
  }

 private:
  void add(std::vector<OpenLeaf> leaves) {
    std::map<int, int> room;
    for (const OpenLeaf& leaf : leaves) room[leaf.pod] += leaf.size();
    const auto rank = [&](const OpenLeaf& leaf) { return std::pair(-room[leaf.pod], leaf.pod); };
    // Leaves that hold most first; of equal ones those with most of the job's own.
    const auto by_room = [&](const OpenLeaf& a, const OpenLeaf& b) {
      return std::tuple(rank(a), -a.size(), -a.own, a.leaf) <
             std::tuple(rank(b), -b.size(), -b.own, b.leaf);
    };
    // Leaves that the job has most of first.
    const auto by_own = [&](const OpenLeaf& a, const OpenLeaf& b) {
      return std::tuple(rank(a), -a.own, -a.size(), a.leaf) <
             std::tuple(rank(b), -b.own, -b.size(), b.leaf);
    };
    const auto try_all = [&](auto order) {
      std::ranges::sort(leaves, order);
      int tried = 0;
      for (std::size_t n = 1; n <= leaves.size() && tried < kLeafNumbersMax; ++n) {
        const std::vector<OpenLeaf> some(leaves.begin(),
                                         leaves.begin() + static_cast<std::ptrdiff_t>(n));
        const std::vector<int> even = counts_of(some, wanted_, true);
        if (even.empty()) continue;
        ++tried;
        take(some, even);
        if (tried == 1) take(some, counts_of(some, wanted_, false));
      }
    };
    try_all(by_room);
    try_all(by_own);
  }

  void take(const std::vector<OpenLeaf>& leaves, const std::vector<int>& counts) {
    std::vector<int> hosts;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      hosts.insert(hosts.end(), leaves[i].hosts.begin(), leaves[i].hosts.begin() + counts[i]);
    const auto [at, is_new] = seen_.try_emplace(plan_.seats(hosts), out_.size());
    if (is_new) {
      out_.push_back(std::move(hosts));
    } else if (kept(hosts) > kept(out_[at->second])) {
      out_[at->second] = std::move(hosts);
    }
  }

  /// Hosts of the job now.
  std::ptrdiff_t kept(const std::vector<int>& hosts) const {
    return std::ranges::count_if(hosts, [&](int host) { return now_.contains(host); });
  }

  int wanted_;
  std::set<int> now_;
  std::vector<OpenLeaf> all_;
  const SeatPlan& plan_;
  std::map<std::vector<int>, std::size_t> seen_;  ///< by seats, which of them
  std::vector<std::vector<int>> out_;
};

}  // namespace

std::vector<std::vector<int>> candidate_hosts(const SeatPlan& plan, const std::vector<int>& now,
                                              const std::vector<int>& open) {
  return Finder(plan, now, open).find();
}

std::vector<int> sorted_by_leaf(const SeatPlan& plan, const std::vector<int>& hosts) {
  std::map<int, int> first;  // place of a leaf, pods together
  std::map<int, int> pods;
  for (const int host : hosts) {
    pods.try_emplace(plan.pod_of(plan.leaf_of(host)), static_cast<int>(pods.size()));
    first.try_emplace(plan.leaf_of(host), static_cast<int>(first.size()));
  }
  std::vector<int> out = hosts;
  std::ranges::stable_sort(out, {}, [&](int host) {
    const int leaf = plan.leaf_of(host);
    return std::pair(pods.at(plan.pod_of(leaf)), first.at(leaf));
  });
  return out;
}

int leaf_crossings(const SeatPlan& plan, const std::vector<int>& hosts) {
  int out = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    out += plan.leaf_of(hosts[i]) != plan.leaf_of(hosts[(i + 1) % hosts.size()]) ? 1 : 0;
  return out;
}

}  // namespace fabricast
