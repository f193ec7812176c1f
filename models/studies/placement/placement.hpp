#pragma once
// The study behind `fabricast placement`: what the hosts that a scheduler gave a job cost its
// collectives and its training step, against the best hosts it could have given, and what a second
// job on the same switches takes from both.

#include <optional>
#include <string>
#include <vector>

#include "models/io/hosts/host_tree.hpp"
#include "models/io/report/report.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/types.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/job.hpp"
#include "models/studies/training/step.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// The most hosts of a job and its neighbour.
inline constexpr int kPlacedHostsMax = 4096;

/// A second job on the same fabric, from a file: hosts, and a collective or a layout.
struct Neighbour {
  std::string file, title;
  std::vector<std::string> hosts;  ///< in the order of ranks
  Collective collective = Collective::all_reduce;
  Bytes size;
  std::optional<StepConfig> step;  ///< in place of a collective
  Environment environment;         ///< its NCCL_IB_SL or NCCL_IB_TC is its class
  Place hosts_at, environment_at;  ///< in the file
};
/// `kind: neighbour`. Throws Error.
Neighbour parse_neighbour(const std::string& text, const std::string& file);

struct PlacementConfig : Job {
  HostTree tree;
  std::string tree_file;
  std::vector<std::string> hosts;  ///< of the job, in the order of ranks; empty = all of the tree
  std::vector<std::string> free;   ///< what it might have had besides; empty = all of the tree
  double oversubscription = 0;     ///< of leaves; 0 = the fabric's
  std::vector<Collective> collectives;
  std::vector<Bytes> sizes;
  std::optional<StepConfig> step;  ///< its topology, fabric and nodes are the job's
  std::optional<Neighbour> neighbour;
};

/// Hosts of the job on one leaf, or in one NVLink domain.
struct GroupShare {
  std::string name;
  int hosts = 0;
};

/// Hosts in the order of ranks, and what they cost.
struct Allocation {
  std::string name;  ///< "this", "this, by leaf" (or "by domain"), "best"
  std::vector<std::string> hosts;
  std::vector<GroupShare> leaves;   ///< in the order in which ranks come to them
  std::vector<GroupShare> domains;  ///< likewise; none where NVLink joins no hosts
  int crossings = 0;  ///< how often the next host is of another domain, or leaf, in a circle
  std::vector<double> times_us;  ///< by row
  std::optional<Duration> step;
};

struct PlacementRow {
  Collective collective{};
  Bytes size;
  int ranks = 0;
  std::string algorithm, protocol;
};

struct HostSwap {
  std::string out, in;
  std::string out_group, in_group;  ///< their domains, or leaves
};

/// What two jobs do to each other while both communicate.
struct NeighbourJob {
  std::string name;  ///< "this", or the neighbour's title
  std::string call;  ///< "1 GiB all_reduce"
  int hosts = 0;
  int priority = 0;              ///< of its class; the highest first
  double alone_us = 0;           ///< of one call
  double slowdown = 1;           ///< while both call
  std::optional<double> step_s;  ///< of a layout, alone
  double network_share = 0;      ///< of its step, that calls between nodes are under way
  double step_least_s = 0, step_most_s = 0;  ///< beside the other job
};

struct SharedTrunk {
  std::string link;
  double utilisation = 0;  ///< while both call
  double share = 0;        ///< of its bytes that are this job's
};

struct NeighbourResult {
  NeighbourJob self, other;
  std::vector<std::string> leaves;  ///< that both have hosts on
  std::vector<SharedTrunk> trunks;  ///< busiest first; none where classes are apart
  bool by_class = false;            ///< the jobs have different priorities
};

struct PlacementResult {
  PlacementConfig config;
  std::string topology, fabric;  ///< as they are called; of the fabric its summary
  int nodes = 0;                 ///< hosts
  bool by_domain = false;        ///< groups are NVLink domains, else leaves
  std::vector<PlacementRow> rows;
  std::vector<Allocation> allocations;  ///< this; this by leaf, if that is another; best, likewise
  std::vector<HostSwap> swaps;          ///< from this to the best
  int candidates = 0;                   ///< that were simulated
  std::optional<NeighbourResult> neighbour;
  std::vector<std::string> notes;

  const Allocation& best() const { return allocations.back(); }
};

/// Throws Error.
PlacementResult run_placement(const PlacementConfig& config, const PartsCatalogue& parts,
                              const ForEach& for_each = in_turn);

/// For people.
std::string placement_text(const PlacementResult& result);
/// Tables: rows (a line for each call and allocation), steps, allocations, swaps, neighbours,
/// trunks.
Report placement_report(const PlacementResult& result);

}  // namespace fabricast
