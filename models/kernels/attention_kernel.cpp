// Fused attention: whole sequences, and one token against the cache.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernels/kernel_time.hpp"

namespace fabricast {

namespace {

constexpr double kHalf = 2;    // bytes of queries, outputs, and of keys before they are cached
constexpr double kBlock = 64;  // keys that are loaded at a time
constexpr double kQueries[] = {64, 128, 256};
constexpr double kJoin = 3;  // of pieces, over one alone

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
  const double rate = gpu.rate(w.math, share_of(costs, dim)) / gpu.multiprocessors;
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
  const double seen = std::ceil(w.seen() / kBlock) * kBlock;  // keys are loaded by whole blocks
  const double bytes = w.bytes() * seen / w.seen();
  const double group = w.heads / w.kv_heads;
  const double reads = std::max(1.0, group / costs.shared);
  const double cached = std::clamp(2 * (1 - bytes / gpu.cache), 0.0, 1.0);
  const double move = bytes * ((1 - cached) / (costs.memory * gpu.memory_rate) +
                               (cached + reads - 1) / (costs.cache * gpu.memory_rate));
  const double rows = std::ceil(group / costs.group) * costs.group;
  const double compute = 2 * w.batch * w.kv_heads * rows * seen * (w.key_dim + w.value_dim) /
                         gpu.rate(MathBits::bits16, costs.share);
  const double most = std::max(1.0, std::min(costs.cuts, w.seen() / kBlock));
  double best = std::numeric_limits<double>::infinity();
  for (double doubled = 1; doubled < 2 * most; doubled *= 2) {
    const double pieces = std::min(doubled, most);
    const double load = w.batch * w.kv_heads * reads * pieces / gpu.multiprocessors;
    const double turns = std::max(1.0, load);
    const double chain = turns * std::ceil(w.seen() / pieces / kBlock) * costs.step;
    const double work = overlapped_time(move / std::min(1.0, costs.reach * load),
                                        compute / std::min(1.0, load), costs.overlap);
    const double joined = 1 + (kJoin - 1) * std::min(1.0, pieces - 1);
    best =
        std::min(best, overlapped_time(work, chain, costs.overlap) + turns * costs.piece * joined);
  }
  return costs.start + best + w.batch * costs.sequence;
}

}  // namespace fabricast
