#pragma once
// The study behind `fabricast plan`: every layout of a model on a cluster, ranked.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/node/node_changes.hpp"
#include "models/studies/training/layout_wishes.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast {

/// A layout that does not fit, with what it would need of each GPU.
struct TooLarge {
  Layout layout;
  double bytes = 0;
};

/// A layout and those that take as long to the picosecond and need no less memory: other orders of
/// ranks, or shardings that move the same.
struct PlannedLayout {
  StepResult result;
  std::vector<Layout> twins;
};

struct Plan {
  StepConfig config;    ///< what was asked; its layout says what all layouts have in common
  std::string name;     ///< of a variation: "nodes=32, fabric=..."; "" without
  std::string refused;  ///< why there is nothing else, if so
  std::vector<PlannedLayout> best;  ///< shortest first
  std::vector<TooLarge> too_large;  ///< smallest first
  int layouts = 0;                  ///< that are possible at all, and wanted
  int simulated = 0;                ///< the others cannot be among the best: bounds show it
  double headroom = 0;              ///< share of memory that stays free
};

/// Published layouts of one machine and release are in the order of their predictions in four of
/// five pairs where these are this far apart, and below in 61 % of pairs (up to 5 %) to 74 %
/// (docs/steps.md, `validate steps`).
inline constexpr double kLayoutError = 0.10;
inline constexpr int kOrderedLeastPercent = 61, kOrderedMostPercent = 74;
/// How many of the best take less than this much longer than the first one.
std::size_t equal_within_error(const Plan& plan);

struct PlanLimits {
  int keep = 10;
  bool exhaustive = false;  ///< simulate what bounds rule out as well
  double headroom = 0;      ///< share of a GPU's memory that stays free
  /// Slices of a collective, or of those that share links, that are simulated; of more it is told
  /// by smaller ones.
  std::uint64_t slices_most = CollectiveTimes::kSlicesMost;
  LayoutWishes wishes = {};
};

/// "8%", up to 99. Throws Error.
double parse_headroom(std::string_view text);

/// All TP x CP x PP x EP x DP, model chunks, micro-batches, exchanges of CP, TP inside experts and
/// shardings (ZeRO-1, ZeRO-2, FSDP, HSDP) that go together.
/// Recomputation is the least that fits: more of it never makes a step shorter.
std::vector<Layout> possible_layouts(const Transformer& model, const Layout& common,
                                     int gpus_per_node = 8);

/// `bounds` and `collectives` are of the same cluster. Throws Error when nothing is possible.
Plan plan_step(const StepConfig& config, const Framework& framework, const GpuCompute& gpu,
               CollectiveTimes& bounds, CollectiveTimes& collectives, const PlanLimits& limits,
               const std::function<void(double)>& progress = {}, const ForEach& for_each = in_turn);

/// The same from names.
Plan plan_step(const StepConfig& config, const PartsCatalogue& parts, const PlanLimits& limits,
               const std::function<void(double)>& progress = {}, const ForEach& for_each = in_turn);

/// What vary() changes, but variables of NCCL.
std::span<const std::string_view> vary_keys();
/// "key=a,b,c": topology, fabric, nodes, nics (of a node), oversubscription (of
/// leaves), bucket (of gradients) or a variable of NCCL.
/// One config for each value and each of `configs`. Throws Error.
struct NamedConfig {
  std::string name;
  StepConfig config;
  NodeChanges nodes = {};  ///< variations of the node itself, whatever the topology
};
std::vector<NamedConfig> vary(const std::vector<NamedConfig>& configs, std::string_view variation);

/// Plans that no other one beats in both time and cost of a step, fastest first.
std::vector<const StepResult*> pareto_front(const std::vector<Plan>& plans);

/// "TP 4 PP 2 x 5 DP 8 micro-batch 1 zero1"
std::string short_layout(const Layout& layout);
std::string plan_text(const std::vector<Plan>& plans);
/// Steps of one layout on variations, a line each.
struct NamedStep {
  std::string name;
  std::string refused;  ///< why there is no result, if so
  StepResult result;
};
// What is refused has a line that says why. Throws the first Error where all of them are.
std::vector<NamedStep> run_variations(const std::vector<NamedConfig>& configs,
                                      const PartsCatalogue& parts,
                                      const ForEach& for_each = in_turn);
std::vector<Plan> run_plans(const std::vector<NamedConfig>& configs, const PartsCatalogue& parts,
                            const PlanLimits& limits,
                            const std::function<void(double)>& progress = {},
                            const ForEach& for_each = in_turn);
std::string variations_text(const std::vector<NamedStep>& steps);

}  // namespace fabricast
