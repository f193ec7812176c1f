#pragma once
// Rules for NCCL's example tuner plugin: where simulation says that another algorithm or protocol
// is faster than NCCL's choice by more than predictions are good for, that one; elsewhere what NCCL
// takes anyway, as the plugin gives calls without a rule a single channel.

#include <string>
#include <vector>

#include "models/io/tuners/tuner_csv.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

/// What a call of one size is to take.
struct TunerPick {
  Collective collective{};
  int nodes = 1, ranks = 1;
  Bytes size;                              ///< as message_size() counts
  Algorithm algorithm{}, own_algorithm{};  ///< own: NCCL's choice
  Protocol protocol{}, own_protocol{};
  int channels = 0;
  double time_us = 0, own_us = 0;  ///< simulated

  bool is_own() const { return algorithm == own_algorithm && protocol == own_protocol; }
};

struct TunerPlan {
  NcclVersion version;
  std::vector<TunerPick> picks;  ///< by nodes, collective, size
  std::vector<TunerRule> rules;  ///< they cover all sizes of these collectives

  bool changes_something() const;
};

/// How much better than its figure another choice may have to be: a tree between nodes (published
/// ones fill half of a NIC, docs/effects.md) 1.8, else kNear.
double doubt_of(Algorithm algorithm, int nodes);

/// For the tuned collectives of `config`, on each of its numbers of nodes; its sizes are not looked
/// at. With BenchConfig::budget larger calls are extrapolated over sizes, more of them where all
/// together take more than that. Throws Error for releases before 2.21, which call no plugin that
/// reads a file.
TunerPlan plan_tuner(const BenchConfig& config, const PartsCatalogue& parts,
                     const ForEach& for_each);

/// The file, with what it is for in comments.
std::string tuner_file(const TunerPlan& plan);

}  // namespace fabricast
