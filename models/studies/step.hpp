#pragma once
// The study behind `fabricast step`: what one optimizer step takes with a model, a layout and a
// cluster, and where its time and memory go. The text of it is step_text.cpp.

#include <string>
#include <vector>

#include "models/hardware/cluster.hpp"
#include "models/io/load.hpp"
#include "models/io/load_workloads.hpp"
#include "models/nccl/env.hpp"
#include "models/nccl/memo.hpp"
#include "models/nccl/types.hpp"
#include "models/training/step.hpp"

namespace fabricast {

struct StepConfig {
  std::string title;
  Transformer model;
  std::string framework = "megatron";
  std::string topology;
  std::string fabric;  ///< "" = the topology's own, else the default
  int nodes = 1;
  int gpus_per_node = 0;  ///< 0 = all
  NcclVersion version = kNccl2_21_5;
  Environment environment;
  Layout layout;  ///< its gpus follow from nodes
};

struct StepResult {
  StepConfig config;  ///< with the layout as it was run
  Framework framework;
  GpuCompute gpu;
  StepTime step;
  MemoryPlan memory;
  double tokens_per_s = 0;  ///< of all GPUs
  double model_flops = 0;   ///< of a step, what a causal mask hides left out
  double mfu = 0;           ///< model_flops over time, GPUs and the peak of the precision, 0..1
  MemoCounts collectives;
  std::vector<std::string> notes;
};

/// Everything but the cluster, whose collectives may be shared by many steps.
StepResult run_step(const StepConfig& config, const Framework& framework, const GpuCompute& gpu,
                    CollectiveTimes& collectives);

/// The same from names. Throws Error.
StepResult run_step(const StepConfig& config, const PartsCatalogue& parts);

/// For people.
std::string step_text(const StepResult& result);
std::string step_json(const StepResult& result);

/// The layout file of `fabricast step`.
StepConfig load_step(const std::string& path);
StepConfig parse_step(const std::string& text, const std::string& file);

/// The nodes to load: those of the job, or where NVLink joins them those of one domain. All domains
/// of a job hold as many nodes, as many as fit: of 64 in racks of 18 each holds 16.
TopologyRequest step_request(const StepConfig& config, const PartsCatalogue& parts);

/// The part of the catalogues that a node's GPUs are. Throws Error when workloads/gpus.yaml does
/// not have it.
const GpuCompute& compute_of(const ComputeCatalogue& catalogue, const Cluster& cluster);

}  // namespace fabricast
