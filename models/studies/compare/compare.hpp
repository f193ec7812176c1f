#pragma once
// The study behind `fabricast compare`: machines that could be bought beside each other. Every
// combination of node type, NICs, fabric, SHARP and release of NCCL: bus bandwidth, time, a
// training step, and what the fabric costs that makes it.

#include <optional>
#include <string>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/costs/costs.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast {

struct CompareAsk {
  // Every value with every other; empty = what the step's layout or the topology says.
  std::vector<std::string> topologies, fabrics;
  std::vector<int> nics;  ///< of a node
  std::vector<bool> sharp;
  std::vector<NcclVersion> versions;
  std::vector<int> nodes;
  std::vector<Collective> collectives = {Collective::all_reduce};
  std::vector<Bytes> sizes;
  std::optional<StepConfig> step;  ///< a training step on each as well
  Environment environment;
  int gpus_per_node = 0;
  std::string parts;
  Prices prices;
};

/// One combination, with so many nodes.
struct ComparedMachine {
  std::string name;  ///< what tells it apart: "dgx-h100:nics=4, fabric-ndr-rail"
  Job job;
  int nics = 0;  ///< of a node
  int nodes = 0, gpus = 0;
  std::string fabric;   ///< its name; the default's where none was given
  std::string refused;  ///< why there is nothing else; "" = there is
  std::optional<BenchResult> bench;
  std::optional<StepResult> step;
  PricedBill bill;
  /// GPUs and fabric; nothing: no price of the GPU is known. A rented GPU's price has a network's
  /// share in it already: a note says so.
  std::optional<double> usd_per_hour;
};

struct CompareResult {
  CompareAsk ask;
  std::vector<ComparedMachine> machines;  ///< by combination, then nodes
  std::vector<std::string> notes;
};

/// Of each combination; their NICs are part of the topology's name.
std::vector<Job> compared_jobs(const CompareAsk& ask);

/// So many combinations at most.
inline constexpr std::size_t kComparedMax = 1024;

/// Throws Error: a name that is not known, too many combinations, or all are refused.
CompareResult run_compare(const CompareAsk& ask, const PartsCatalogue& parts,
                          const ForEach& for_each);

/// For people.
std::string compare_text(const CompareResult& result, const BandTable& bands);
/// Tables: `rows`, and `bill`, what is to be ordered for each machine.
Report compare_report(const CompareResult& result, const BandTable& bands);

}  // namespace fabricast
