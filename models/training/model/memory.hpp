#pragma once
// Bytes on one GPU: weights, gradients, optimizer state, activations, what is gathered for a
// moment.

#include <cstdint>
#include <vector>

#include "models/training/model/gpu_compute.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// Weights of one stage on one of its GPUs, before any sharding over replicas.
struct LocalParameters {
  std::int64_t dense = 0;   ///< whatever is no routed expert
  std::int64_t expert = 0;  ///< routed experts
  std::int64_t all() const { return dense + expert; }
};
/// The parameters of every chunk of the model, in order.
std::vector<LocalParameters> chunk_parameters(const Transformer& model, const Layout& layout);
LocalParameters local_parameters(const Transformer& model, const Layout& layout, int stage);

struct MemoryRules {
  int gradient_bytes = 4;       ///< of an unsharded gradient
  bool flash_attention = true;  ///< false: scores are kept
  bool dropout = false;         ///< masks are kept (GPT recipes until 2022)
  double nccl = 0;              ///< bytes of its communicators
};

/// Bytes of one micro-batch in one layer, as 16-bit mixed precision keeps them.
double activation_bytes(const Transformer& model, const Layout& layout, Recompute recompute,
                        const MemoryRules& rules, bool moe);

/// Micro-batches times chunks a stage holds at once, as layers of activations.
double layers_held(const Transformer& model, const Layout& layout, int stage);

struct MemoryUse {
  double weights = 0, gradients = 0, optimizer = 0;
  double activations = 0;  ///< layers, embedding, logits
  double transient = 0;    ///< gathered units, buffers of collectives
  double nccl = 0;         ///< its communicators
  double reserved = 0;     ///< the context of CUDA, fragmentation
  double states() const { return weights + gradients + optimizer; }
  double all() const { return states() + activations + transient + nccl + reserved; }
};

/// The memory of the stage that needs most. `recompute` must not be automatic.
MemoryUse memory_use(const Transformer& model, const Layout& layout, Recompute recompute,
                     const MemoryRules& rules);

struct MemoryPlan {
  Recompute recompute{};
  double full_share = 0;  ///< with lean, see Layout
  MemoryUse use;
  bool fits = false;
};
/// What the layout says, or the first of none, lean, full that fits; full where nothing does.
MemoryPlan plan_memory(const Transformer& model, const Layout& layout, const MemoryRules& rules,
                       Bytes capacity);

}  // namespace fabricast
