#pragma once
// The study behind `fabricast cutover`: every algorithm and protocol of one collective, simulated
// over sizes and numbers of nodes, beside what NCCL chooses. Who is fastest where, at which sizes
// that changes, and what NCCL's own choice costs. Texts of it: cutover_text.hpp.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/engines/engine_costs.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/registered/registered_run.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// The question. Defaults are those of `fabricast cutover`.
struct CutoverConfig : Job {
  std::vector<int> nodes;                          ///< empty = what the topology says, else 1
  Collective collective = Collective::all_reduce;  ///< a tuned one, of float32
  std::vector<Bytes> sizes;                        ///< ascending
  std::vector<const CustomAlgorithm*> custom;      ///< beside NCCL's own; they outlive the result
  std::vector<CallingEngine> engines;              ///< whose kernels run beside them
  std::optional<AskedRegistration> registered;     ///< and NCCL's for registered buffers
  /// What would take more slices is extrapolated, from smaller sizes or numbers of nodes.
  std::int64_t slices_max = 1'000'000;
  /// Of CPU time, counted as BenchConfig::budget is: half of it for the cells, the rest for
  /// cutovers between them. What is above is extrapolated, too. Nothing: as long as it takes.
  std::optional<Duration> budget{};
  // What a variant of the fabric changes.
  double oversubscription = 0;  ///< of the leaves; 0 = as the fabric has it
  double latency_factor = 1;    ///< of every switch
};

/// An algorithm in one protocol.
struct Contender {
  Algorithm algorithm{};
  Protocol protocol{};
  const CustomAlgorithm* custom = nullptr;  ///< then `algorithm` means nothing
  std::optional<EngineRelease> engine{};    ///< nor then
  Registration registered{};                ///< nor with any
  bool operator==(const Contender&) const = default;
};
/// "Ring LL128"; algorithms of one protocol without it: "NVLSTree".
std::string to_text(const Contender& contender);

struct CutoverTime {
  double time_us = 0;
  bool extrapolated = false;
  std::string_view kernel{};  ///< of an engine, or of registered buffers
};

/// One size on one number of nodes. Not there where it rounds down to nothing.
struct CutoverCell {
  Bytes size;  ///< what is simulated: the count is rounded down to whole elements
  std::int64_t count = 0;
  std::vector<std::optional<CutoverTime>> times;  ///< by CutoverResult::contenders
  std::optional<std::size_t> fastest, chosen;     ///< numbers of contenders; chosen: by NCCL

  /// What NCCL's choice costs: its time over the best one, less 1.
  double loss() const;
};

/// From `size` on `to` is ahead of `from`.
struct Cutover {
  std::size_t from = 0, to = 0;  ///< numbers of contenders
  Bytes size;
  /// Between these the two are nearer to each other than predictions are good for (kNear).
  Bytes first, last;
};

/// Ratios of predicted times of two algorithms are off by so much in the middle of published pairs
/// (docs/validate.md).
inline constexpr double kNear = 0.10;
/// All calls are of float.
inline constexpr int kFloatBytes = 4;

struct CutoverColumn {
  int nodes = 1, ranks = 1;
  std::vector<std::optional<CutoverCell>> cells;  ///< by CutoverConfig::sizes
  std::vector<Cutover> fastest, chosen;           ///< simulated, to 2 %; NCCL's, to the element
};

struct CutoverResult {
  CutoverConfig config;
  std::string topology;
  std::vector<Contender> contenders;   ///< in NCCL's order; each runs in one cell at least
  std::vector<CutoverColumn> columns;  ///< by number of nodes
  std::vector<std::string> notes;
};

/// Throws Error.
CutoverResult run_cutover(const CutoverConfig& config, const PartsCatalogue& parts,
                          const ForEach& for_each);

/// One thing changed about the cluster, and the answer then.
struct CutoverVariant {
  std::string name;
  CutoverResult result;
};

/// Half of the NICs, SHARP, leaves oversubscribed 2:1, switches twice as slow to answer: those that
/// change something here.
std::vector<CutoverVariant> cutover_sensitivity(const CutoverConfig& config,
                                                const PartsCatalogue& parts,
                                                const ForEach& for_each);

}  // namespace fabricast
