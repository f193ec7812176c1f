#pragma once
// Serving a transformer: what one forward pass of an engine takes, of prompts, of requests that get
// their next token, or of both at once.

#include <functional>
#include <string>

#include "models/training/calls/collective_times.hpp"
#include "models/training/model/gpu_compute.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// Kernels of an engine in place of NCCL's. In seconds; empty = NCCL's collectives.
struct ServeKernels {
  std::function<double(double bytes)> all_reduce;  ///< of a TP group; below 0 = left to NCCL
  /// Tokens of a rank to their experts and back, of one layer.
  std::function<double(double tokens)> dispatch, combine;
  /// Without those: every GPU gets the tokens of all copies (all-gather) and sums what its experts
  /// make of them with the others (reduce-scatter), instead of an all-to-all.
  bool gathers = false;
  /// Two halves of a batch take turns: while tokens of one are under way the other is computed.
  bool takes_turns = false;
  double sms_beside = 0;  ///< share of the multiprocessors that dispatch and combine take meanwhile
};

/// Ranks in the order TP, DP, PP. Attention is cut into `tensor` and copied `data` times, each copy
/// with requests of its own; experts lie on `expert` of the tensor x data GPUs, each cut into what
/// is left. By default data = expert.
struct ServeSetup {
  Transformer model;
  GpuCompute gpu;
  Precision precision = Precision::bf16;  ///< of weights
  int tensor = 1, pipeline = 1, expert = 1;
  int batch = 1;   ///< requests at a time
  int prompt = 1;  ///< tokens of a request
  int data = 0;    ///< 0 = expert
  ServeKernels kernels = {};
  /// Bytes of an element of keys and values; 0 = 2, and 1 where weights have 8 bits or fewer.
  double cache_element = 0;
  std::string library = "trtllm";  ///< whose kernels (workloads/kernels.yaml)
  /// SGLang's products with block scales are FlashInfer's on Blackwell, not DeepGEMM's.
  bool flashinfer_blocks = false;
  /// TensorRT-LLM's products in fp8 find the scale of their inputs in each call, as those of a
  /// checkpoint in 16 bits do; else it stands in the checkpoint.
  bool finds_scales = false;
  /// A compiler fuses the quantising of a product's input with what computes it.
  bool fuses_quantising = false;
  int drafts = 0;  ///< tokens that a pass checks for a request beside its next one

  int copies() const { return data > 0 ? data : expert; }
  int gpus_of_stage() const { return tensor * copies(); }
  int expert_tensor() const { return gpus_of_stage() / expert; }
  /// Requests of the rank that has most.
  int local_batch() const { return (batch + copies() - 1) / copies(); }
};

/// Seconds.
struct ServeTime {
  double gemm = 0, attention = 0, elementwise = 0;
  double tensor = 0, expert = 0, pipeline = 0;  ///< communication, all of it exposed
  double host = 0;                              ///< of the engine, while the GPU waits

  double communication() const { return tensor + expert + pipeline; }
  double total() const { return gemm + attention + elementwise + communication() + host; }
  ServeTime& operator+=(const ServeTime& other);
};
ServeTime operator*(double times, ServeTime time);

/// What a forward pass works on, of the copy that has most of each.
struct ServeBatch {
  double prompt_tokens = 0;  ///< of prompts, not computed before
  double pairs = 0;          ///< of such a token and one before it that it sees
  double prompts = 0;        ///< requests that they are of
  double decodes = 0;        ///< requests that get tokens
  double decode_tokens = 0;  ///< computed for them: more than one each where drafts are checked
  double context = 0;        ///< tokens before those, of all these requests together
  double all_tokens = 0;     ///< computed by all copies; experts see them all

  double rows() const { return prompts + decode_tokens; }  ///< of whom logits are needed
  double tokens() const { return prompt_tokens + decode_tokens; }
};

/// What a stage has of it: a pipeline has as many batches under way as stages, each with its share
/// of the requests, and all of them get a token while one goes through.
ServeBatch batch_of_stage(const ServeSetup& setup, ServeBatch batch);

// A pass in its parts, which add up.
/// The layers without attention: follows from numbers of tokens alone.
ServeTime layers_time(const ServeSetup& setup, double tokens, double all_tokens,
                      CollectiveTimes& collectives);
/// Kernels of such layers that do nothing but quantise inputs of products, those of routed experts
/// apart: what the engine does not fuse with the kernel before.
double quantising_kernels(const ServeSetup& setup, double tokens);
/// Logits of so many tokens.
ServeTime logits_time(const ServeSetup& setup, double rows, CollectiveTimes& collectives);
/// Attention of all layers, in seconds.
double attention_time(const ServeSetup& setup, const ServeBatch& batch);

/// With setup.kernels.takes_turns: dispatch and combine that compute of the other half hides are no
/// part of the time; those SMs are missing to it. Of the sum of all parts.
void hide_experts(const ServeSetup& setup, ServeTime& time);

/// All of it.
ServeTime pass_time(const ServeSetup& setup, const ServeBatch& batch, CollectiveTimes& collectives);

/// From the prompts of the batch to their first tokens.
ServeTime prefill_time(const ServeSetup& setup, CollectiveTimes& collectives);
/// One more token for every request, each with `context` tokens before it; with drafts as many as
/// turn out to be right.
ServeTime decode_time(const ServeSetup& setup, double context, CollectiveTimes& collectives);

/// Bytes of a GPU: weights, and keys and values of the batch at `context` tokens.
struct ServeMemory {
  double weights = 0, cache = 0;
  double all() const { return weights + cache; }
};
ServeMemory serve_memory(const ServeSetup& setup, double context);
/// Keys and values of one request at `context` tokens, of one GPU.
double cache_bytes(const ServeSetup& setup, double context);

}  // namespace fabricast
