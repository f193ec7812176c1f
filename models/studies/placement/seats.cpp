#include "models/studies/placement/seats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

/// Numbers leaves (or what is joined to one) as they come, those of a pod one after another.
class LeafNumbers {
 public:
  explicit LeafNumbers(int leaves_per_pod) : leaves_per_pod_(leaves_per_pod) {}

  int of(int leaf, int pod) {
    const auto known = leaves_.find(leaf);
    if (known != leaves_.end()) return known->second;
    int number = static_cast<int>(leaves_.size());
    if (leaves_per_pod_ > 0) {
      const int at = pods_.try_emplace(pod, static_cast<int>(pods_.size())).first->second;
      number = at * leaves_per_pod_ + leaves_of_pod_[pod]++;
    }
    return leaves_.emplace(leaf, number).first->second;
  }

 private:
  int leaves_per_pod_;  ///< 0 = no pods
  std::map<int, int> leaves_, pods_, leaves_of_pod_;
};

/// Hosts of a job in a domain, by their rank.
struct Share {
  int domain = 0;
  std::vector<int> ranks;
  int count() const { return static_cast<int>(ranks.size()); }
};

/// In the order in which ranks come to them.
std::vector<Share> shares_of(const SeatPlan& plan, const std::vector<int>& hosts) {
  std::vector<Share> out;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const int domain = plan.group_of(hosts[rank]);
    auto known = std::ranges::find(out, domain, &Share::domain);
    if (known == out.end()) known = out.insert(out.end(), Share{domain, {}});
    known->ranks.push_back(static_cast<int>(rank));
  }
  return out;
}

/// Hosts of each node that stands for a domain, or for a piece of one.
int trays_of(const std::vector<Share>& shares, Uneven uneven) {
  int out = shares.front().count();
  for (const Share& one : shares)
    out = uneven == Uneven::as_least ? std::min(out, one.count()) : std::gcd(out, one.count());
  return out;
}

}  // namespace

bool Seating::is_alike(const Seating& other) const {
  return trays == other.trays && domains_per_leaf == other.domains_per_leaf &&
         std::ranges::equal(jobs, other.jobs,
                            [](const Seats& a, const Seats& b) { return a.is_alike(b); });
}

