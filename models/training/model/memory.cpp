#include "models/training/model/memory.hpp"

#include <algorithm>

namespace fabricast {

namespace {

constexpr double kHalf = 2;  // bytes of bf16 and fp16
constexpr double kFloat = 4;
// CUDA's context, code of kernels, workspaces of libraries: 0.5 to 2 GB, assumed.
constexpr double kContext = 1.5e9;
constexpr double kFragmentation = 1.03;  // 3 to 8 %, assumed at the low end

double gradient_bytes(const Layout& l, double otherwise) {
  return l.gradients_are_16bit() ? kHalf : otherwise;
}

double ratio(double a, int b) { return a / b; }

/// Tokens of a micro-batch on one rank, before TP.
double tokens(const Layout& l) {
  return static_cast<double>(l.micro_batch) * l.sequence / l.context;
}

std::int64_t divided(std::int64_t all, int parts) { return (all + parts - 1) / parts; }

/// Elements of a token in the MLP of a layer: gate, up and their product or the one before and
/// after the activation; kept where `product` says so.
double mlp_elements(const Transformer& m, bool moe, bool product) {
  const double ups = matrices(m.mlp) - 1 + (product ? 1 : 0);
  if (!moe) return ups * m.ffn;
  const Experts& e = *m.experts;
  return ups * (static_cast<double>(e.per_token) * e.ffn + e.shared_ffn);
}

/// Korthikanti et al., arXiv 2205.05198, equations 1 to 5: a GPT block with dropout.
double gpt_block(const Transformer& m, const Layout& l, Recompute recompute,
                 const MemoryRules& rules) {
  const double sbh = tokens(l) * m.hidden;
  const double scores = recompute == Recompute::selective || rules.flash_attention
                            ? 0
                            : 5.0 * m.heads * l.sequence / m.hidden;
  if (l.sequence_is_sharded()) return ratio(sbh * (34 + scores), l.tensor);
  return sbh * (10 + ratio(24 + scores, l.tensor));
}

/// A block with a fused attention kernel and no dropout.
double lean_block(const Transformer& m, const Layout& l, Recompute recompute, bool moe) {
  const bool lean = recompute == Recompute::lean;
  const double input = is_8bit_or_less(l.precision) && lean ? 1 : kHalf;
  const double norms = (lean ? 2 : 4) * kHalf * m.hidden;
  const double attention =
      kHalf * (m.projected_width() + m.attention_out_width()) + kFloat * m.heads;
  double mlp = kHalf * mlp_elements(m, moe, !lean);
  if (moe) {
    const Experts& e = *m.experts;
    mlp += input * m.hidden * e.per_token + kFloat * e.count;
    if (!lean) mlp += kHalf * m.hidden * e.per_token;
  }
  const double split = attention + mlp;
  return tokens(l) *
         (ratio(norms, l.sequence_is_sharded() ? l.tensor : 1) + ratio(split, l.tensor));
}

double outer_activations(const Transformer& m, const Layout& l, int stage,
                         const MemoryRules& rules) {
  double out = 0;
  if (stage == 0 && rules.dropout)
    out += ratio(tokens(l) * m.hidden * l.pipeline, l.sequence_is_sharded() ? l.tensor : 1);
  // Logits in fp32 and their gradient's copy in 16 bit.
  if (stage == l.pipeline - 1) out += ratio(tokens(l) * m.vocabulary * (kFloat + kHalf), l.tensor);
  return out;
}

/// Layer chunks of a stage, dense and with experts.
struct StageLayers {
  int dense = 0, moe = 0;
};
StageLayers stage_layers(const Transformer& m, const Layout& l, int stage) {
  const std::vector<int> chunks = layers_of_chunks(m, l);
  const int dense_layers = m.layers - m.moe_layers();
  StageLayers out;
  int at = 0;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const int dense = std::clamp(dense_layers - at, 0, chunks[c]);
    if (static_cast<int>(c) % l.pipeline == stage) {
      out.dense += dense;
      out.moe += chunks[c] - dense;
    }
    at += chunks[c];
  }
  return out;
}

MemoryUse stage_memory(const Transformer& m, const Layout& l, int stage, Recompute recompute,
                       const MemoryRules& rules) {
  const LocalParameters local = local_parameters(m, l, stage);
  const double shard_dense = l.shards(l.dense_replicas());
  const double shard_expert = l.shards(l.expert_replicas());
  const auto dense = static_cast<double>(local.dense), expert = static_cast<double>(local.expert);
  const double sharded = dense / shard_dense + expert / shard_expert;
  const double whole = dense + expert;
  MemoryUse out;
  if (!l.trains_weights()) {
    out.weights = kHalf * (l.shards_weights() ? sharded : whole);
  } else if (l.shards_weights()) {
    // Shards of parameter, gradient and both moments. The parameter is the master weight, beside
    // which ZeRO-3 keeps a 16-bit one, or that one alone.
    const double own = l.sharding == Sharding::zero3 ? kHalf + l.master_bytes()
                                                     : std::max<double>(kHalf, l.master_bytes());
    out.weights = own * sharded;
    out.gradients = gradient_bytes(l, kFloat) * sharded;
    out.optimizer = l.moments_bytes() * sharded;
  } else {
    out.weights = kHalf * whole;
    out.gradients =
        gradient_bytes(l, rules.gradient_bytes) * (l.sharding == Sharding::zero2 ? sharded : whole);
    out.optimizer =
        (l.master_bytes() + l.moments_bytes()) * (l.sharding == Sharding::none ? whole : sharded);
  }
  if (l.shards_weights()) {
    const ParameterCount count = count_parameters(m);
    const double unit = static_cast<double>(
        m.experts ? count.attention + m.experts->count * count.expert / l.expert + count.shared
                  : count.dense_layer());
    out.transient += ratio(unit * (2 * kHalf + gradient_bytes(l, kFloat)), l.tensor);
  }

  const StageLayers layers = stage_layers(m, l, stage);
  const double all_layers = layers.dense + layers.moe;
  const double share_moe = all_layers > 0 ? layers.moe / all_layers : 0;
  double layer = 0;
  if (share_moe < 1) layer += (1 - share_moe) * activation_bytes(m, l, recompute, rules, false);
  if (share_moe > 0) layer += share_moe * activation_bytes(m, l, recompute, rules, true);
  out.activations = layer * layers_held(m, l, stage) + outer_activations(m, l, stage, rules);
  if (recompute == Recompute::full)  // the layer that is being computed again
    out.activations += activation_bytes(m, l, Recompute::none, rules, share_moe > 0);
  const double boundary =
      ratio(tokens(l) * m.hidden * kHalf, l.sequence_is_sharded() ? l.tensor : 1);
  if (l.pipeline > 1) out.transient += 2 * boundary;
  if (m.experts && l.expert > 1)
    out.transient += 2 * ratio(tokens(l) * m.experts->per_token * m.hidden * kHalf, l.tensor);
  out.nccl = rules.nccl;
  out.reserved = kContext + (kFragmentation - 1) * (out.states() + out.activations);
  return out;
}

}  // namespace

