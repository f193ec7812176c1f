#pragma once
// The study behind `fabricast plan`: every layout of a model on a cluster, ranked.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/studies/step.hpp"

namespace fabricast {

/// A layout that does not fit, with what it would need of each GPU.
struct TooLarge {
  Layout layout;
  double bytes = 0;
};

struct Plan {
  StepConfig config;  ///< what was asked; its layout says what all layouts have in common
  std::string name;   ///< of a variation: "nodes=32, fabric=..."; "" without
  std::vector<StepResult> best;     ///< shortest first
  std::vector<TooLarge> too_large;  ///< smallest first
  int layouts = 0;                  ///< that are possible at all
  int simulated = 0;                ///< the others cannot be among the best: bounds show it
};

struct PlanLimits {
  int keep = 10;
  bool exhaustive = false;  ///< simulate what bounds rule out as well
};

/// All TP x CP x PP x EP x DP, model chunks, micro-batches, exchanges of CP, TP inside experts and
/// shardings (ZeRO-1, ZeRO-2, FSDP, HSDP) that go together.
/// Recomputation is the least that fits: more of it never makes a step shorter.
std::vector<Layout> possible_layouts(const Transformer& model, const Layout& common,
                                     int gpus_per_node = 8);

/// `bounds` and `collectives` are of the same cluster. Throws Error when nothing is possible.
Plan plan_step(const StepConfig& config, const Framework& framework, const GpuCompute& gpu,
               CollectiveTimes& bounds, CollectiveTimes& collectives, const PlanLimits& limits,
               const std::function<void(double)>& progress = {});

/// The same from names.
Plan plan_step(const StepConfig& config, const PartsCatalogue& parts, const PlanLimits& limits,
               const std::function<void(double)>& progress = {});

/// "key=a,b,c": topology, fabric, nodes, nics (of a node, by NCCL_IB_HCA), oversubscription (of
/// leaves), bucket (of gradients) or a variable of NCCL.
/// One config for each value and each of `configs`. Throws Error.
struct NamedConfig {
  std::string name;
  StepConfig config;
};
std::vector<NamedConfig> vary(const std::vector<NamedConfig>& configs, std::string_view variation,
                              const PartsCatalogue& parts);

/// Of plans by time and cost of a step: those that no other one beats in both, fastest first.
std::vector<const StepResult*> pareto_front(const std::vector<Plan>& plans);

/// "TP 4 PP 2 x 5 DP 8 micro-batch 1 zero1"
std::string short_layout(const Layout& layout);
std::string plan_text(const std::vector<Plan>& plans);
/// Steps of one layout on variations, a line each.
struct NamedStep {
  std::string name;
  StepResult result;
};
std::string variations_text(const std::vector<NamedStep>& steps);
std::string plan_json(const std::vector<Plan>& plans);

}  // namespace fabricast
