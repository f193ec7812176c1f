#include "models/training/model/transformer.hpp"

namespace fabricast {

namespace {

std::int64_t wide(int value) { return value; }

/// Weights of the projections of one layer's attention, without biases.
std::int64_t attention_weights(const Transformer& m) {
  const std::int64_t h = m.hidden;
  if (!m.latent) return h * (m.query_width() + m.key_width() + m.value_width() + m.query_width());
  const LatentAttention& a = *m.latent;
  const std::int64_t heads = m.heads;
  return h * a.query_rank + a.query_rank * heads * (a.nope_dim + a.rope_dim) +
         h * (a.kv_rank + a.rope_dim) + a.kv_rank * heads * (a.nope_dim + a.value_dim) +
         heads * a.value_dim * h;
}

std::int64_t mlp_weights(const Transformer& m, int ffn) {
  return wide(matrices(m.mlp)) * m.hidden * ffn;
}

/// Parameters of a layer's linear parts that a token meets.
std::int64_t active_layer_weights(const Transformer& m, bool moe) {
  if (!moe) return attention_weights(m) + mlp_weights(m, m.ffn);
  const Experts& e = *m.experts;
  return attention_weights(m) + e.per_token * mlp_weights(m, e.ffn) + mlp_weights(m, e.shared_ffn) +
         wide(m.hidden) * e.count;
}

double attention_core_flops(const Transformer& m, int sequence, AttentionCount count) {
  const double both = m.query_width() + m.attention_out_width();
  return 2.0 * sequence * both * (count == AttentionCount::causal ? 0.5 : 1.0);
}

double layers_flops(const Transformer& m, int sequence, AttentionCount count) {
  const double linear =
      static_cast<double>((m.layers - m.moe_layers()) * active_layer_weights(m, false)) +
      (m.moe_layers() > 0 ? static_cast<double>(m.moe_layers() * active_layer_weights(m, true))
                          : 0.0);
  return 2.0 * linear + m.layers * attention_core_flops(m, sequence, count);
}

double tokens(int sequence, std::int64_t batch) {
  return static_cast<double>(batch) * static_cast<double>(sequence);
}

}  // namespace

int Transformer::query_width() const {
  return latent ? heads * (latent->nope_dim + latent->rope_dim) : heads * head_dim;
}
int Transformer::key_width() const {
  return latent ? heads * (latent->nope_dim + latent->rope_dim) : kv_heads * head_dim;
}
int Transformer::value_width() const {
  return latent ? heads * latent->value_dim : kv_heads * head_dim;
}
int Transformer::attention_out_width() const {
  return latent ? heads * latent->value_dim : heads * head_dim;
}
int Transformer::projected_width() const {
  const int latents = latent ? latent->query_rank + latent->kv_rank + latent->rope_dim : 0;
  return query_width() + key_width() + value_width() + latents;
}

ParameterCount count_parameters(const Transformer& m) {
  const std::int64_t h = m.hidden;
  ParameterCount out;
  out.attention = attention_weights(m);
  out.dense_mlp = mlp_weights(m, m.ffn);
  if (m.biases) {
    out.attention += m.query_width() + m.key_width() + m.value_width() + h;
    out.dense_mlp += wide(matrices(m.mlp) - 1) * m.ffn + h;
  }
  if (m.experts) {
    out.expert = mlp_weights(m, m.experts->ffn);
    out.shared = mlp_weights(m, m.experts->shared_ffn) + h * m.experts->count;
  }
  out.layer_norms = 2 * weights(m.norm) * h;
  if (m.latent) out.layer_norms += m.latent->query_rank + m.latent->kv_rank;
  out.embedding = wide(m.vocabulary) * h;
  out.positions = wide(m.positions) * h;
  out.output = m.tied_embeddings ? 0 : out.embedding;
  out.outer_norms = (m.embedding_norm ? 2 : 1) * weights(m.norm) * h;
  return out;
}

std::int64_t norm_parameters(const Transformer& m) {
  const ParameterCount count = count_parameters(m);
  return m.layers * count.layer_norms + count.outer_norms;
}

std::int64_t all_parameters(const Transformer& m) {
  const ParameterCount count = count_parameters(m);
  const std::int64_t moe = m.moe_layers();
  const std::int64_t moe_mlp =
      m.experts ? m.experts->count * count.expert + count.shared : std::int64_t{0};
  return m.layers * count.attention + (m.layers - moe) * count.dense_mlp + moe * moe_mlp +
         norm_parameters(m) + count.embedding + count.positions + count.output;
}

std::int64_t active_parameters(const Transformer& m) {
  const ParameterCount count = count_parameters(m);
  const std::int64_t idle =
      m.experts ? m.moe_layers() * (m.experts->count - m.experts->per_token) * count.expert : 0;
  return all_parameters(m) - idle;
}

double forward_flops_per_token(const Transformer& m, int sequence, AttentionCount count) {
  return layers_flops(m, sequence, count) + 2.0 * m.hidden * m.vocabulary;
}

double model_flops(const Transformer& m, int sequence, std::int64_t batch, AttentionCount count) {
  return 3 * forward_flops_per_token(m, sequence, count) * tokens(sequence, batch);
}

double full_recompute_flops(const Transformer& m, int sequence, std::int64_t batch,
                            AttentionCount count) {
  return layers_flops(m, sequence, count) * tokens(sequence, batch);
}

double selective_recompute_flops(const Transformer& m, int sequence, std::int64_t batch,
                                 AttentionCount count) {
  return m.layers * attention_core_flops(m, sequence, count) * tokens(sequence, batch);
}

}  // namespace fabricast