std::vector<LocalParameters> chunk_parameters(const Transformer& m, const Layout& l) {
  const ParameterCount count = count_parameters(m);
  const int dense_layers = m.layers - m.moe_layers();
  std::vector<LocalParameters> out;
  int at = 0;
  for (const int layers : layers_of_chunks(m, l)) {
    const int dense = std::clamp(dense_layers - at, 0, layers), moe = layers - dense;
    at += layers;
    LocalParameters chunk;
    chunk.dense =
        divided(layers * count.attention + dense * count.dense_mlp + moe * count.shared, l.tensor) +
        layers * count.layer_norms;
    if (m.experts)
      chunk.expert = divided(moe * m.experts->count * count.expert, l.expert * l.expert_tensor);
    out.push_back(chunk);
  }
  out.front().dense += divided(count.embedding, l.tensor) + count.positions;
  out.back().dense += count.outer_norms + divided(count.output, l.tensor);
  // Tied: the last stage has a copy of its own.
  if (m.tied_embeddings && l.pipeline > 1) out.back().dense += divided(count.embedding, l.tensor);
  return out;
}

LocalParameters local_parameters(const Transformer& m, const Layout& l, int stage) {
  const std::vector<LocalParameters> chunks = chunk_parameters(m, l);
  LocalParameters out;
  for (auto c = static_cast<std::size_t>(stage); c < chunks.size();
       c += static_cast<std::size_t>(l.pipeline)) {
    out.dense += chunks[c].dense;
    out.expert += chunks[c].expert;
  }
  return out;
}

