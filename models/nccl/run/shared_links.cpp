#include "models/nccl/run/shared_links.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

namespace {

// Enough for every channel to carry something: 64 of them take 64 KiB each.
constexpr std::int64_t kShortBytes = std::int64_t{4} << 20;

using Loads = std::vector<LinkLoad>;

std::vector<Loads> loads_of(const Cluster& cluster, const SoftwareCosts& software,
                            std::span<const CollectiveRun> runs) {
  std::vector<Loads> out;
  for (CollectiveRun run : runs) {
    const std::int64_t per = counts_per_rank(run.collective) ? run.members.ranks() : 1;
    run.count = std::clamp<std::int64_t>(kShortBytes / run.element_bytes / per, 1, run.count);
    out.push_back(simulate(cluster, software, run).links);
  }
  return out;
}

std::vector<Crowd> joined(const std::vector<Loads>& loads) {
  std::vector<std::size_t> first(loads.size());  // of the crowd that each is in
  std::iota(first.begin(), first.end(), 0);
  std::map<LinkId, std::size_t> user;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    for (const LinkLoad& load : loads[i]) {
      const std::size_t other = first[user.emplace(load.link, i).first->second], own = first[i];
      std::ranges::replace(first, std::max(own, other), std::min(own, other));
    }
  }
  std::map<std::size_t, Crowd> crowds;
  for (std::size_t i = 0; i < loads.size(); ++i) crowds[first[i]].push_back(i);
  std::vector<Crowd> out;
  for (auto& [number, crowd] : crowds) out.push_back(std::move(crowd));
  return out;
}

/// What a crowd does to links, whichever they are: users, rate, latency, bytes of each.
using Likeness = std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t>>;

Likeness likeness(const Cluster& cluster, const std::vector<Loads>& loads, const Crowd& crowd) {
  std::map<LinkId, std::pair<std::size_t, std::int64_t>> links;
  for (const std::size_t call : crowd) {
    for (const LinkLoad& load : loads[call]) {
      auto& [users, bytes] = links[load.link];
      ++users;
      bytes += load.carried.count;
    }
  }
  Likeness out = {{crowd.size(), 0, 0, 0}};
  for (const auto& [link, load] : links) {
    const ClusterLink is = cluster.link(link);
    out.emplace_back(load.first, is.rate.bytes_per_s, is.latency.ps, load.second);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::vector<Crowd> crowds_of(const Cluster& cluster, const SoftwareCosts& software,
                             std::span<const CollectiveRun> runs) {
  return joined(loads_of(cluster, software, runs));
}

std::vector<Crowd> unlike_crowds_of(const Cluster& cluster, const SoftwareCosts& software,
                                    std::span<const CollectiveRun> runs) {
  const std::vector<Loads> loads = loads_of(cluster, software, runs);
  std::vector<Crowd> out;
  std::set<Likeness> known;
  for (Crowd& crowd : joined(loads)) {
    if (known.insert(likeness(cluster, loads, crowd)).second) out.push_back(std::move(crowd));
  }
  return out;
}

}  // namespace fabricast
