// Products, single ones and those of experts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernels/kernel_time.hpp"

namespace fabricast {

namespace {

constexpr double kDepth = 64;        // of K that is loaded at a time
constexpr double kLeastPiece = 128;  // of K that is worth a block of its own
constexpr double kSums = 8;          // bytes of a partial sum, written and read
constexpr double kBfloat = 2;        // bytes
constexpr double kWarmUp = 3e-3;     // of products, until the power limit holds the clock back
constexpr double kBusy = 0.6;  // of a job's time products run (assumed): the limit is of a mean

/// A tile of the result that a multiprocessor takes at a time.
struct Tile {
  double m, n;
};
constexpr Tile kTiles[] = {{256, 256}, {256, 128}, {128, 256}, {128, 128}, {64, 256},
                           {64, 128},  {128, 64},  {64, 64},   {128, 32},  {32, 128},
                           {16, 128},  {16, 64},   {16, 32}};
constexpr double kSplits[] = {1, 2, 4, 8, 16, 32};
constexpr double kExpertWidths[] = {64, 128, 256};

/// Seconds of one tile over `k` on a multiprocessor: its products, and filling and draining it.
struct TileTime {
  double products = 0, fill = 0;
};

/// What a tile loads, at its edges and to fill, takes as long however fast products are.
template <class Costs>
TileTime tile_time(const KernelGpu& gpu, const Tile& tile, double k, MathBits math,
                   const Costs& costs) {
  const double rate = gpu.rate(math, costs.share) / gpu.multiprocessors;
  const double cost = 1 + gpu.tensor_share * costs.edge * (1 / tile.m + 1 / tile.n);
  const double element = 2 * tile.m * tile.n * cost / rate;
  return {std::max(element * k, std::ceil(k / kDepth) * costs.step),
          gpu.tensor_share * element * costs.fill};
}

/// What a product moves: what comes from memory, and what from the cache.
struct Traffic {
  double cold = 0, warm = 0;
};

Traffic traffic(const KernelGpu& gpu, const GemmWork& w) {
  const double weights = w.batch * w.n * w.k * w.operands.weight;
  const double inputs = w.batch * w.m * w.k * w.operands.input;
  const double outputs = w.batch * w.m * w.n * w.out_bytes;
  const double cached =
      std::clamp(1 - (weights * w.copies + inputs + outputs) / gpu.cache, 0.0, 1.0);
  return {weights * (1 - cached) + std::max(0.0, inputs + outputs - gpu.cache / 2),
          weights * cached + inputs + outputs};
}

double cast_time(const KernelGpu& gpu, const GemmWork& w, const GemmCosts& costs) {
  const double bytes = w.batch * w.m * w.k * (kBfloat + w.operands.input);
  return costs.cast_start + bytes / (costs.cast_rate * gpu.memory_rate) +
         std::ceil(w.batch * w.m / gpu.multiprocessors) * costs.cast_row;
}

}  // namespace

double kernel_time(const KernelGpu& gpu, const GemmWork& w, const GemmCosts& costs) {
  const Traffic bytes = traffic(gpu, w);
  const double move =
      bytes.cold / (costs.memory * gpu.memory_rate) + bytes.warm / (costs.cache * gpu.memory_rate);
  const double sums = kSums * w.batch * w.m * w.n / (costs.cache * gpu.memory_rate);
  double best = std::numeric_limits<double>::infinity(), compute = 0, loads = 0, joining = 0;
  for (const Tile& tile : kTiles) {
    const double tiles = w.batch * std::ceil(w.m / tile.m) * std::ceil(w.n / tile.n);
    for (const double split : kSplits) {
      if (split > 1 && w.k / split < kLeastPiece) break;
      const double busy = std::min(1.0, tiles * split / gpu.multiprocessors);
      const double rounds = waves(tiles * split, gpu.multiprocessors, costs.quantum);
      const TileTime one = tile_time(gpu, tile, w.k / split, w.operands.math, costs);
      const double cool = rounds * one.products + (1 + costs.refill * (rounds - 1)) * one.fill;
      const double lasts = w.sustained ? kBusy : cool / (cool + kWarmUp);
      const double c = cool * (1 + gpu.tensor_share * costs.heat * lasts);
      const double l = move / std::min(1.0, costs.reach * busy);
      const double j = split > 1 ? costs.split + split * sums : 0;
      if (std::max(c, l) + j >= best) continue;
      best = std::max(c, l) + j;
      compute = c, loads = l, joining = j;
    }
  }
  return costs.start + overlapped_time(compute, loads, costs.overlap) + joining +
         (w.operands.cast ? cast_time(gpu, w, costs) : 0);
}

double kernel_time(const KernelGpu& gpu, const ExpertWork& w, const ExpertCosts& costs) {
  const double all = w.operands.weight * w.experts * (w.up + 1) * w.hidden * w.ffn;
  const double cached = std::clamp(2 * (1 - all / gpu.cache), 0.0, 1.0);
  const double from_cache = costs.cache * gpu.memory_rate;
  double sum = 0;
  const auto product = [&](double n, double k) {
    double compute = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < kExpertTiles.size(); ++i) {
      for (const double width : kExpertWidths) {
        const double tiles = w.loads.tiles[i] * std::ceil(n / width);
        const TileTime one = tile_time(gpu, {kExpertTiles[i], width}, k, w.operands.math, costs);
        compute = std::min(
            compute, waves(tiles, gpu.multiprocessors, costs.quantum) * (one.products + one.fill));
      }
    }
    const double weights = w.operands.weight * w.loads.hit * n * k;
    const double rows = w.loads.rows * (w.operands.input * k + kBfloat * n);
    const double move = weights * (1 - cached) / (costs.memory * gpu.memory_rate) +
                        (weights * cached + rows) / from_cache;
    sum += overlapped_time(compute, move, costs.overlap);
  };
  product(w.up * w.ffn, w.hidden);
  product(w.hidden, w.ffn);
  const double sorted = 2 * kBfloat * w.loads.rows * w.hidden;
  return costs.start + sum + sorted / (costs.sort * gpu.memory_rate) + w.tokens * costs.token +
         w.experts * costs.expert;
}

}  // namespace fabricast
