#include "models/kernels/gpu_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernels/kernel_time.hpp"

namespace fabricast {

GpuKernels::GpuKernels(KernelGpu gpu, const KernelCatalogue& catalogue, const std::string& library)
    : gpu_(std::move(gpu)) {
  for (const KernelSet& set : catalogue.sets) {
    Measured& own = costs_[{set.name.family, set.name.dtype}];
    if (set.name.generation == gpu_.generation && set.name.library == library)
      own.costs.push_back(set.costs);
  }
  for (auto& [key, own] : costs_) {
    own.are_own = !own.costs.empty();
    if (own.are_own) continue;
    own.costs.push_back(
        choose_costs(catalogue, {key.first, gpu_.generation, library, "", key.second})->costs);
  }
}

double GpuKernels::seconds(KernelFamily family, const std::string& dtype,
                           const KernelWork& work) const {
  const bool product = family == KernelFamily::gemm && has(KernelFamily::skinny, dtype);
  const double over = product ? std::get<GemmWork>(work).m / kSkinnyRows : 2;
  if (over >= 2) return fastest(family, dtype, work);
  const double skinny = fastest(KernelFamily::skinny, dtype, work);
  if (over <= 1) return skinny;
  return skinny * std::pow(fastest(family, dtype, work) / skinny, std::log2(over));
}

double GpuKernels::fastest(KernelFamily family, const std::string& dtype,
                           const KernelWork& work) const {
  double out = std::numeric_limits<double>::infinity();
  for (const KernelCosts& costs : costs_.at({family, dtype}).costs)
    out = std::min(out, kernel_time(gpu_, work, costs));
  return out;
}

KernelLibraries libraries_of(const KernelGpu& gpu, const KernelCatalogue& catalogue) {
  KernelLibraries out;
  for (const KernelSet& set : catalogue.sets)
    if (!out.contains(set.name.library))
      out.emplace(set.name.library, GpuKernels(gpu, catalogue, set.name.library));
  return out;
}

}  // namespace fabricast
