#pragma once
// What published steps say of running jobs: factors on the times of kernels measured one by one, on
// the traffic of a framework's other kernels, and on collectives. workloads/step_fits.yaml has
// them.

#include <map>
#include <string>
#include <vector>

#include "models/training/model/framework.hpp"
#include "models/training/model/gpu_compute.hpp"

namespace fabricast {

/// By name; a name that is missing is 1.
using StepFactors = std::map<std::string, double, std::less<>>;

/// One that a step depends on, and how far it may lie from 1 before anything is known: the standard
/// deviation of its logarithm.
struct StepFigure {
  std::string name;
  double width = 0;
};

/// "sm90 bf16": all parts of a generation, beside it "H200_SXM bf16"; "sm90 attention", "sm90
/// experts"; "composer elementwise", "composer attention"; "communication".
std::vector<StepFigure> step_figures(const GpuCompute& gpu, const Framework& framework,
                                     Precision precision, bool experts);

/// "megatron" of "megatron 25.05".
std::string family_of(const Framework& framework);
/// "sm90 bf16"
std::string generation_figure(const GpuCompute& gpu, Precision precision);

GpuCompute with_factors(GpuCompute gpu, const StepFactors& factors);
Framework with_factors(Framework framework, const StepFactors& factors);

}  // namespace fabricast
