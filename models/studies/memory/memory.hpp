#pragma once
// The study behind `fabricast memory`: what NCCL's communicators take of GPU and host memory, what
// for, and which variables make it less.

#include <optional>
#include <string>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/nccl/memory/communicator_memory.hpp"
#include "models/studies/shared/job.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast {

/// The question. Defaults are those of `fabricast memory`.
struct MemoryConfig : Job {
  std::vector<int> nodes;             ///< empty = what the topology says, else 1
  std::vector<NcclVersion> releases;  ///< empty = the job's
  std::vector<Collective> collectives = {
      Collective::all_reduce};  ///< that were called, without a layout; may be none
  /// Of those that the tuner chooses for. With a layout none = those of the step's calls.
  std::vector<Bytes> sizes;
  int communicators = 1;    ///< equal ones
  std::optional<int> rank;  ///< nothing: the one that takes most
  /// In place of one communicator of all ranks: one of each kind of group of this layout that has
  /// several ranks.
  std::optional<StepConfig> layout;
};

/// A kind of communicator of a job.
struct MemoryGroup {
  std::string name;  ///< "all", or by the layout: "tp", "dp", ...
  int ranks = 1, nodes = 1;
  int communicators = 1;  ///< that a rank is in
  CommunicatorUse use;
  CommunicatorMemory memory;
  int rank = 0;  ///< whose rows are told

  const RankMemory& told() const { return memory.ranks[static_cast<std::size_t>(rank)]; }
};

/// One release on one number of nodes.
struct MemoryCase {
  NcclVersion version;
  int nodes = 1, ranks = 1;  ///< hosts, as users count
  std::vector<MemoryGroup> groups;

  /// Over all groups and their communicators, of the ranks that are told.
  std::int64_t bytes(MemoryPlace place) const;
};

/// What the first case would take less, were one variable set.
struct MemorySaving {
  std::string variable, value;
  std::int64_t gpu = 0, host = 0;  ///< bytes saved; the host's below 0: it takes more there
};

struct MemoryResult {
  MemoryConfig config;
  std::string topology;
  std::vector<MemoryCase> cases;      ///< by number of nodes, then release
  std::vector<MemorySaving> savings;  ///< most of GPU memory first; each takes less of it, or as
                                      ///< much and less of the host's
  std::vector<std::string> notes;
};

/// Throws Error.
MemoryResult run_memory(const MemoryConfig& config, const PartsCatalogue& parts);

}  // namespace fabricast
