#include "models/kernels/kernel_time.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <variant>

namespace fabricast {

double overlapped_time(double a, double b, double overlap) {
  const double longer = std::max(a, b), shorter = std::min(a, b);
  if (longer <= 0) return 0;
  return longer * std::pow(1 + std::pow(shorter / longer, overlap), 1 / overlap);
}

double waves(double tiles, int multiprocessors, double quantum) {
  const double exact = tiles / multiprocessors;
  return exact <= 1 ? 1 : quantum * std::ceil(exact) + (1 - quantum) * exact;
}

double move_time(const KernelGpu& gpu, double bytes, double warm, double memory, double cache) {
  return bytes * ((1 - warm) / (memory * gpu.memory_rate) + warm / (cache * gpu.memory_rate));
}

double kernel_time(const KernelGpu& gpu, const MoveWork& work, const MoveCosts& costs) {
  const double bytes = work.read + work.written;
  // What was written last lies in the cache, as far as it fits beside what is written now. What is
  // written where it was read stays there up to three quarters of the cache, and is gone at 5/4.
  const double warm = work.in_place ? 2.5 - 2 * work.written / gpu.cache : 1 - bytes / gpu.cache;
  return costs.start + move_time(gpu, bytes, std::clamp(warm, 0.0, 1.0), costs.memory, costs.cache);
}

double kernel_time(const KernelGpu& gpu, const KernelWork& work, const KernelCosts& costs) {
  return std::visit(
      [&]<class Work, class Costs>(const Work& w, const Costs& c) -> double {
        if constexpr (requires { kernel_time(gpu, w, c); }) {
          return kernel_time(gpu, w, c);
        } else {
          assert(false && "costs of another family");
          return 0;
        }
      },
      work, costs);
}

}  // namespace fabricast
