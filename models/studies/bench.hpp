#pragma once
// The study behind `fabricast bench`: nccl-tests for hardware one does not have. Config, code and
// result; the text of it is bench_text.hpp.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/load.hpp"
#include "models/nccl/communicator.hpp"
#include "models/studies/fault.hpp"

namespace fabricast {

/// Of --nodes and `nodes`.
inline constexpr int kNodesMax = 1 << 20;

/// The question. Defaults are those of `fabricast bench`.
struct BenchConfig {
  std::string topology;
  std::string fabric;        ///< "" = the topology's own, else the default
  std::vector<int> nodes;    ///< empty = what the topology says, else 1
  int gpus_per_node = 0;     ///< 0 = all
  bool sharp = false;        ///< the fabric offers SHARP: a CollNet plugin serves all NICs
  int gpus_per_process = 1;  ///< nccl-tests' -t times -g: their launches serialise
  NcclVersion version = kNccl2_21_5;
  Environment environment;
  std::vector<Collective> collectives = {Collective::all_reduce};
  std::vector<Bytes> sizes;        ///< as nccl-tests counts them
  std::string datatype = "float";  ///< nccl-tests' name
  std::string op = "sum";          ///< nccl-tests' name; all take equal time
  int root = 0;                    ///< rank
  bool explain = false;
  bool fold = true;  ///< false: simulate every rank and every event
  bool explain_fold = false;
  std::vector<FaultSpec> faults;        ///< what is broken or slow; NCCL does not know
  std::optional<TimelineFilter> trace;  ///< one row only: keep who did what when, of these ranks
};

/// nccl-tests' datatype names and their bytes; throws Error with the nearest name.
int datatype_bytes(const std::string& name);
/// "all_reduce,all_gather": nccl-tests' names, each once; throws Error with the nearest name.
std::vector<Collective> parse_collectives(std::string_view text);

struct BenchRow {
  Collective collective{};
  int nodes = 1, ranks = 1;
  Bytes requested;         ///< as asked for
  Bytes size;              ///< what is simulated: the count is rounded down to whole elements
  std::int64_t count = 0;  ///< NCCL's meaning
  DecidedCall decided;
  SimulationResult result;
  std::optional<Timeline> timeline;  ///< with BenchConfig::trace
  std::optional<Duration> healthy;   ///< with BenchConfig::faults: the time without them

  /// NCCL's spelling; "none" for groups of sends and receives, which have none.
  std::string_view algorithm() const {
    return is_tuned(collective) ? to_text(decided.run.algorithm) : "none";
  }
  bool completes() const { return !result.losses.gave_up; }

  double algbw() const { return completes() ? algbw_GBps(size, result.time) : 0; }
  double busbw() const {
    return completes() ? busbw_GBps(collective, ranks, size, result.time) : 0;
  }
};

/// For people and files: times are shown in microseconds.
constexpr double microseconds_of(Duration time) { return static_cast<double>(time.ps) / 1e6; }

/// What was asked on how many nodes, and the cluster it ran on.
struct BenchBlock {
  int nodes = 1;
  Cluster cluster;
  std::vector<BenchRow> rows;  ///< by collective, then size
};

struct BenchResult {
  BenchConfig config;
  std::vector<BenchBlock> blocks;
  std::vector<std::string> notes;  ///< what the reader should know; one sentence each
};

/// Runs it all. `progress` gets the share done, 0..1. Throws Error.
BenchResult run_bench(const BenchConfig& config, const PartsCatalogue& parts,
                      const std::function<void(double)>& progress = {});

}  // namespace fabricast
