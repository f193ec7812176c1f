#pragma once
// The study behind `fabricast bench`: nccl-tests for hardware one does not have. Config, code and
// result; the text of it is bench_text.hpp.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/engines/engine_run.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/memo.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/registered/registered_run.hpp"
#include "models/nccl/run/bounds.hpp"
#include "models/studies/bench/fault.hpp"
#include "models/studies/bench/network.hpp"
#include "models/studies/bench/split.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// The most that --nodes and `nodes` take.
inline constexpr int kNodesMax = 1 << 20;

/// The question. Defaults are those of `fabricast bench`.
struct BenchConfig : Job {
  std::vector<int> nodes;    ///< empty = what the topology says, else 1
  int gpus_per_process = 1;  ///< nccl-tests' -t times -g
  int gpus_per_thread = 1;   ///< nccl-tests' -g: their launches follow one another
  bool cuda_graph = false;   ///< nccl-tests' -G: one launch for all calls
  std::vector<Collective> collectives = {Collective::all_reduce};
  std::vector<Bytes> sizes;        ///< as nccl-tests counts them
  std::string datatype = "float";  ///< nccl-tests' name
  std::string op = "sum";          ///< nccl-tests' name; all take equal time
  int root = 0;                    ///< rank
  int calls = 1;                   ///< nccl-tests' -m: so many in one group
  bool explain = false;
  bool one_shot = false;  ///< the time of a lone call, not of one in a row
  NetworkConfig network;  ///< the rung, routes, background traffic
  bool fold = true;       ///< false: simulate every rank and every event
  bool explain_fold = false;
  /// CPU time that a row may take: what takes more gets bounds instead, where any are known. None:
  /// everything is simulated, however long it takes.
  std::optional<Duration> budget;
  bool routing_note = true;       ///< simulates the last row of each block with other routing, too
  std::optional<Split> split;     ///< several groups at the same time; else of environment
  std::vector<FaultSpec> faults;  ///< what is broken or slow; NCCL does not know
  /// GPUs for which the host launches each call, one after another.
  int launches_in_a_row() const { return cuda_graph ? 0 : gpus_per_thread; }

  /// Whose all-reduce kernels run where it takes them; none: NCCL alone.
  std::optional<CallingEngine> engine;
  std::optional<AskedRegistration> registered;  ///< nccl-tests' -R 1 and 2
  const CustomAlgorithm* custom = nullptr;      ///< runs instead of NCCL's own; outlives the result
  std::optional<TimelineFilter> trace;  ///< one row only: keep who did what when, of these ranks
};

/// nccl-tests' datatype names and their bytes; throws Error with the nearest name.
int datatype_bytes(const std::string& name);
std::vector<std::string> datatype_names();
// Throw Error when it does not fit.
void check_message(Bytes size);
void check_root(const BenchConfig& config, int ranks);
void check_processes(const BenchConfig& config, int gpus_per_node);
/// What is too large for memory is refused before it is built: ranks to be simulated.
void check_blocks(int ranks, int channels, std::string_view why_not_folded);
/// Elements of a message of `size` bytes, as nccl-tests rounds them.
std::int64_t element_count(Collective collective, Bytes size, int element_bytes, int ranks);
/// Those of a size that nccl-tests printed: it has been rounded. Old releases send all-to-alls that
/// are no multiples of 16 bytes. What is no multiple of all ranks' elements was not printed but
/// asked for.
std::int64_t printed_count(Collective collective, Bytes size, int element_bytes, int ranks);
/// "all_reduce,all_gather": nccl-tests' names, each once; throws Error with the nearest name.
std::vector<Collective> parse_collectives(std::string_view text);

/// Groups that ran the row's collective at the same time.
struct SplitOutcome {
  int groups = 0;
  std::uint64_t slowest = 0;  ///< its colour
  Duration fastest;           ///< time of the fastest group
  Duration alone;             ///< of the slowest group without the others
  std::size_t number = 0;     ///< of the slowest group among the block's
};