SeatPlan::SeatPlan(const HostTree& tree, const std::string& file, HostNodes& nodes,
                   FabricConfig fabric)
    : tree_(tree), nodes_(nodes), fabric_(std::move(fabric)) {
  const NodeGraph& host = nodes_.host().cluster.node();
  if (host.nics().empty()) throw Error(fmt::format("{} has no NIC", host.name()));
  find_leaves();
  fit_leaves(file);
  fit_pods(file);
  if (nodes_.most() > 1) find_domains(file);
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

int SeatPlan::ports_of_host() const {
  return fabric_.kind == FabricConfig::Kind::rail_optimised
             ? 1
             : static_cast<int>(nodes_.host().cluster.node().nics().size());
}

void SeatPlan::fit_leaves(const std::string& file) {
  const auto [leaf, most] = fullest(leaf_of_, leaf_names_.size());
  if (fabric_.is_default) fabric_.leaf_down = most * ports_of_host();
  hosts_per_leaf_ = fabric_.leaf_down / ports_of_host();
  if (most > hosts_per_leaf_)
    throw Error(
        Place{file, 0, {}},
        fmt::format("{} has {} hosts, a leaf of fabric {} holds {} of {}", leaf_names_[leaf], most,
                    fabric_.name, hosts_per_leaf_, nodes_.host().cluster.node().name()),
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

void SeatPlan::find_domains(const std::string& file) {
  const std::string& node = nodes_.host().cluster.node().name();
  const auto bare =
      std::ranges::count_if(tree_.hosts, [](const TreeHost& host) { return host.domain.empty(); });
  if (bare == std::ssize(tree_.hosts))
    throw Error(Place{file, 0, {}},
                fmt::format("says nothing of NVLink domains, and NCCL takes the {}'s hosts in one "
                            "domain for one node",
                            node),
                "blocks of Slurm (BlockName=rack1 Nodes=...) or the label nvidia.com/gpu.clique "
                "say it; --env NCCL_MNNVL_ENABLE=0 takes each host for a node of its own");
  if (bare > 0)
    notes_.push_back(fmt::format("{} of {} in no NVLink domain: each is taken for one of its own.",
                                 bare, counted(std::ssize(tree_.hosts), "host")));
  std::map<std::string, int> domains;
  for (const TreeHost& host : tree_.hosts) {
    const std::string& name = host.domain.empty() ? host.name : host.domain;
    const auto [domain, is_new] =
        domains.try_emplace((host.domain.empty() ? "host " : "domain ") + name, domains.size());
    if (is_new) domain_names_.push_back(name);
    domain_of_.push_back(domain->second);
  }
  const auto [domain, most] = fullest(domain_of_, domain_names_.size());
  if (most > nodes_.most())
    throw Error(Place{file, 0, {}},
                fmt::format("{} has {} hosts, an NVLink domain of {} at most {}",
                            domain_names_[domain], most, node, nodes_.most()),
                "a block is one domain here: name the racks that it is made of");
  join_leaves();
}

/// A domain whose hosts hang on several leaves makes one of them.
void SeatPlan::join_leaves() {
  std::vector<int> with(leaf_names_.size());
  std::iota(with.begin(), with.end(), 0);
  const auto first_of = [&](int leaf) {
    while (with[static_cast<std::size_t>(leaf)] != leaf)
      leaf = with[static_cast<std::size_t>(leaf)];
    return leaf;
  };
  std::vector<int> leaf_of_domain(domain_names_.size(), -1);
  for (std::size_t host = 0; host < domain_of_.size(); ++host) {
    int& leaf = leaf_of_domain[static_cast<std::size_t>(domain_of_[host])];
    if (leaf < 0) leaf = leaf_of_[host];
    const auto [lower, upper] = std::minmax({first_of(leaf), first_of(leaf_of_[host])});
    with[static_cast<std::size_t>(upper)] = lower;
  }
  for (const int leaf : leaf_of_domain) leaf_of_domain_.push_back(first_of(leaf));
  std::ptrdiff_t joined = 0;
  for (std::size_t leaf = 0; leaf < with.size(); ++leaf)
    joined += with[leaf] == static_cast<int>(leaf) ? 1 : 0;
  leaves_joined_ = static_cast<double>(with.size()) / static_cast<double>(joined);
  if (leaves_joined_ > 1)
    notes_.push_back(fmt::format(
        "NVLink domains have hosts on several leaves: such leaves count as one with the uplinks of "
        "{:.3g}.",
        leaves_joined_));
}

Seating SeatPlan::seat(const std::vector<JobHosts>& jobs, Uneven uneven) const {
  if (by_domain()) return seat_domains(jobs, uneven);
  std::vector<int> all;
  for (const JobHosts& job : jobs) all.insert(all.end(), job.hosts.begin(), job.hosts.end());
  const std::vector<int> seats = host_seats(all);
  Seating out;
  auto next = seats.begin();
  for (const JobHosts& job : jobs) {
    const std::vector<int> own(next, next + std::ssize(job.hosts));
    out.jobs.push_back({own, 1, own});
    next += std::ssize(job.hosts);
  }
  return out;
}

/// Nodes are numbered leaf by leaf, with as much room on each as the fullest leaf needs.
Seating SeatPlan::seat_domains(const std::vector<JobHosts>& jobs, Uneven uneven) const {
  struct Piece {
    int leaf = 0, place = 0;  ///< on its leaf
  };
  Seating out;
  LeafNumbers leaves(leaves_per_pod_);
  std::map<int, int> taken;  // by leaf
  std::vector<std::vector<Piece>> pieces;
  for (const JobHosts& job : jobs) {
    const std::vector<Share> shares = shares_of(*this, job.hosts);
    Seats seats{{}, job.joins ? trays_of(shares, uneven) : 1, std::vector<int>(job.hosts.size())};
    pieces.emplace_back();
    for (const Share& one : shares) {
      const int leaf = leaf_of_domain_[static_cast<std::size_t>(one.domain)];
      const int number = leaves.of(leaf, pod_of(leaf));
      const int count = std::max<int>(
          1, static_cast<int>(std::lround(static_cast<double>(one.count()) / seats.trays)));
      for (int i = 0; i < one.count(); ++i)  // number of the piece, until nodes are numbered
        if (!seats.hosts.empty())
          seats.hosts[static_cast<std::size_t>(one.ranks[static_cast<std::size_t>(i)])] =
              static_cast<int>(pieces.back().size()) * seats.trays + i;
      if (count * seats.trays != one.count()) seats.hosts.clear();
      for (int i = 0; i < count; ++i) pieces.back().push_back({number, taken[number]++});
    }
    out.trays = std::max(out.trays, seats.trays);
    out.jobs.push_back(std::move(seats));
  }
  for (const auto& [leaf, count] : taken)
    out.domains_per_leaf = std::max(out.domains_per_leaf, count);
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    Seats& seats = out.jobs[job];
    for (const Piece& one : pieces[job])
      seats.nodes.push_back(one.leaf * out.domains_per_leaf + one.place);
    for (int& host : seats.hosts)
      host = seats.nodes[static_cast<std::size_t>(host / seats.trays)] * out.trays +
             host % seats.trays;
  }
  return out;
}

/// Nodes of a plain cluster, by rank of host.
std::vector<int> SeatPlan::host_seats(const std::vector<int>& hosts) const {
  LeafNumbers leaves(leaves_per_pod_);
  std::map<int, int> hosts_of_leaf;
  std::vector<int> out;
  for (const int host : hosts) {
    const int leaf = leaf_of(host);
    out.push_back(leaves.of(leaf, pod_of(leaf)) * hosts_per_leaf_ + hosts_of_leaf[leaf]++);
  }
  return out;
}

/// As many ports down as these take, as many up as the fabric's leaves have.
FabricConfig SeatPlan::with_leaves_of(int domains, int trays) const {
  constexpr int kUnchecked = 1 << 20;  // fabric_summary() checked what there is
  FabricConfig out = fabric_;
  out.leaf_down = domains * trays * ports_of_host();
  out.oversubscription *= out.leaf_down / (fabric_.leaf_down * leaves_joined_);
  out.leaf.radix = out.spine.radix = out.core.radix = kUnchecked;
  return out;
}

Cluster SeatPlan::cluster(const Seating& seating) const {
  int last = 0;
  for (const Seats& job : seating.jobs) last = std::max(last, std::ranges::max(job.nodes));
  return {nodes_.of(seating.trays).cluster.node(), last + 1,
          by_domain() ? with_leaves_of(seating.domains_per_leaf, seating.trays) : fabric_};
}

std::string SeatPlan::fabric_summary(const std::vector<int>& hosts) const {
  const NodeGraph& host = nodes_.host().cluster.node();
  return Cluster(host, std::ranges::max(host_seats(hosts)) + 1, fabric_).fabric_summary();
}

}  // namespace fabricast
