#pragma once
// The study behind `fabricast step`: what one optimizer step takes with a model, a layout and a
// cluster, and where its time and memory go. The text of it is step_text.cpp.

#include <optional>
#include <string>
#include <vector>

#include "models/experts/expert_wish.hpp"
#include "models/hardware/cluster/cluster.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_step_fits.hpp"
#include "models/nccl/base/memo.hpp"
#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/site.hpp"
#include "models/training/step/step.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

struct StepConfig : Job {
  std::string title;
  Transformer model;
  std::string framework = "megatron";
  std::optional<ExpertWish> ep_kernels;  ///< nothing: NCCL's all-to-all, or the framework's
  double oversubscription = 0;           ///< of leaves; 0 = the fabric's
  int nodes = 1;
  Layout layout;                 ///< its gpus follow from nodes
  std::vector<RankRange> ranks;  ///< where they are; none = in order
  double price = 0;              ///< USD per GPU and hour; 0 = workloads/prices.yaml
  double run_tokens = 0;         ///< of the whole run; 0 = not asked
  bool trace = false;            ///< keep the spans
  Place place{};                 ///< of its file, for what is wrong with it on its cluster
  bool placement_costs = true;   ///< simulate what groups that leave a node or a rack cost
};

/// In USD.
struct StepCost {
  double gpu_hour = 0;
  std::string as_of;  ///< of the default price; "" = the user's own
  double step = 0, million_tokens = 0;
  double run = 0;  ///< 0 = not asked
};

/// What the framework keeps in memory.
MemoryRules memory_rules(const Framework& framework);
/// By that, with the communicators of NCCL.
MemoryPlan step_memory(const StepSetup& setup, CollectiveTimes& collectives);

struct StepResult;
/// By what is known of such steps (workloads/step_fits.yaml).
StepBand step_band(const StepResult& result);

struct StepResult {
  StepConfig config;  ///< with the layout as it was run
  Framework framework;
  GpuCompute gpu;
  StepTime step;
  MemoryPlan memory;
  double tokens_per_s = 0;  ///< of all GPUs
  double model_flops = 0;   ///< of a step, what a causal mask hides left out
  double mfu = 0;           ///< model_flops over time, GPUs and the peak of the precision, 0..1
  std::optional<StepCost> cost;  ///< nothing where the price is not known
  std::vector<StepSpan> spans;   ///< with config.trace
  MemoCounts collectives;
  std::vector<std::string> notes;
};

/// What a layout takes of `ep_kernels`. Throws Error where they do not go with it.
void check_expert_kernels(const StepConfig& config, const Layout& layout,
                          CollectiveTimes& collectives);

/// The collectives of a step on `site`. All of them outlive it.
CollectiveTimes collectives_of(const StepConfig& config, const Site& site,
                               const PartsCatalogue& parts, CollectiveTimes::Estimate estimate);
/// The layout's GPUs follow from the nodes. Throws Error for an unknown framework.
StepConfig sized(const StepConfig& config, const Cluster& cluster);

/// Everything but the cluster, whose collectives may be shared by many steps.
StepResult run_step(const StepConfig& config, const Framework& framework, const GpuCompute& gpu,
                    CollectiveTimes& collectives);

/// Notes on TP groups that leave a node and pairs of stages that leave a rack, each with what the
/// step takes less where they do not.
void add_placement_costs(StepResult& result, CollectiveTimes& collectives);

/// The same from names, with collectives side by side. Throws Error.
StepResult run_step(const StepConfig& config, const PartsCatalogue& parts,
                    const ForEach& for_each = in_turn);

/// The same on a site that was loaded, and may have been changed since.
StepResult run_step(const StepConfig& config, const Site& site, const PartsCatalogue& parts,
                    const ForEach& for_each);

/// Finds the collectives of steps with these layouts side by side, for run_step().
void prepare_steps(const StepConfig& config, const std::vector<Layout>& layouts,
                   const Framework& framework, const GpuCompute& gpu, CollectiveTimes& collectives,
                   const ForEach& for_each);

/// The one that the layout names, with its gradients in 16 bits where master weights are not fp32.
Framework framework_of(const StepConfig& config);

/// For people.
std::string step_text(const StepResult& result);
/// "TP 4, CP 2, PP 4 x 5 chunks, DP 2; zero1, bf16, recompute none"
std::string layout_line(const Layout& layout);
/// A time with three digits that say something.
std::string time_text(double seconds);
/// For Perfetto: stages as processes, compute and exchange as threads. REQUIRES: config.trace.
std::string step_trace(const StepResult& result);

/// Whether a layout file says all that a step needs, or leaves open what `plan` chooses:
/// micro_batch may be missing.
enum class LayoutFile : std::uint8_t { whole, open };
/// The layout file of `fabricast step`.
StepConfig load_step(const std::string& path, LayoutFile kind = LayoutFile::whole);
StepConfig parse_step(const std::string& text, const std::string& file,
                      LayoutFile kind = LayoutFile::whole);

/// The nodes of the job, or where NVLink joins them those of one domain, with the oversubscription
/// that was asked for. All domains of a job hold as many nodes, as many as fit: of 64 in racks of
/// 18 each holds 16. Throws Error.
Site load_site(const StepConfig& config, const PartsCatalogue& parts);

/// The part of the catalogues that a node's GPUs are. Throws Error when workloads/gpus.yaml does
/// not have it.
const GpuCompute& compute_of(const ComputeCatalogue& catalogue, const Cluster& cluster);

}  // namespace fabricast
