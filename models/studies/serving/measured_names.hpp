#pragma once
// Names of models and machines in tables of measured serving runs.

#include <string>
#include <string_view>

#include "models/studies/training/step.hpp"

namespace fabricast {

/// Why a row is passed over.
struct PassedRow {
  std::string why;
};

struct MeasuredSystem {
  std::string_view name, topology;
  int gpus_per_node;
};

/// The preset of workloads/ with that model's shape. Throws PassedRow.
std::string measured_model(const std::string& name);
/// As ai-dynamo/aiconfigurator, InferenceX or TensorRT-LLM call it. Throws PassedRow.
const MeasuredSystem& measured_system(const std::string& name);
/// Topology and nodes of so many GPUs; beyond a tray whole racks. Throws PassedRow.
void set_nodes(const MeasuredSystem& system, int gpus, StepConfig& site);

}  // namespace fabricast
