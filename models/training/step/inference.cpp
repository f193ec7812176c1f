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

double element_of_cache(const ServeSetup& s) {
  if (s.cache_element > 0) return s.cache_element;
  return is_8bit_or_less(s.precision) ? 1 : kHalf;
}

/// Keys and values of one token in one layer on one GPU.
double cache_per_token(const ServeSetup& s) {
  const Transformer& m = s.model;
  // Latent attention keeps what keys and values are made from, on every rank.
  const double width = m.latent
                           ? m.latent->kv_rank + m.latent->rope_dim
                           : (m.key_width() + m.value_width()) / std::min(s.tensor, m.kv_heads);
  return width * element_of_cache(s);
}

/// Tokens that layers see of `context`, times layers: windows end where the context does.
double seen(const Transformer& m, double context) {
  if (!m.local) return m.layers * context;
  const int global = m.global_layers();
  return global * context + (m.layers - global) * std::min<double>(context, m.local->window);
}

/// The layers of one forward pass, without attention.
class Pass {
 public:
  Pass(const ServeSetup& setup, double tokens, double all_tokens, CollectiveTimes& collectives)
      : s_(setup),
        m_(setup.model),
        tokens_(tokens),
        all_tokens_(all_tokens),
        collectives_(collectives) {}

  ServeTime all_layers() {
    const int moe = m_.moe_layers();
    layers(m_.layers - moe, false);
    layers(moe, true);
    if (s_.pipeline > 1) {
      const RankGroup pair{2, s_.gpus_of_stage()};
      out_.pipeline += (s_.pipeline - 1) *
                       seconds(collectives_.cost(Collective::sendrecv, pair, activations()).time);
    }
    return out_;
  }
  ServeTime logits(double rows) {
    gemm(1, rows, static_cast<double>(m_.vocabulary) / s_.tensor, m_.hidden, 1);
    out_.tensor += cost(Collective::all_gather, kHalf * rows * m_.vocabulary);
    return out_;
  }

 private:
  double activations() const { return kHalf * tokens_ * m_.hidden; }
  double cost(Collective collective, double bytes) {
    return seconds(collectives_.cost(collective, {s_.tensor, 1}, bytes).time);
  }
  double all_reduce(double bytes) {
    if (s_.tensor > 1 && s_.kernels.all_reduce)
      if (const double own = s_.kernels.all_reduce(bytes); own >= 0) return own;
    return cost(Collective::all_reduce, bytes);
  }
  void gemm(int times, double m, double n, double k, double batch) {
    const GemmShape shape{m, n, k, batch};
    out_.gemm += times * (batch > 1 ? grouped_gemm_time(s_.gpu, s_.precision, shape)
                                    : gemm_time(s_.gpu, s_.precision, shape));
  }

  void layers(int count, bool moe) {
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
    const double bytes = activations();
    const double kernel = elementwise_time(s_.gpu, 3 * bytes);
    out_.elementwise += count * kSmallKernels * kernel;
    out_.tensor += count * 2 * all_reduce(bytes);
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
    const double cut = s_.expert_tensor();
    gemm(count, each, (matrices(m_.mlp) - 1) * e.ffn / cut, m_.hidden, hit);
    gemm(count, each, m_.hidden, e.ffn / cut, hit);
    if (e.shared_ffn > 0) {
      // A copy of attention has the shared experts too.
      gemm(count, tokens_, (matrices(m_.mlp) - 1) * e.shared_ffn / s_.tensor, m_.hidden, 1);
      gemm(count, tokens_, m_.hidden, e.shared_ffn / s_.tensor, 1);
    }
    // One copy: all its GPUs have all tokens, and the all-reduce after the experts sums them.
    if (s_.copies() == 1) return;
    if (s_.kernels.dispatch) {
      out_.expert += count * (s_.kernels.dispatch(tokens_) + s_.kernels.combine(tokens_));
      return;
    }
    const RankGroup group{s_.copies(), s_.tensor};
    const double moved = kHalf * tokens_ * e.per_token * m_.hidden;
    out_.expert += count * 2 * seconds(collectives_.cost(Collective::alltoall, group, moved).time);
  }

  const ServeSetup& s_;
  const Transformer& m_;
  double tokens_, all_tokens_;  ///< of this rank, of all copies
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
  host += o.host;
  return *this;
}

ServeTime operator*(double times, ServeTime time) {
  for (double* part : {&time.gemm, &time.attention, &time.elementwise, &time.tensor, &time.expert,
                       &time.pipeline, &time.host})
    *part *= times;
  return time;
}

