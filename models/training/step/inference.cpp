#include "models/training/step/inference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "models/training/layers/layer_calls.hpp"

namespace fabricast {

namespace {

// Kernels of a layer that are no GEMM and no attention, with CUDA graphs: norms with residuals,
// rotary and cache, activation, and what engines leave unfused. 6 to 10 in published engines.
constexpr double kSmallKernels = 8;

double element_of_cache(const ServeSetup& s) {
  if (s.cache_element > 0) return s.cache_element;
  return is_8bit_or_less(s.precision) ? 1 : kHalf;
}

const GpuKernels& kernels_of(const ServeSetup& s) {
  return s.gpu.libraries.find(s.library)->second;
}

/// Of a product, as it was measured.
double product_time(const ServeSetup& s, const char* dtype, const GemmWork& work) {
  constexpr const char* kFlashinfer = "fp8_block, flashinfer";
  const GpuKernels& kernels = kernels_of(s);
  const bool flashinfer = s.flashinfer_blocks && dtype == std::string_view("fp8_block") &&
                          kernels.has_own(KernelFamily::gemm, kFlashinfer);
  return kernels.seconds(KernelFamily::gemm, flashinfer ? kFlashinfer : dtype, work);
}

/// The measured datatype that is computed alike. What a GPU does not multiply is widened first.
/// Checkpoints of models with experts in 8 bits have a scale for each block of 128 x 128 weights
/// (weight_block_size in config.json of deepseek-ai/DeepSeek-R1 and Qwen/Qwen3-235B-A22B-FP8).
const char* gemm_dtype(const ServeSetup& s) {
  const bool native = kernels_of(s).gpu().flops[s.precision == Precision::nvfp4 ? 2 : 1] > 0;
  switch (s.precision) {
    case Precision::fp16:
    case Precision::bf16:
      return "bfloat16";
    case Precision::nvfp4:
      return native ? "nvfp4" : "int4_wo";
    case Precision::mxfp8:
      return native ? "fp8_block" : "int8_wo";
    case Precision::fp8:
    case Precision::fp8_rows:
      if (native && s.model.experts) return "fp8_block";
      return native ? "fp8" : "int8_wo";
  }
  return "bfloat16";
}

const char* experts_dtype(const ServeSetup& s) {
  const char* const dtype = gemm_dtype(s);
  return dtype == std::string_view("int8_wo") ? "bfloat16" : dtype;
}

/// Experts in 4 bits are published with attention in 16: gpt-oss-120b in MXFP4 and DeepSeek-R1's
/// checkpoints by ModelOpt (model cards of openai/gpt-oss-120b, nvidia/DeepSeek-R1-0528-FP4).
const char* projections_dtype(const ServeSetup& s) {
  const bool apart = s.precision == Precision::nvfp4 && s.model.experts;
  return apart ? "bfloat16" : gemm_dtype(s);
}

/// But the product after latent attention has 4 ("additionally quantizes the wo module": model card
/// of nvidia/DeepSeek-R1-0528-FP4-v2, which InferenceX runs).
const char* attention_out_dtype(const ServeSetup& s) {
  return s.model.latent ? gemm_dtype(s) : projections_dtype(s);
}

/// What computes the input of a product.
enum class Producer : std::uint8_t { norm, attention, activation };

/// What TensorRT-LLM's products in fp8 have: a scale of their inputs that stands in the checkpoint
/// (input_scale; nvidia/Llama-3.3-70B-Instruct-FP8), or one that is found in each call. Others find
/// one for each token, as their kernels were measured.
enum class Scales : std::uint8_t { as_measured, known, found };
Scales scales_of(const ServeSetup& s, std::string_view dtype) {
  if (s.library != "trtllm" || dtype != "fp8") return Scales::as_measured;
  return s.finds_scales ? Scales::found : Scales::known;
}

/// Whether that input is quantised by a kernel of its own. SGLang's all are (sgl-project/sglang,
/// issue 31504). TensorRT-LLM and vLLM quantise in attention that is not latent (attention.py:
/// out_scale; vLLM's fuse_attn_quant), and in dense models with the norm in an all-reduce kernel of
/// their own (modeling_llama.py; vLLM's fuse_allreduce_rms: few tokens). Not what waits for its
/// scale to be found.
bool is_quantised_apart(const ServeSetup& s, double tokens, Producer producer) {
  if (s.fuses_quantising) return false;
  if (s.library == "sglang" || producer == Producer::activation) return true;
  if (scales_of(s, gemm_dtype(s)) == Scales::found) return true;
  if (producer == Producer::attention) return s.model.latent.has_value();
  return s.model.experts || s.tensor == 1 || !s.kernels.all_reduce ||
         s.kernels.all_reduce(kHalf * tokens * s.model.hidden) < 0;
}

const char* attention_dtype(const ServeSetup& s) {
  return element_of_cache(s) < kHalf ? "bfloat16, fp8 cache" : "bfloat16";
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
    gemm({1, Producer::norm}, rows, static_cast<double>(m_.vocabulary) / s_.tensor, m_.hidden,
         "bfloat16");
    out_.tensor += cost(Collective::all_gather, kHalf * rows * m_.vocabulary);
    return out_;
  }

