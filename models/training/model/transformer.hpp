#pragma once
// A transformer as its shape: what parameters, FLOPs and bytes follow from. Dense or mixture of
// experts, grouped queries or latent attention.

#include <cstdint>
#include <optional>
#include <string>

namespace fabricast {

enum class Mlp : std::uint8_t { gelu, relu, squared_relu, swiglu };
/// Matrices h x f of it: a gated one has three.
constexpr int matrices(Mlp mlp) { return mlp == Mlp::swiglu ? 3 : 2; }

enum class Norm : std::uint8_t { rms, layer };
/// Weights per hidden element: layer norm has a bias.
constexpr int weights(Norm norm) { return norm == Norm::layer ? 2 : 1; }

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries, keys and values through
/// low-rank projections. head_dim is not used then.
struct LatentAttention {
  int query_rank = 0, kv_rank = 0;
  int nope_dim = 0, rope_dim = 0;  ///< of a query or key: without and with rotary position
  int value_dim = 0;
  bool operator==(const LatentAttention&) const = default;
};

struct Experts {
  int count = 0;
  int per_token = 0;
  int ffn = 0;           ///< of one expert
  int shared_ffn = 0;    ///< of all shared experts together; 0 = none
  int dense_layers = 0;  ///< leading layers without experts
  bool operator==(const Experts&) const = default;
};

/// Layers that see the last tokens only (sliding windows), or keep a state of fixed size, counted
/// as the tokens whose keys and values are as many bytes.
struct LocalAttention {
  int every = 1;           ///< every so many layers one sees all tokens
  int window = 0;          ///< tokens that the others see
  bool recurrent = false;  ///< they keep a state (linear attention), in chunks of many kernels
  bool operator==(const LocalAttention&) const = default;
};

struct Transformer {
  std::string name, title;
  int layers = 0;
  int hidden = 0;
  int ffn = 0;  ///< of dense layers
  Mlp mlp = Mlp::swiglu;
  int heads = 0;
  int kv_heads = 0;  ///< = heads where queries are not grouped
  int head_dim = 0;
  int vocabulary = 0;
  int positions = 0;  ///< learned ones; 0 = rotary or none
  bool rotary = false;
  Norm norm = Norm::rms;
  bool embedding_norm = false;  ///< one more norm after the embedding (BLOOM)
  bool biases = false;          ///< of every linear layer
  bool tied_embeddings = false;
  std::optional<LatentAttention> latent;
  std::optional<Experts> experts;
  std::optional<LocalAttention> local;  ///< of inference; training counts full attention

  bool operator==(const Transformer&) const = default;

  int moe_layers() const { return experts ? layers - experts->dense_layers : 0; }
  /// Layers whose attention sees all tokens.
  int global_layers() const { return local ? layers / local->every : layers; }
  int query_width() const;  ///< of all heads together, as scores see it
  int key_width() const;
  int value_width() const;          ///< of the key/value heads
  int attention_out_width() const;  ///< of all heads together
  /// Elements of the projections before the attention: q, k, v, and latents.
  int projected_width() const;
};

/// How many weights there are, by where they live. Norms are counted apart: some published sums
/// leave them out.
struct ParameterCount {
  std::int64_t attention = 0;  ///< of one layer, biases included
  std::int64_t dense_mlp = 0;  ///< of one dense layer, biases included
  std::int64_t expert = 0;     ///< one routed expert
  std::int64_t shared = 0;     ///< shared experts and router of one layer
  std::int64_t layer_norms = 0;
  std::int64_t embedding = 0;  ///< token embedding
  std::int64_t positions = 0;
  std::int64_t output = 0;       ///< 0 where tied
  std::int64_t outer_norms = 0;  ///< final, and after the embedding
  std::int64_t dense_layer() const { return attention + dense_mlp + layer_norms; }
};

ParameterCount count_parameters(const Transformer& model);
std::int64_t all_parameters(const Transformer& model);
std::int64_t norm_parameters(const Transformer& model);
/// Those a token meets: of the experts only the routed ones. Embedding and output once each.
std::int64_t active_parameters(const Transformer& model);

/// Whether what a causal mask hides counts as work. Publications differ.
enum class AttentionCount : std::uint8_t { full, causal };

/// FLOPs of one token in a sequence, two per multiply-add. Output layer included.
double forward_flops_per_token(const Transformer& model, int sequence, AttentionCount count);
/// FLOPs of one optimizer step: forward and twice that backward. Recomputation does not count.
double model_flops(const Transformer& model, int sequence, std::int64_t batch,
                   AttentionCount count);
/// What full recomputation adds: the layers' forward, without the output layer.
double full_recompute_flops(const Transformer& model, int sequence, std::int64_t batch,
                            AttentionCount count);
/// What recomputing the attention core alone adds (Korthikanti et al., arXiv 2205.05198).
double selective_recompute_flops(const Transformer& model, int sequence, std::int64_t batch,
                                 AttentionCount count);

}  // namespace fabricast
