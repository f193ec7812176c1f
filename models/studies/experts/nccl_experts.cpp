#include "models/studies/experts/nccl_experts.hpp"

#include <algorithm>

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/period.hpp"
#include "models/nccl/run/simulation.hpp"

namespace fabricast {
namespace {

/// Messages from one rank to another; what no token goes along is none.
class Matrix {
 public:
  explicit Matrix(int ranks)
      : ranks_(ranks),
        bytes_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), 0) {}

  void add(int from, int to, std::int64_t bytes) {
    bytes_[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(to)] += bytes;
  }
  P2pTraffic traffic() && {
    for (std::int64_t& one : bytes_)
      if (one == 0) one = P2pTraffic::kNone;
    return {ranks_, std::move(bytes_)};
  }

 private:
  int ranks_;
  std::vector<std::int64_t> bytes_;
};

std::string kind_of(const Cluster& cluster, LinkId link) {
  if (cluster.is_fabric_link(link))
    return cluster.is_pool(link) || cluster.is_trunk(link) ? "fabric between switches" : "NIC";
  return cluster.node_link(link).kind == LinkKind::nvlink ? "NVLink" : "PCIe";
}

}  // namespace

std::vector<P2pTraffic> nccl_traffic(const TokenCounts& counts, std::int64_t token_bytes,
                                     EpMode mode, EpPhase phase) {
  const int ranks = counts.ranks(), gpus = counts.gpus_per_node();
  Matrix direct(ranks), between(ranks), inside(ranks);
  const auto add = [&](Matrix& matrix, int from, int to, std::int64_t tokens) {
    if (phase == EpPhase::combine) std::swap(from, to);
    matrix.add(from, to, tokens * token_bytes);
  };
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      add(direct, from, to, counts.pairs(from, to));
      add(inside, to / gpus * gpus + from % gpus, to, counts.to_rank(from, to));
    }
    for (int node = 0; node < counts.nodes(); ++node)
      add(between, from, node * gpus + from % gpus, counts.to_node(from, node));
  }
  std::vector<P2pTraffic> out;
  if (mode == EpMode::nccl) {
    out.push_back(std::move(direct).traffic());
    return out;
  }
  if (counts.nodes() > 1) out.push_back(std::move(between).traffic());
  out.push_back(std::move(inside).traffic());
  if (phase == EpPhase::combine) std::ranges::reverse(out);
  return out;
}

EpResult run_nccl_experts(const Site& site, const SoftwareCosts& software, const ExpertCall& call,
                          EpMode mode, EpPhase phase, const TokenCounts& counts, EpLaunch launch) {
  const std::int64_t bytes = token_bytes(call, phase);
  const Communicator communicator = site.make();
  const std::vector<P2pTraffic> calls = nccl_traffic(counts, bytes, mode, phase);
  EpResult out;
  Duration copying;
  for (const P2pTraffic& traffic : calls) {
    std::int64_t most = 1;
    for (int from = 0; from < traffic.ranks(); ++from)
      for (int to = 0; to < traffic.ranks(); ++to) most = std::max(most, traffic.bytes(from, to));
    DecidedCall decided = decide_call(communicator, {Collective::alltoall, most, 1});
    decided.run.traffic = &traffic;
    decided.run.launches_in_a_row = launch == EpLaunch::graph ? 0 : 1;
    SimulationOptions options;
    options.explain = true;
    const SimulationResult result = simulate(site.cluster, software, decided.run, options);
    copying += result.causes[static_cast<std::size_t>(Cause::worker)] +
               result.causes[static_cast<std::size_t>(Cause::slots)];
    const bool in_a_row = launch == EpLaunch::stream || launch == EpLaunch::graph;
    out.time += in_a_row ? time_in_a_row(site.cluster, software, decided.run) : result.time;
    (launch == EpLaunch::kernels ? out.fixed : out.launch) += result.launch;
    out.events += result.events;
    out.digest = out.digest * 31 + result.digest;
    for (const LinkLoad& load : result.links) {
      const std::string kind = kind_of(site.cluster, load.link);
      const double busy = load.utilisation * static_cast<double>(result.time.ps);
      const auto known = std::ranges::find(out.resources, kind, &EpResource::name);
      if (known == out.resources.end()) {
        out.resources.push_back({kind, site.cluster.link_name(load.link), busy});
      } else if (busy > known->share) {
        *known = {kind, site.cluster.link_name(load.link), busy};
      }
    }
  }
  const auto whole = static_cast<double>(out.time.ps);
  for (EpResource& one : out.resources) one.share = std::min(1.0, one.share / whole);
  out.resources.push_back({"NCCL's channels", "thread blocks of the last rank, and their slots",
                           std::min(1.0, static_cast<double>(copying.ps) / whole)});
  const Duration before = out.fixed + out.launch;
  out.resources.push_back({launch == EpLaunch::kernels ? "fixed costs" : "launch", "every rank",
                           std::min(1.0, static_cast<double>(before.ps) / whole)});
  std::ranges::stable_sort(out.resources, std::ranges::greater{}, &EpResource::share);
  out.counted_bytes =
      static_cast<double>(call.tokens) * call.choice.top_k * static_cast<double>(bytes);
  return out;
}

}  // namespace fabricast
