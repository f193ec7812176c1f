#pragma once
// The collectives inside layers, per micro-batch: each of them, and the order in which a rank makes
// them. layer_times.hpp has what they cost.

#include <optional>
#include <vector>

#include "models/training/calls/group_call.hpp"
#include "models/training/model/framework.hpp"

namespace fabricast {

inline constexpr double kHalf = 2;  // bytes of a 16-bit element

/// Whether dispatch() is a call of NCCL: else DeepEP, HybridEP or what `wish` says bring tokens to
/// their experts. `wish`: nothing = what the framework does.
bool nccl_brings_tokens(const Framework& framework, const std::optional<ExpertWish>& wish);

class LayerCalls {
 public:
  /// REQUIRES: both outlive it.
  LayerCalls(const Transformer& model, const Layout& layout) : m_(model), l_(layout) {}

  /// Activations, around a pair of column- and row-split linear layers.
  GroupCall tensor(Collective collective) const;
  /// Inputs of products, as these take them: 8 bits or fewer are gathered as such, but for a scale
  /// of each row (Transformer Engine, pytorch/module/layernorm_linear.py; torchtitan,
  /// docs/float8.md).
  GroupCall gathered() const;
  /// One of three of cross entropy over a cut vocabulary: maximum, own logit, sum.
  GroupCall loss() const;
  /// What attention needs of the rest of the sequence. Of a ring one round, of CP - 1.
  std::vector<GroupCall> context(bool forward) const;
  /// Tokens to their experts, or back.
  GroupCall dispatch() const;
  /// Routed tokens, around experts cut by TP.
  GroupCall expert_tensor(Collective collective) const;

  // In order, without those that do not happen.
  std::vector<GroupCall> forward(bool moe) const;
  /// `again`: what is computed again before it, of this layer: lean needs no calls.
  std::vector<GroupCall> backward(bool moe, Recompute again) const;
  std::vector<GroupCall> embedding(bool forward) const;
  /// Logits and loss.
  std::vector<GroupCall> output(bool forward) const;

 private:
  using Calls = std::vector<GroupCall>;
  double tokens() const { return static_cast<double>(l_.micro_batch) * l_.sequence / l_.context; }
  GroupCall in_16_bits(Among among, Collective collective, double bytes) const;
  /// Calls around `inside`, which lies between the two linear layers.
  void block(Calls& out, bool forward, const Calls& inside) const;
  void experts(Calls& out) const;
  void feed_forward(Calls& out, bool moe, bool forward) const;

  const Transformer& m_;
  const Layout& l_;
};

}  // namespace fabricast
