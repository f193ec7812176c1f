#pragma once
// Shapes of kernels: what is asked of a GPU. All sizes are of one GPU; bytes are of an element.

#include <array>
#include <string_view>
#include <variant>

#include "models/kernels/kernel_gpu.hpp"

namespace fabricast {

/// Operands of a product.
struct Operands {
  double input = 2, weight = 2;  ///< bytes of an element, scales included
  MathBits math = MathBits::bits16;
  bool cast = false;  ///< inputs arrive as bf16 and are quantised first, in kernels of their own
};
/// bfloat16, fp8 (one scale for a tensor or token), fp8_block (1x128 and 128x128), nvfp4 (a scale
/// byte for 16), sq (SmoothQuant, 8-bit integers), int8_wo and int4_wo (weights only), w4a16_mxfp4
/// and w4a8_mxfp4_mxfp8. Throws Error with the nearest of them.
Operands operands_of(std::string_view dtype);

/// y[m, n] = x[m, k] w[n, k]^T, `batch` of them side by side; y has out_bytes an element.
struct GemmWork {
  double m = 1, n = 1, k = 1, batch = 1, out_bytes = 2;
  Operands operands;
  double copies = 1;       ///< weights that take turns, so that fewer of them are in the cache
  bool sustained = false;  ///< one of many that follow each other, on a chip at its power limit
};

/// Fused attention over whole sequences: new tokens that see each other, causally or all.
struct ContextWork {
  double batch = 1, tokens = 1, heads = 1, kv_heads = 1;
  double key_dim = 128, value_dim = 128;
  double window = 0;  ///< tokens that a query sees; 0 = all
  bool causal = true;
  MathBits math = MathBits::bits16;
  double cache_bytes = 2;  ///< of an element that is written to the cache; 0 = no cache
  /// Products of queries and keys that the mask leaves, a head of a sequence.
  double pairs() const;
  double flops() const { return 2 * batch * heads * pairs() * (key_dim + value_dim); }
};

/// One new token for each sequence against its cache.
struct DecodeWork {
  double batch = 1, tokens = 1, heads = 1, kv_heads = 1;
  double key_dim = 128, value_dim = 128;  ///< latent attention, absorbed: 576 and 512
  double window = 0;
  bool latent = false;  ///< values are part of the keys: read once
  double cache_bytes = 2;
  double seen() const { return window > 0 && window < tokens ? window : tokens; }
  double bytes() const {
    return batch * kv_heads * seen() * (latent ? key_dim : key_dim + value_dim) * cache_bytes;
  }
};

/// Gated delta nets over whole sequences: each value head of a sequence has a state of key_dim x
/// value_dim 32-bit numbers, which chunks of kDeltaChunk tokens change one after the other.
struct DeltaWork {
  double batch = 1, tokens = 1, key_heads = 1, value_heads = 1;
  double key_dim = 128, value_dim = 128;
  double chunks() const;  ///< of a sequence
  /// Products of a chunk with itself (keys by keys and by queries, the triangle's solution on keys
  /// and values, outputs) and with the state (read for values and for outputs, changed).
  double flops() const;
  double row_bytes() const;  ///< queries, keys, values and outputs in 16 bits
};
inline constexpr double kDeltaChunk = 64;

/// Bytes of the states of a layer of gated delta nets.
double delta_states(double batch, double value_heads, double key_dim, double value_dim);

/// Heights of tiles that grouped products choose from.
inline constexpr std::array<double, 6> kExpertTiles = {8, 16, 32, 64, 128, 256};

/// How the rows of a layer of experts lie on the experts of one GPU.
struct ExpertLoads {
  double rows = 0;                ///< of all its experts together
  double hit = 0;                 ///< experts that have any
  std::array<double, 6> tiles{};  ///< by kExpertTiles: pieces of that height
};
/// Tokens that go to `topk` of `experts` each, seen by the busiest of `ranks` that share them.
/// skew 0: all experts have the same; else their loads follow x^-skew between 1 and 0.8 x tokens
/// (between 0.01 and 2 where there are fewer rows than experts), as ai-dynamo/aiconfigurator draws
/// them (collector/helper.py, power_law_logits_v3); here they are the quantiles of that law, dealt
/// to ranks in three fixed random orders. REQUIRES: ranks <= experts.
ExpertLoads expert_loads(double tokens, int topk, int experts, int ranks, double skew);

/// The expected loads of a rank when each token draws its experts at random.
ExpertLoads random_loads(double tokens, int topk, int experts, int ranks);

/// Router, permutation, both grouped products with the activation between, weighted sum.
struct ExpertWork {
  double tokens = 1, hidden = 1, ffn = 1;  ///< ffn of an expert as this GPU has it
  double experts = 1;                      ///< on this GPU
  double up = 2;                           ///< matrices before the activation: 2 gated, else 1
  Operands operands;
  ExpertLoads loads;
};

/// Everything that only moves bytes.
struct MoveWork {
  double read = 0, written = 0;  ///< bytes
  bool in_place = false;         ///< what is written lies where it was read
};

using KernelWork = std::variant<GemmWork, ContextWork, DecodeWork, DeltaWork, ExpertWork, MoveWork>;

}  // namespace fabricast