double activation_bytes(const Transformer& m, const Layout& l, Recompute recompute,
                        const MemoryRules& rules, bool moe) {
  if (recompute == Recompute::full) {
    return ratio(tokens(l) * m.hidden * kHalf, l.sequence_is_sharded() ? l.tensor : 1);
  }
  if (recompute == Recompute::lean && l.full_share > 0) {
    Layout rest = l;
    rest.full_share = 0;
    return l.full_share * activation_bytes(m, l, Recompute::full, rules, moe) +
           (1 - l.full_share) * activation_bytes(m, rest, Recompute::lean, rules, moe);
  }
  if (recompute == Recompute::operators) {  // half of what is kept without, half as full
    return (activation_bytes(m, l, Recompute::none, rules, moe) +
            activation_bytes(m, l, Recompute::full, rules, moe)) /
           2;
  }
  if (rules.dropout && !moe && matrices(m.mlp) == 2) return gpt_block(m, l, recompute, rules);
  return lean_block(m, l, recompute, moe);
}

double layers_held(const Transformer& m, const Layout& l, int stage) {
  const double of_stage = stage_layers(m, l, stage).dense + stage_layers(m, l, stage).moe;
  if (l.schedule == Schedule::gpipe && l.virtual_stages == 1) return of_stage * l.micro_batches();
  if (l.virtual_stages == 1) return of_stage * std::min(l.micro_batches(), l.pipeline - stage);
  const int warm_up = 2 * (l.pipeline - stage - 1) + (l.virtual_stages - 1) * l.pipeline + 1;
  const int chunks = std::min(warm_up, l.micro_batches() * l.virtual_stages);
  return of_stage * chunks / l.virtual_stages;
}

MemoryUse memory_use(const Transformer& m, const Layout& l, Recompute recompute,
                     const MemoryRules& rules) {
  MemoryUse most;
  for (int stage = 0; stage < l.pipeline; ++stage) {
    const MemoryUse use = stage_memory(m, l, stage, recompute, rules);
    if (use.all() > most.all()) most = use;
  }
  return most;
}

MemoryPlan plan_memory(const Transformer& m, const Layout& l, const MemoryRules& rules,
                       Bytes capacity) {
  const auto limit = static_cast<double>(capacity.count);
  const auto tried = [&](Recompute recompute, double full_share) {
    Layout asked = l;
    asked.full_share = full_share;
    MemoryPlan out{recompute, full_share, memory_use(m, asked, recompute, rules), false};
    out.fits = out.use.all() <= limit;
    return out;
  };
  if (l.recompute != Recompute::automatic) return tried(l.recompute, 0);
  for (const Recompute recompute : {Recompute::none, Recompute::lean}) {
    if (MemoryPlan plan = tried(recompute, 0); plan.fits) return plan;
  }
  // Whole layers of a stage: the fewest that make it fit.
  const int layers = std::max(m.layers / l.pipeline, 1);
  int few = 0, enough = layers;
  while (enough - few > 1) {
    const int full = (few + enough) / 2;
    (tried(Recompute::lean, ratio(full, layers)).fits ? enough : few) = full;
  }
  if (enough < layers) return tried(Recompute::lean, ratio(enough, layers));
  return tried(Recompute::full, 0);
}

}  // namespace fabricast
