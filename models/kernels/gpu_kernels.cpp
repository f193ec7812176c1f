#include "models/kernels/gpu_kernels.hpp"

#include <algorithm>
#include <limits>

#include "models/kernels/kernel_time.hpp"

namespace fabricast {

GpuKernels::GpuKernels(KernelGpu gpu, const KernelCatalogue& catalogue, const std::string& library)
    : gpu_(std::move(gpu)) {
  for (const KernelSet& set : catalogue.sets) {
    std::vector<KernelCosts>& own = costs_[{set.name.family, set.name.dtype}];
    if (set.name.generation == gpu_.generation && set.name.library == library)
      own.push_back(set.costs);
  }
  for (auto& [key, own] : costs_)
    if (own.empty())
      own.push_back(
          choose_costs(catalogue, {key.first, gpu_.generation, library, "", key.second})->costs);
}

double GpuKernels::seconds(KernelFamily family, const std::string& dtype,
                           const KernelWork& work) const {
  double out = std::numeric_limits<double>::infinity();
  for (const KernelCosts& costs : costs_.at({family, dtype}))
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
