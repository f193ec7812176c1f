#pragma once
// The study behind `fabricast decide`: what NCCL would choose for each call, and why. Nothing is
// simulated; times are those NCCL's own tuning model predicts. Views of it: decide_text.hpp,
// decide_explain.hpp, decide_tables.hpp.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/engines/engine_choice.hpp"
#include "models/hardware/cluster/cluster.hpp"
#include "models/hardware/parts/parts.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/nccl_communicator.hpp"
#include "models/nccl/registered/registration.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// The question. Defaults are those of `fabricast decide`.
struct DecideConfig : Job {
  std::vector<int> nodes;  ///< empty = what the topology says, else 1
  std::vector<Collective> collectives = {Collective::all_reduce};
  std::vector<Bytes> sizes;            ///< as nccl-tests counts them
  bool explain = false;                ///< find what each variable changes, too
  Registration registered{};           ///< nccl-tests' -R
  std::vector<EngineRelease> engines;  ///< whose all-reduces are asked for, too; of bfloat16
};

/// What NCCL does with one call of float32. Without an algorithm it refuses the call, and what
/// follows `decision` is 0.
struct DecideRow {
  Collective collective{};
  Bytes requested;         ///< as asked for
  Bytes size;              ///< what NCCL sees: the count is rounded down, as element_count() does
  std::int64_t count = 0;  ///< NCCL's meaning; always > 0
  TunerDecision decision;
  int channels = 0;              ///< that get work: as many as the decision's, or fewer
  int threads = 0;               ///< per channel
  std::int64_t chunk_bytes = 0;  ///< 2.22+: of a middle channel, or the first if there are <= two
  std::optional<RegisteredChoice> registered;  ///< with DecideConfig::registered
  std::vector<EngineChoice> engines;           ///< by DecideConfig::engines
};

/// What the same call would be if one variable were not set.
struct VariableEffect {
  std::string name, value;
  std::optional<DecideRow> without;  ///< nothing: it could not be decided; `problem` says why
  std::string problem;
  bool changes_ways = false;  ///< what is simulated of the row's call takes others

  bool acts_on(const DecideRow& row) const;
};

/// All calls on one number of nodes, by collective, then size. Calls without a whole element per
/// rank, for which NCCL does nothing, are left out.
struct DecideBlock {
  NcclCommunicator communicator;
  std::vector<DecideRow> rows;
  /// A few of the nodes on their fabric, to ask what would be simulated; nothing where the topology
  /// says too little for that.
  std::optional<Cluster> sample;
  /// By row: of each variable of the environment that NCCL reads here. With DecideConfig::explain.
  std::vector<std::vector<VariableEffect>> effects;
};

struct DecideResult {
  DecideConfig config;
  std::string topology;             ///< the preset's name, or the file's without folder and ending
  std::vector<DecideBlock> blocks;  ///< by number of nodes, as asked for
  std::vector<std::string> notes;   ///< what the reader should know; one sentence each
};

/// Throws Error.
DecideResult run_decide(const DecideConfig& config, const PartsCatalogue& parts);

/// How the communicator of so many nodes is made.
NcclCommunicatorConfig communicator_config(const Job& job, const DescribedNodes& nodes,
                                           const Environment& environment);

/// One call on a communicator that is there already. Microseconds. REQUIRES: a tuned collective.
/// Nothing when there is no whole element for each rank.
std::optional<DecideRow> decide_row(const NcclCommunicator& communicator, Collective collective,
                                    Bytes size);

/// A stretch of sizes with one choice.
struct DecideSegment {
  Bytes first;  ///< exact, to the element; of the first segment: the least size asked for
  std::optional<Algorithm> algorithm;  ///< nothing: refused
  Protocol protocol{};
};

/// Where choices of one collective give way to others between its least and its largest row.
/// Between two neighbouring rows of equal choice nothing is looked for. REQUIRES: `rows` of one
/// collective on that communicator, ascending, not empty.
std::vector<DecideSegment> decide_segments(const NcclCommunicator& communicator,
                                           const std::vector<const DecideRow*>& rows);

}  // namespace fabricast
