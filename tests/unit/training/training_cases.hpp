#pragma once
// Transformers of publications that are no presets, and layouts, for tests.

#include "models/training/model/layout.hpp"

namespace fabricast::test {

/// A GPT with learned positions as Narayanan et al. 2021 and Korthikanti et al. 2022 trained it.
inline Transformer gpt(int layers, int hidden, int heads) {
  Transformer out;
  out.name = "gpt";
  out.layers = layers;
  out.hidden = hidden;
  out.ffn = 4 * hidden;
  out.mlp = Mlp::gelu;
  out.heads = out.kv_heads = heads;
  out.head_dim = hidden / heads;
  out.vocabulary = 51200;
  out.positions = 2048;
  out.norm = Norm::layer;
  out.biases = out.tied_embeddings = true;
  return out;
}
inline Transformer gpt_22b() { return gpt(48, 6144, 64); }
inline Transformer gpt_175b() { return gpt(96, 12288, 96); }
inline Transformer gpt_530b() { return gpt(105, 20480, 128); }
inline Transformer gpt_1t() { return gpt(128, 25600, 160); }

/// One micro-batch per stage and replica and more, sequences of 2048.
inline Layout layout(int gpus, int tensor, int pipeline, int virtual_stages, int micro_batch,
                     int global_batch) {
  Layout out;
  out.gpus = gpus;
  out.tensor = tensor;
  out.pipeline = pipeline;
  out.virtual_stages = virtual_stages;
  out.sequence = 2048;
  out.micro_batch = micro_batch;
  out.global_batch = global_batch;
  out.precision = Precision::fp16;
  out.sharding = Sharding::none;
  out.recompute = Recompute::none;
  out.schedule = virtual_stages > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
  return out;
}

}  // namespace fabricast::test
