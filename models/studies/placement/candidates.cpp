#include "models/studies/placement/candidates.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace fabricast {

namespace {

constexpr int kGroupNumbersMax = 6;  ///< numbers of groups that are tried, the fewest first

/// A leaf or NVLink domain with what is open in it.
struct OpenGroup {
  int number = 0, parent = 0;
  std::vector<int> hosts;  ///< those of the job now first
  int own = 0;

  int size() const { return static_cast<int>(hosts.size()); }
};

std::vector<OpenGroup> open_groups(const SeatPlan& plan, const std::vector<int>& now,
                                   const std::vector<int>& open) {
  std::map<int, OpenGroup> by_group;
  const std::set<int> own(now.begin(), now.end());
  for (const bool mine : {true, false})
    for (const int host : mine ? now : open) {
      if (!mine && own.contains(host)) continue;
      OpenGroup& group = by_group[plan.group_of(host)];
      group.hosts.push_back(host);
      group.own += mine ? 1 : 0;
    }
  std::vector<OpenGroup> out;
  for (auto& [number, group] : by_group) {
    group.number = number;
    group.parent = plan.parent_of(number);
    out.push_back(std::move(group));
  }
  return out;
}

/// How many hosts of each of these groups; empty where they hold fewer. Even: as equal as what is
/// open allows.
std::vector<int> counts_of(const std::vector<OpenGroup>& groups, int wanted, bool even) {
  std::vector<int> out(groups.size());
  int left = wanted;
  if (!even) {
    for (std::size_t i = 0; i < groups.size(); ++i)
      left -= out[i] = std::min(left, groups[i].size());
  } else {
    for (bool grows = true; left > 0 && grows;) {
      grows = false;
      for (std::size_t i = 0; i < groups.size() && left > 0; ++i) {
        if (out[i] == groups[i].size()) continue;
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
        all_(open_groups(plan, now, open)),
        plan_(plan) {}

  std::vector<std::vector<int>> find() {
    std::set<int> parents;
    for (const OpenGroup& group : all_) parents.insert(group.parent);
    for (const int parent : parents) {  // a parent alone, where it holds them
      std::vector<OpenGroup> inside = all_;
      std::erase_if(inside, [&](const OpenGroup& group) { return group.parent != parent; });
      if (parents.size() > 1) add(inside);
    }
    add(all_);
    return std::move(out_);
  }

 private:
  void add(std::vector<OpenGroup> groups) {
    std::map<int, int> room;
    for (const OpenGroup& group : groups) room[group.parent] += group.size();
    const auto rank = [&](const OpenGroup& group) {
      return std::pair(-room[group.parent], group.parent);
    };
    // Leaves that hold most first; of equal ones those with most of the job's own.
    const auto by_room = [&](const OpenGroup& a, const OpenGroup& b) {
      return std::tuple(rank(a), -a.size(), -a.own, a.number) <
             std::tuple(rank(b), -b.size(), -b.own, b.number);
    };
    // Leaves that the job has most of first.
    const auto by_own = [&](const OpenGroup& a, const OpenGroup& b) {
      return std::tuple(rank(a), -a.own, -a.size(), a.number) <
             std::tuple(rank(b), -b.own, -b.size(), b.number);
    };
    const auto try_all = [&](auto order) {
      std::ranges::sort(groups, order);
      int tried = 0;
      for (std::size_t n = 1; n <= groups.size() && tried < kGroupNumbersMax; ++n) {
        const std::vector<OpenGroup> some(groups.begin(),
                                          groups.begin() + static_cast<std::ptrdiff_t>(n));
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

  void take(const std::vector<OpenGroup>& groups, const std::vector<int>& counts) {
    std::vector<int> hosts;
    for (std::size_t i = 0; i < groups.size(); ++i)
      hosts.insert(hosts.end(), groups[i].hosts.begin(), groups[i].hosts.begin() + counts[i]);
    const Seating seating = plan_.seat(hosts);
    const auto known =
        std::ranges::find_if(seen_, [&](const Seating& one) { return one.is_alike(seating); });
    if (known == seen_.end()) {
      seen_.push_back(seating);
      out_.push_back(std::move(hosts));
    } else if (std::vector<int>& same = out_[static_cast<std::size_t>(known - seen_.begin())];
               kept(hosts) > kept(same)) {
      same = std::move(hosts);
    }
  }

  /// Hosts of the job now.
  std::ptrdiff_t kept(const std::vector<int>& hosts) const {
    return std::ranges::count_if(hosts, [&](int host) { return now_.contains(host); });
  }

  int wanted_;
  std::set<int> now_;
  std::vector<OpenGroup> all_;
  const SeatPlan& plan_;
  std::vector<Seating> seen_;
  std::vector<std::vector<int>> out_;
};

}  // namespace

std::vector<std::vector<int>> candidate_hosts(const SeatPlan& plan, const std::vector<int>& now,
                                              const std::vector<int>& open) {
  return Finder(plan, now, open).find();
}

std::vector<int> sorted_by_group(const SeatPlan& plan, const std::vector<int>& hosts) {
  std::map<int, int> first;  // place of a group, those of a parent together
  std::map<int, int> parents;
  for (const int host : hosts) {
    parents.try_emplace(plan.parent_of(plan.group_of(host)), static_cast<int>(parents.size()));
    first.try_emplace(plan.group_of(host), static_cast<int>(first.size()));
  }
  std::vector<int> out = hosts;
  std::ranges::stable_sort(out, {}, [&](int host) {
    const int group = plan.group_of(host);
    return std::pair(parents.at(plan.parent_of(group)), first.at(group));
  });
  return out;
}

int group_crossings(const SeatPlan& plan, const std::vector<int>& hosts) {
  int out = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    out += plan.group_of(hosts[i]) != plan.group_of(hosts[(i + 1) % hosts.size()]) ? 1 : 0;
  return out;
}

}  // namespace fabricast