 private:
  double activations() const { return kHalf * tokens_ * m_.hidden; }
  double cost(Collective collective, double bytes) {
    return cost(collective, {s_.tensor, 1}, bytes);
  }
  double cost(Collective collective, const RankGroup& group, double bytes) {
    return seconds(collectives_.cost(collective, group, bytes).time);
  }
  /// Bytes of an element on its way to experts: TensorRT-LLM quantises first (allgather of x and
  /// x_sf in tensorrt_llm/_torch/modules/fused_moe/fused_moe_cutlass.py).
  double gathered(const Operands& operands) const {
    return s_.library == "trtllm" ? operands.input : kHalf;
  }
  double all_reduce(double bytes) {
    if (s_.tensor > 1 && s_.kernels.all_reduce)
      if (const double own = s_.kernels.all_reduce(bytes); own >= 0) return own;
    return cost(Collective::all_reduce, bytes);
  }
  struct Products {
    int count = 1;
    Producer after = Producer::norm;
  };
  void gemm(Products products, double m, double n, double k) {
    gemm(products, m, n, k, gemm_dtype(s_));
  }
  void gemm(Products products, double m, double n, double k, const char* dtype) {
    GemmWork work{m, n, k, 1, kHalf, operands_of(dtype)};
    work.operands.cast = work.operands.cast && is_quantised_apart(s_, tokens_, products.after);
    work.copies = m_.layers;
    if (work.operands.cast && scales_of(s_, dtype) == Scales::known) {
      work.operands.cast = false;
      out_.gemm += products.count * kernels_of(s_).seconds(KernelFamily::scale, dtype,
                                                           MoveWork{kHalf * m * k, m * k});
    }
    out_.gemm += products.count * product_time(s_, dtype, work);
  }

  void layers(int count, bool moe) {
    if (count == 0) return;
    const double t = s_.tensor, h = m_.hidden;
    const Products normed{count, Producer::norm}, attended{count, Producer::attention},
        activated{count, Producer::activation};
    const char* const dtype = projections_dtype(s_);
    if (m_.latent) {
      const LatentAttention& a = *m_.latent;
      gemm(normed, tokens_, a.query_rank + a.kv_rank + a.rope_dim, h, dtype);
      gemm(normed, tokens_, m_.query_width() / t, a.query_rank, dtype);
      gemm(normed, tokens_, m_.heads * (a.nope_dim + a.value_dim) / t, a.kv_rank, dtype);
    } else {
      gemm(normed, tokens_, m_.projected_width() / t, h, dtype);
    }
    gemm(attended, tokens_, h, m_.attention_out_width() / t, attention_out_dtype(s_));
    const double bytes = activations();
    const double kernel = elementwise_time(s_.gpu, 3 * bytes);
    out_.elementwise += count * kSmallKernels * kernel;
    out_.tensor += count * 2 * all_reduce(bytes);
    if (moe) {
      experts(count);
    } else {
      gemm(normed, tokens_, (matrices(m_.mlp) - 1) * m_.ffn / t, h);
      gemm(activated, tokens_, h, m_.ffn / t);
    }
  }

