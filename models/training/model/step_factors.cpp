#include "models/training/model/step_factors.hpp"

#include <fmt/format.h>

namespace fabricast {

namespace {

// Standard deviations of priors, as logarithms. Kernels in a job beside kernels one by one: power
// limits and streams beside them cost 0 to 30 %. Parts of a generation differ by their power.
constexpr double kGeneration = 0.08, kPart = 0.05, kGpuAttention = 0.2, kExperts = 0.15;
constexpr double kElementwise = 0.25, kOwnAttention = 0.3, kCommunication = 0.3;

double factor(const StepFactors& factors, const std::string& name) {
  const auto found = factors.find(name);
  return found == factors.end() ? 1 : found->second;
}

std::string generation_of(const GpuCompute& gpu) { return fmt::format("sm{}", gpu.generation); }

std::string_view width_of(Precision precision) {
  return to_text(precision == Precision::fp16 ? Precision::bf16 : precision);
}

std::string part_figure(const GpuCompute& gpu, Precision precision) {
  return fmt::format("{} {}", gpu.name, width_of(precision));
}

}  // namespace

std::string family_of(const Framework& framework) {
  return framework.name.substr(0, framework.name.find(' '));
}

std::string generation_figure(const GpuCompute& gpu, Precision precision) {
  return fmt::format("{} {}", generation_of(gpu), width_of(precision));
}

std::vector<StepFigure> step_figures(const GpuCompute& gpu, const Framework& framework,
                                     Precision precision, bool experts) {
  std::vector<StepFigure> out = {{generation_figure(gpu, precision), kGeneration},
                                 {part_figure(gpu, precision), kPart},
                                 {generation_of(gpu) + " attention", kGpuAttention},
                                 {family_of(framework) + " elementwise", kElementwise},
                                 {"communication", kCommunication}};
  if (framework.ampere_attention)
    out.push_back({family_of(framework) + " attention", kOwnAttention});
  if (experts) out.push_back({generation_of(gpu) + " experts", kExperts});
  return out;
}

GpuCompute with_factors(GpuCompute gpu, const StepFactors& factors) {
  for (int p = 0; p < kPrecisions; ++p) {
    const auto precision = static_cast<Precision>(p);
    gpu.gemm[static_cast<std::size_t>(p)].efficiency /=
        factor(factors, generation_figure(gpu, precision)) *
        factor(factors, part_figure(gpu, precision));
  }
  gpu.attention_forward /= factor(factors, generation_of(gpu) + " attention");
  gpu.experts /= factor(factors, generation_of(gpu) + " experts");
  return gpu;
}

Framework with_factors(Framework framework, const StepFactors& factors) {
  const std::string family = family_of(framework);
  framework.elementwise *= factor(factors, family + " elementwise");
  framework.attention /= factor(factors, family + " attention");
  framework.communication *= factor(factors, "communication");
  return framework;
}

}  // namespace fabricast