ServeTime layers_time(const ServeSetup& setup, double tokens, double all_tokens,
                      CollectiveTimes& collectives) {
  if (setup.kernels.takes_turns && tokens > 1)
    return 2 * Pass(setup, tokens / 2, all_tokens / 2, collectives).all_layers();
  return Pass(setup, tokens, all_tokens, collectives).all_layers();
}

ServeTime logits_time(const ServeSetup& setup, double rows, CollectiveTimes& collectives) {
  return Pass(setup, rows, rows, collectives).logits(rows);
}

double attention_time(const ServeSetup& s, const ServeBatch& batch) {
  const Transformer& m = s.model;
  double out = 0;
  if (batch.prompt_tokens > 0) {
    const double width = m.query_width() + m.attention_out_width();
    const double before = batch.pairs / batch.prompt_tokens;  // on average
    const double pairs = batch.prompt_tokens * seen(m, before);
    const double flops = 2 * pairs * width / s.tensor / m.layers;
    out +=
        m.layers * attention_time(s.gpu, flops, static_cast<int>(std::lround(2 * before)), false);
  }
  if (batch.decodes > 0) {
    const double requests = batch.decodes;
    const double read = requests * seen(m, batch.context / requests) * cache_per_token(s);
    double longest = read / (kCacheShare * memory_rate(s.gpu));
    if (m.latent) {
      // Queries meet latents, which all heads share: FLOPs may take longer than bytes.
      const LatentAttention& a = *m.latent;
      const double flops = 2.0 * (2 * a.kv_rank + a.rope_dim) * m.heads / s.tensor * m.layers *
                           batch.context * batch.decode_tokens / requests;
      const double rate = s.gpu.gemm[static_cast<std::size_t>(Precision::bf16)].peak;
      longest = std::max(longest, flops / (rate * s.gpu.attention_forward));
    }
    out += std::max(longest, m.layers * seconds(s.gpu.kernel_floor));
  }
  return out;
}

void hide_experts(const ServeSetup& setup, ServeTime& time) {
  if (!setup.kernels.takes_turns) return;
  const double hidden = std::min(time.expert, time.gemm + time.attention + time.elementwise);
  time.expert -= hidden;
  time.gemm += hidden * setup.kernels.sms_beside;
}

ServeTime pass_time(const ServeSetup& setup, const ServeBatch& batch,
                    CollectiveTimes& collectives) {
  ServeTime out =
      layers_time(setup, batch.tokens(), std::max(batch.all_tokens, batch.tokens()), collectives);
  out += logits_time(setup, batch.rows(), collectives);
  out.attention += attention_time(setup, batch);
  hide_experts(setup, out);
  return out;
}

ServeTime prefill_time(const ServeSetup& s, CollectiveTimes& collectives) {
  const double prompts = s.local_batch();
  ServeBatch batch;
  batch.prompts = prompts;
  batch.prompt_tokens = prompts * s.prompt;
  batch.pairs = batch.prompt_tokens * s.prompt / 2;
  batch.all_tokens = static_cast<double>(s.batch) * s.prompt;
  ServeTime out = pass_time(s, batch, collectives);
  // Stages work at the same time on prompts of different requests.
  const int stages = s.pipeline;
  const double share = (prompts + stages - 1) / (prompts * stages);
  for (double* part : {&out.gemm, &out.attention, &out.elementwise, &out.tensor, &out.expert})
    *part *= share;
  return out;
}

ServeTime decode_time(const ServeSetup& s, double context, CollectiveTimes& collectives) {
  ServeBatch batch;
  batch.decodes = batch.decode_tokens = s.local_batch();
  batch.context = batch.decodes * context;
  batch.all_tokens = s.batch;
  return pass_time(s, batch, collectives);
}

ServeMemory serve_memory(const ServeSetup& s, double context) {
  const ParameterCount count = count_parameters(s.model);
  ServeMemory out;
  const double experts = s.model.experts
                             ? static_cast<double>(s.model.moe_layers()) * s.model.experts->count *
                                   static_cast<double>(count.expert)
                             : 0;
  const double rest = static_cast<double>(all_parameters(s.model)) - experts;
  out.weights =
      element_bytes(s.precision) * (rest / s.tensor + experts / s.gpus_of_stage()) / s.pipeline;
  out.cache = s.local_batch() * cache_bytes(s, context);
  return out;
}

double cache_bytes(const ServeSetup& s, double context) {
  return seen(s.model, context) * cache_per_token(s) / s.pipeline;
}

}  // namespace fabricast