  void experts(int count) {
    const Experts& e = *m_.experts;
    const char* const dtype = experts_dtype(s_);
    ExpertWork work;
    work.tokens = tokens_;
    work.hidden = m_.hidden;
    work.ffn = static_cast<double>(e.ffn) / s_.expert_tensor();
    work.experts = static_cast<double>(e.count) / s_.expert;
    work.up = matrices(m_.mlp) - 1;
    work.operands = operands_of(dtype);
    work.loads = random_loads(all_tokens_, e.per_token, e.count, s_.expert);
    out_.gemm += count * kernels_of(s_).seconds(KernelFamily::experts, dtype, work);
    if (e.shared_ffn > 0) {
      // A copy of attention has the shared experts too.
      gemm({count, Producer::norm}, tokens_, (matrices(m_.mlp) - 1) * e.shared_ffn / s_.tensor,
           m_.hidden);
      gemm({count, Producer::activation}, tokens_, m_.hidden, e.shared_ffn / s_.tensor);
    }
    // One copy: all its GPUs have all tokens, and the all-reduce after the experts sums them.
    if (s_.copies() == 1) return;
    if (s_.kernels.dispatch) {
      out_.expert += count * (s_.kernels.dispatch(tokens_) + s_.kernels.combine(tokens_));
      return;
    }
    const RankGroup group{s_.copies(), s_.tensor};
    if (s_.kernels.gathers) {
      const double all = tokens_ * s_.copies() * m_.hidden;
      out_.expert += count * (cost(Collective::all_gather, group, gathered(work.operands) * all) +
                              cost(Collective::reduce_scatter, group, kHalf * all));
      return;
    }
    const double moved = kHalf * tokens_ * e.per_token * m_.hidden;
    out_.expert += count * 2 * cost(Collective::alltoall, group, moved);
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

double quantising_kernels(const ServeSetup& s, double tokens) {
  const auto kernels = [&](const char* dtype, Producer producer, double products) {
    return operands_of(dtype).cast && is_quantised_apart(s, tokens, producer) ? products : 0.0;
  };
  const Transformer& m = s.model;
  const double projections = kernels(projections_dtype(s), Producer::norm, m.latent ? 3 : 1) +
                             kernels(attention_out_dtype(s), Producer::attention, 1);
  const double mlp =
      kernels(gemm_dtype(s), Producer::norm, 1) + kernels(gemm_dtype(s), Producer::activation, 1);
  const bool shares = m.experts && m.experts->shared_ffn > 0;
  return m.layers * projections + (shares ? m.layers : m.layers - m.moe_layers()) * mlp;
}

ServeTime logits_time(const ServeSetup& setup, double rows, CollectiveTimes& collectives) {
  return Pass(setup, rows, rows, collectives).logits(rows);
}

namespace {

/// Attention of prompts in one layer that sees `window` tokens; 0 = all.
double context_time(const ServeSetup& s, const ServeBatch& batch, double window) {
  const Transformer& m = s.model;
  const double before = batch.pairs / batch.prompt_tokens;  // on average
  ContextWork work;
  work.tokens = std::max(1.0, 2 * before);
  work.batch = std::max(1.0, batch.prompts);
  work.heads = static_cast<double>(m.heads) / s.tensor;
  work.kv_heads = m.latent ? work.heads : std::max(1.0, static_cast<double>(m.kv_heads) / s.tensor);
  work.key_dim = static_cast<double>(m.query_width()) / m.heads;
  work.value_dim = static_cast<double>(m.attention_out_width()) / m.heads;
  work.window = window < work.tokens ? window : 0;
  work.cache_bytes = element_of_cache(s);
  const KernelFamily family = m.latent ? KernelFamily::latent_context : KernelFamily::context;
  // Of prompts that are computed in pieces, the part that these tokens are.
  const double part = batch.prompt_tokens / (work.batch * work.tokens);
  return part * kernels_of(s).seconds(family, attention_dtype(s), work);
}

/// The same of requests that get tokens.
double decoding_time(const ServeSetup& s, const ServeBatch& batch, double window) {
  const Transformer& m = s.model;
  DecodeWork work;
  work.batch = batch.decodes;
  work.tokens = std::max(1.0, batch.context / batch.decodes);
  work.heads = static_cast<double>(m.heads) / s.tensor * batch.decode_tokens / batch.decodes;
  work.cache_bytes = element_of_cache(s);
  if (m.latent) {
    work.key_dim = m.latent->kv_rank + m.latent->rope_dim;
    work.value_dim = m.latent->kv_rank;
    work.latent = true;
  } else {
    work.kv_heads = std::max(1.0, static_cast<double>(m.kv_heads) / s.tensor);
    work.key_dim = work.value_dim = m.head_dim;
    work.window = window;
  }
  const KernelFamily family = m.latent ? KernelFamily::latent_decode : KernelFamily::decode;
  return kernels_of(s).seconds(family, attention_dtype(s), work);
}

}  // namespace

double attention_time(const ServeSetup& s, const ServeBatch& batch) {
  const Transformer& m = s.model;
  const int global = m.global_layers(), local = m.layers - global;
  double out = 0;
  if (batch.prompt_tokens > 0) {
    out += global * context_time(s, batch, 0);
    if (local > 0) out += local * context_time(s, batch, m.local->window);
  }
  if (batch.decodes > 0) {
    out += global * decoding_time(s, batch, 0);
    if (local > 0) out += local * decoding_time(s, batch, m.local->window);
  }
  return out;
}

void hide_experts(const ServeSetup& setup, ServeTime& time) {
  if (!setup.kernels.takes_turns) return;
  const double hidden = std::min(time.expert, time.gemm + time.attention + time.elementwise);
  time.expert -= hidden;
  time.gemm += hidden * setup.kernels.sms_beside;
}

ServeBatch batch_of_stage(const ServeSetup& setup, ServeBatch batch) {
  const double stages = std::clamp<double>(batch.prompts + batch.decodes, 1, setup.pipeline);
  for (double* part : {&batch.prompt_tokens, &batch.pairs, &batch.prompts, &batch.decodes,
                       &batch.decode_tokens, &batch.context, &batch.all_tokens})
    *part /= stages;
  return batch;
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
  batch.decodes = s.local_batch();
  batch.decode_tokens = batch.decodes * (1 + s.drafts);
  batch.context = batch.decodes * context;
  batch.all_tokens = 1.0 * s.batch * (1 + s.drafts);
  return pass_time(s, batch_of_stage(s, batch), collectives);
}

namespace {

/// Parameters that checkpoints in 8 and 4 bits have in 16: embedding, output, norms and routers
/// (modules_to_not_convert in config.json of openai/gpt-oss-120b and Qwen/Qwen3-235B-A22B-FP8;
/// ModelOpt: only linear operators within transformer blocks), and what projections_dtype() says.
double kept_in_16_bits(const ServeSetup& s) {
  const Transformer& m = s.model;
  const ParameterCount count = count_parameters(m);
  double out =
      static_cast<double>(count.embedding + count.positions + count.output + norm_parameters(m));
  if (m.experts) out += 1.0 * m.moe_layers() * m.hidden * m.experts->count;
  if (s.precision != Precision::nvfp4 || !m.experts) return out;
  double projections = static_cast<double>(count.attention);
  if (m.latent) projections -= 1.0 * m.hidden * m.attention_out_width();
  return out + m.layers * projections;
}

}  // namespace

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
  out.weights += (kHalf - element_bytes(s.precision)) * kept_in_16_bits(s) / s.tensor / s.pipeline;
  out.cache = s.local_batch() * cache_bytes(s, context);
  return out;
}

double cache_bytes(const ServeSetup& s, double context) {
  return seen(s.model, context) * cache_per_token(s) / s.pipeline;
}

}  // namespace fabricast
