#include "models/training/step/inference.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

constexpr double kHalf = 2;  // bytes
// Kernels of a layer that are no GEMM and no attention, with CUDA graphs: norms with residuals,
// rotary and cache, activation, and what engines leave unfused. 6 to 10 in published engines.
constexpr double kSmallKernels = 8;
// Share of the memory's rate at which attention kernels read keys and values: 0.6 to 0.8 measured.
constexpr double kCacheShare = 0.7;

double memory_rate(const GpuCompute& gpu) {
  return static_cast<double>(gpu.memory_rate.bytes_per_s);
}

double cache_bytes(Precision precision) { return is_8bit_or_less(precision) ? 1 : kHalf; }

/// Keys and values of one token in one layer on one GPU.
double cache_per_token(const ServeSetup& s) {
  const Transformer& m = s.model;
  // Latent attention keeps what keys and values are made from, on every rank.
  const double width = m.latent
                           ? m.latent->kv_rank + m.latent->rope_dim
                           : (m.key_width() + m.value_width()) / std::min(s.tensor, m.kv_heads);
  return width * cache_bytes(s.precision);
}

/// One forward pass over so many tokens of each request.
class Pass {
 public:
  Pass(const ServeSetup& setup, int tokens_each, CollectiveTimes& collectives)
      : s_(setup),
        m_(setup.model),
        tokens_(static_cast<double>(tokens_each) * setup.local_batch()),
        all_tokens_(static_cast<double>(tokens_each) * setup.batch),
        collectives_(collectives) {}

  /// `layer_attention` is that of one layer.
  ServeTime run(double layer_attention) {
    const int moe = m_.moe_layers();
    layers(m_.layers - moe, false, layer_attention);
    layers(moe, true, layer_attention);
    // Logits of the last token of each request only.
    const int requests = s_.local_batch();
    gemm(1, requests, static_cast<double>(m_.vocabulary) / s_.tensor, m_.hidden, 1);
    out_.tensor += cost(Collective::all_gather, kHalf * requests * m_.vocabulary);
    if (s_.pipeline > 1) {
      const RankGroup pair{2, s_.tensor * s_.expert};
      out_.pipeline += (s_.pipeline - 1) *
                       seconds(collectives_.cost(Collective::sendrecv, pair, activations()).time);
    }
    return out_;
  }

 private:
  double activations() const { return kHalf * tokens_ * m_.hidden; }
  double cost(Collective collective, double bytes) {
    return seconds(collectives_.cost(collective, {s_.tensor, 1}, bytes).time);
  }
  void gemm(int times, double m, double n, double k, double batch) {
    const GemmShape shape{m, n, k, batch};
    out_.gemm += times * (batch > 1 ? grouped_gemm_time(s_.gpu, s_.precision, shape)
                                    : gemm_time(s_.gpu, s_.precision, shape));
  }

  void layers(int count, bool moe, double layer_attention) {
    if (count == 0) return;
    const double t = s_.tensor, h = m_.hidden;
    if (m_.latent) {
      const LatentAttention& a = *m_.latent;
      gemm(count, tokens_, a.query_rank + a.kv_rank + a.rope_dim, h, 1);
      gemm(count, tokens_, m_.query_width() / t, a.query_rank, 1);
      gemm(count, tokens_, m_.heads * (a.nope_dim + a.value_dim) / t, a.kv_rank, 1);
    } else {
      gemm(count, tokens_, m_.projected_width() / t, h, 1);
    }
    gemm(count, tokens_, h, m_.attention_out_width() / t, 1);
    out_.attention += count * layer_attention;
    const double bytes = activations();
    const double kernel = elementwise_time(s_.gpu, 3 * bytes);
    out_.elementwise += count * kSmallKernels * kernel;
    out_.tensor += count * 2 * cost(Collective::all_reduce, bytes);
    if (moe) {
      experts(count);
    } else {
      gemm(count, tokens_, (matrices(m_.mlp) - 1) * m_.ffn / t, h, 1);
      gemm(count, tokens_, h, m_.ffn / t, 1);
    }
  }

  void experts(int count) {
    const Experts& e = *m_.experts;
    const double rows = all_tokens_ * e.per_token;
    // Experts that any of the tokens go to, of those on this GPU.
    const double none = std::pow(1 - static_cast<double>(e.per_token) / e.count, all_tokens_);
    const double hit = std::max(1.0, e.count * (1 - none) / s_.expert);
    const double each = std::max(1.0, rows / s_.expert / hit);
    const double cut = s_.tensor;
    gemm(count, each, (matrices(m_.mlp) - 1) * e.ffn / cut, m_.hidden, hit);
    gemm(count, each, m_.hidden, e.ffn / cut, hit);
    if (e.shared_ffn > 0) {
      gemm(count, tokens_, (matrices(m_.mlp) - 1) * e.shared_ffn / cut, m_.hidden, 1);
      gemm(count, tokens_, m_.hidden, e.shared_ffn / cut, 1);
    }
    if (s_.expert == 1) return;
    const RankGroup group{s_.expert, s_.tensor};
    const double moved = kHalf * tokens_ * e.per_token * m_.hidden;
    out_.expert += count * 2 * seconds(collectives_.cost(Collective::alltoall, group, moved).time);
  }

  const ServeSetup& s_;
  const Transformer& m_;
  double tokens_, all_tokens_;  ///< of this rank, of all of EP
  CollectiveTimes& collectives_;
  ServeTime out_;
};

}  // namespace

ServeTime& ServeTime::operator+=(const ServeTime& o) {
  gemm += o.gemm;
  attention += o.attention;
  elementwise += o.elementwise;
  tensor += o.tensor;
  expert += o.expert;
  pipeline += o.pipeline;
  return *this;
}

ServeTime prefill_time(const ServeSetup& s, CollectiveTimes& collectives) {
  const Transformer& m = s.model;
  const double tokens = static_cast<double>(s.local_batch()) * s.prompt;
  const double flops = tokens * s.prompt * (m.query_width() + m.attention_out_width()) / s.tensor;
  ServeTime out = Pass(s, s.prompt, collectives).run(attention_time(s.gpu, flops, s.prompt, false));
  // Stages work at the same time on prompts of different requests.
  const int stages = s.pipeline, prompts = s.local_batch();
  const double share = static_cast<double>(prompts + stages - 1) / (prompts * stages);
  for (double* part : {&out.gemm, &out.attention, &out.elementwise, &out.tensor, &out.expert})
    *part *= share;
  return out;
}

ServeTime decode_time(const ServeSetup& s, double context, CollectiveTimes& collectives) {
  const double read = s.local_batch() * context * cache_per_token(s);
  const double attention =
      std::max(read / (kCacheShare * memory_rate(s.gpu)), seconds(s.gpu.kernel_floor));
  return Pass(s, 1, collectives).run(attention);
}

ServeMemory serve_memory(const ServeSetup& s, double context) {
  const ParameterCount count = count_parameters(s.model);
  ServeMemory out;
  const double experts = s.model.experts
                             ? static_cast<double>(s.model.moe_layers()) * s.model.experts->count *
                                   static_cast<double>(count.expert)
                             : 0;
  const double rest = static_cast<double>(all_parameters(s.model)) - experts;
  out.weights = element_bytes(s.precision) * (rest + experts / s.expert) / s.tensor / s.pipeline;
  out.cache = s.local_batch() * context * cache_per_token(s) * s.model.layers / s.pipeline;
  return out;
}

}  // namespace fabricast
