// Gated delta nets: linear attention that keeps a state of fixed size.
#include <algorithm>
#include <cmath>

#include "models/kernels/kernel_time.hpp"

namespace fabricast {

namespace {

constexpr double kRowElement = 2, kStateElement = 4;  // bytes

}  // namespace

double delta_states(double batch, double value_heads, double key_dim, double value_dim) {
  return kStateElement * batch * value_heads * key_dim * value_dim;
}

double DeltaWork::chunks() const { return std::ceil(tokens / kDeltaChunk); }

double DeltaWork::flops() const {
  const double inside = kDeltaChunk * (3 * key_dim + 2 * value_dim);
  return 2 * batch * value_heads * chunks() * kDeltaChunk * (inside + 3 * key_dim * value_dim);
}

double DeltaWork::row_bytes() const {
  return 2 * kRowElement * batch * tokens * (key_heads * key_dim + value_heads * value_dim);
}

double kernel_time(const KernelGpu& gpu, const DeltaWork& w, const DeltaCosts& costs) {
  const double turns =
      waves(w.batch * w.value_heads / costs.resident, gpu.multiprocessors, costs.quantum);
  const double chain = turns * (costs.fill + w.chunks() * costs.step);
  const double products = w.flops() / gpu.rate(MathBits::bits16, costs.share);
  const double states = delta_states(w.batch, w.value_heads, w.key_dim, w.value_dim);
  const double rows = w.row_bytes();
  const double warm = std::clamp(1 - (rows + states) / gpu.cache, 0.0, 1.0);
  const double move = move_time(gpu, rows + 2 * states, warm, costs.memory, costs.cache);
  return costs.start + overlapped_time(chain, products + move, costs.overlap);
}

}  // namespace fabricast
