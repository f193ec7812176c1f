#pragma once
// The kernels that a library has on one GPU, by family and datatype.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/kernels/kernel_catalogue.hpp"
#include "models/kernels/kernel_work.hpp"

namespace fabricast {

/// Of several kernels of a library it takes the one that is fastest for a shape, as libraries do
/// that try them. What a library was not measured with on that generation is what stands in for it
/// (choose_costs()).
class GpuKernels {
 public:
  GpuKernels(KernelGpu gpu, const KernelCatalogue& catalogue, const std::string& library);

  const KernelGpu& gpu() const { return gpu_; }
  bool has(KernelFamily family, const std::string& dtype) const {
    return costs_.contains({family, dtype});
  }
  /// Whether the library was measured with it on that generation.
  bool has_own(KernelFamily family, const std::string& dtype) const {
    const auto at = costs_.find({family, dtype});
    return at != costs_.end() && at->second.are_own;
  }
  /// Seconds. REQUIRES: has(family, dtype), and a work of that family. Products of few rows are
  /// those of the skinny kernels; from kSkinnyRows to twice as many one goes over into the other.
  double seconds(KernelFamily family, const std::string& dtype, const KernelWork& work) const;

 private:
  double fastest(KernelFamily family, const std::string& dtype, const KernelWork& work) const;

  KernelGpu gpu_;
  struct Measured {
    std::vector<KernelCosts> costs;
    bool are_own = true;  ///< else one that stands in for them
  };
  std::map<std::pair<KernelFamily, std::string>, Measured> costs_;
};

/// By library: "trtllm", "vllm", "sglang".
using KernelLibraries = std::map<std::string, GpuKernels, std::less<>>;
KernelLibraries libraries_of(const KernelGpu& gpu, const KernelCatalogue& catalogue);

}  // namespace fabricast