struct BenchRow {
  Collective collective{};
  int nodes = 1, ranks = 1;
  Bytes requested;         ///< as asked for
  Bytes size;              ///< what is simulated: the count is rounded down to whole elements
  std::int64_t count = 0;  ///< NCCL's meaning
  DecidedCall decided;
  Duration host;                       ///< that a thread of the host launches the group
  SimulationResult result;             ///< of a lone call, or group of them
  std::optional<Duration> in_a_row;    ///< period of calls in a row, or groups; none: not asked for
  std::optional<TimeBounds> bounds;    ///< of `result`, where that was too much to simulate
  std::optional<Timeline> timeline;    ///< with BenchConfig::trace
  std::optional<Duration> healthy;     ///< with BenchConfig::faults: group_time() without them
  std::optional<SplitOutcome> split;   ///< with a split: the row is of the slowest group
  std::optional<EngineChoice> engine;  ///< with BenchConfig::engine
  std::optional<RegisteredChoice> registered;  ///< with BenchConfig::registered

  /// A kernel of the engine runs; `decided` is what NCCL would have taken.
  bool is_engine() const { return engine && engine->kernel != EngineKernel::nccl; }
  /// A kernel of NCCL's for registered buffers does, or copy engines do.
  bool is_registered() const { return registered && registered->replaces(); }
  /// One of the two, on GPUs that NVLink joins.
  bool is_peer_kernel() const { return is_engine() || is_registered(); }

  /// NCCL's spelling; "none" for groups of sends and receives, which have none.
  std::string_view algorithm() const {
    if (is_engine()) return kEngineKernelWords[engine->kernel];
    if (registered && registered->path == RegisteredPath::symmetric)
      return kSymmetricKernelWords[registered->kernel];
    if (registered && registered->path == RegisteredPath::copy_engine) return "CopyEngine";
    if (decided.run.custom) return decided.run.custom->name;
    return is_tuned(collective) ? to_text(decided.run.algorithm) : "none";
  }
  /// NCCL's; "none" of an engine's kernel, a symmetric one, and copies.
  std::string_view protocol() const {
    const bool is_nvls = registered && registered->path == RegisteredPath::nvls;
    return is_peer_kernel() && !is_nvls ? "none" : to_text(decided.run.protocol);
  }
  bool completes() const { return !result.losses.gave_up; }

  /// Thread blocks.
  int working_channels() const {
    if (is_registered()) return registered->blocks;
    return is_engine() ? blocks_of(engine->kernel, size) : fabricast::working_channels(decided.run);
  }

  /// What nccl-tests measures of a group of calls; of a lone one if that was asked for.
  Duration group_time() const { return in_a_row.value_or(result.time); }
  /// The time of one call of the group; nccl-tests divides too. What does not complete has no time.
  Duration call_time() const { return {group_time().ps / decided.run.calls}; }
  double algbw() const { return completes() ? algbw_GBps(size, call_time()) : 0; }
  double busbw() const {
    return completes() ? busbw_GBps(collective, ranks, size, call_time()) : 0;
  }
};

/// What was asked on how many nodes, and the cluster it ran on.
struct BenchBlock {
  int nodes = 1;
  Cluster cluster;
  std::vector<SplitGroup> groups;  ///< with a split
  std::vector<BenchRow> rows;      ///< by collective, then size
  NetworkPlan network;
};

struct BenchResult {
  BenchConfig config;
  std::vector<BenchBlock> blocks;
  std::vector<std::string> notes;  ///< what the reader should know; one sentence each
  MemoCounts simulations;

  /// All rows do.
  bool completes() const;
};

/// What is told while a bench runs, from any thread, one call at a time.
struct BenchWatch {
  std::function<void(double)> progress = {};  ///< the share done, 0..1
  /// After each simulated call; what it is given makes the rows that there are.
  std::function<void(const std::function<BenchResult()>&)> so_far = {};
};

/// Runs it all: calls side by side, by `for_each`. Throws Error.
BenchResult run_bench(const BenchConfig& config, const PartsCatalogue& parts,
                      const BenchWatch& watch = {}, const ForEach& for_each = in_turn);

}  // namespace fabricast
