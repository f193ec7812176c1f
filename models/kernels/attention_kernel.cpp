// Fused attention: whole sequences, and one token against the cache.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernels/kernel_time.hpp"

namespace fabricast {

namespace {

constexpr double kHalf = 2;    // bytes of queries, outputs, and of keys before they are cached
constexpr double kBlock = 64;  // keys that are loaded at a time
constexpr double kPlaces = 4;  // blocks that share a multiprocessor
constexpr double kQueries[] = {64, 128, 256};
constexpr double kPieces[] = {1, 2, 4, 8, 16, 32, 64};
constexpr double kJoin = 1.5;  // of pieces, over one alone

double share_of(const ContextCosts& costs, double dim) {
  if (dim <= 64) return costs.share64;
  if (dim <= 128) return costs.share128;
  if (dim <= 192) return costs.share192;
  return dim <= 256 ? costs.share256 : costs.share512;
}

/// Keys that tiles of so many queries see: all tiles together, and the one that sees most.
struct Keys {
  double tiles = 1, all = 0, most = 0;
};

Keys keys_of(const ContextWork& w, double queries) {
  Keys out;
  out.tiles = std::ceil(w.tokens / queries);
  const double window = w.window > 0 ? w.window : w.tokens;
  if (out.tiles == 1 || !w.causal) {
    out.most = std::min(w.tokens, w.causal ? w.tokens : window);
    out.all = out.tiles * out.most;
    return out;
  }
  // A tile sees itself and all before it, until the window is full.
  const double growing = std::min(out.tiles, std::floor(window / queries) + 1);
  const double full = std::min(window, w.tokens) + queries;
  out.all = queries * growing * (growing + 1) / 2 + (out.tiles - growing) * full;
  out.most = std::min(out.tiles * queries, full);
  return out;
}

}  // namespace

double ContextWork::pairs() const {
  if (!causal) return tokens * (window > 0 ? std::min(window, tokens) : tokens);
  const double seen = window > 0 ? std::min(window, tokens) : tokens;
  return seen * (seen + 1) / 2 + (tokens - seen) * seen;
}

double kernel_time(const KernelGpu& gpu, const ContextWork& w, const ContextCosts& costs) {
  const double rows = w.batch * w.tokens;
  const double kv = w.key_dim + w.value_dim;
  const double bytes = rows * (w.heads * kv * kHalf + w.kv_heads * kv * (kHalf + w.cache_bytes));
  const double move = bytes / (costs.memory * gpu.memory_rate);
  const double dim = std::max(w.key_dim, w.value_dim);
  const double rate = share_of(costs, dim) * gpu.peak(w.math) / gpu.multiprocessors;
  double best = std::numeric_limits<double>::infinity();
  for (const double queries : kQueries) {
    const Keys keys = keys_of(w, queries);
    const double load = w.batch * w.heads * keys.tiles / gpu.multiprocessors;
    const double mean = keys.all / keys.tiles + costs.fill;
    const double key = std::max(2 * queries * kv / rate, costs.step / kBlock);
    const double even = std::max(load * mean, keys.most + costs.fill) * key;
    const double whole = std::max(even, std::ceil(load) * mean * key);
    best = std::min(best, (1 - costs.quantum) * even + costs.quantum * whole);
  }
  return costs.start + overlapped_time(best, move, costs.overlap) + w.batch * costs.sequence;
}

double kernel_time(const KernelGpu& gpu, const DecodeWork& w, const DecodeCosts& costs) {
  const double bytes = w.bytes();
  const double cached = std::clamp(2 * (1 - bytes / gpu.cache), 0.0, 1.0);
  const double move = bytes * ((1 - cached) / (costs.memory * gpu.memory_rate) +
                               cached / (costs.cache * gpu.memory_rate));
  const double rows = std::ceil(w.heads / w.kv_heads / costs.group) * costs.group;
  const double compute = 2 * w.batch * w.kv_heads * rows * w.seen() * (w.key_dim + w.value_dim) /
                         (costs.share * gpu.peak(MathBits::bits16));
  double best = std::numeric_limits<double>::infinity();
  for (const double pieces : kPieces) {
    if (pieces > 1 && w.seen() / pieces < kBlock) break;
    const double load = w.batch * w.kv_heads * pieces / gpu.multiprocessors;
    const double chain =
        std::ceil(w.seen() / pieces / kBlock) * costs.step * std::max(1.0, load / kPlaces);
    const double work = overlapped_time(move / std::min(1.0, costs.reach * load),
                                        compute / std::min(1.0, load), costs.overlap);
    best = std::min(best, overlapped_time(work, chain, costs.overlap) +
                              costs.piece * std::ceil(load) * (pieces > 1 ? kJoin : 1));
  }
  return costs.start + best + w.batch * costs.sequence;
}

}  // namespace fabricast
