#include "models/training/model/gpu_compute.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace fabricast {

namespace {

/// Products that stay in 16 bits are bf16 here, and fp16 where a GPU has nothing else.
const GemmRate& rate_of(const GpuCompute& gpu, Precision precision) {
  const GemmRate& said = gpu.gemm[static_cast<std::size_t>(precision)];
  const bool other = precision == Precision::bf16 && said.peak == 0;
  return other ? gpu.gemm[static_cast<std::size_t>(Precision::fp16)] : said;
}

double memory_rate(const GpuCompute& gpu) {
  return static_cast<double>(gpu.memory_rate.bytes_per_s);
}

// Whose kernels stand for those of training: TensorRT-LLM multiplies by cuBLAS and CUTLASS,
// SGLang's attention is FlashAttention as it is published. Its 8-bit products are CUTLASS with a
// scale for each row, as PyTorch's "rowwise" ones are. Latent attention with keys of 192 and values
// of 128 is cuDNN's, near TensorRT-LLM's: SGLang's on Hopper reaches 170 TFLOP/s, that one 480.
constexpr std::string_view kProducts = "trtllm", kRowProducts = "sglang", kAttention = "sglang";
constexpr std::string_view kLatentAttention = "trtllm";
constexpr double kLayersApart = 64;  // of the same weights: none of them are in L2 any more

/// The measured datatype that is computed alike.
const char* measured_as(Precision precision) {
  if (precision == Precision::nvfp4) return "nvfp4";
  return is_8bit_or_less(precision) ? "fp8" : "bfloat16";
}

}  // namespace

double element_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp16:
    case Precision::bf16:
      return 2;
    case Precision::fp8:
    case Precision::fp8_rows:
      return 1;
    case Precision::mxfp8:
      return 1 + 1.0 / 32;  // one scale byte for 32 elements
    case Precision::nvfp4:
      return 0.5 + 1.0 / 16;  // one scale byte for 16
  }
  return 2;
}

KernelGpu GpuCompute::kernels() const {
  const auto peak = [&](Precision p) { return gemm[static_cast<std::size_t>(p)].peak; };
  return {name,
          generation,
          multiprocessors,
          {std::max(peak(Precision::fp16), peak(Precision::bf16)), peak(Precision::fp8),
           peak(Precision::nvfp4)},
          static_cast<double>(memory_rate.bytes_per_s),
          static_cast<double>(cache.count),
          tensor_share};
}

double gemm_time(const GpuCompute& gpu, Precision precision, const GemmShape& shape) {
  const char* const dtype = measured_as(precision);
  GemmWork work{shape.m, shape.n, shape.k, shape.batch, shape.out_bytes, operands_of(dtype)};
  work.operands.input = work.operands.weight = element_bytes(precision);
  work.operands.cast = false;  // by kernels that are counted apart
  work.copies = kLayersApart;
  work.sustained = true;
  const GpuKernels& kernels =
      gpu.libraries.find(precision == Precision::fp8_rows ? kRowProducts : kProducts)->second;
  return kernels.seconds(KernelFamily::gemm, dtype, work) / rate_of(gpu, precision).efficiency;
}

double elementwise_time(const GpuCompute& gpu, double bytes) {
  return bytes > 0 ? bytes / (gpu.elementwise * memory_rate(gpu)) + seconds(gpu.kernel_floor) : 0;
}

double attention_time(const GpuCompute& gpu, const AttentionShape& shape, bool backward) {
  ContextWork work;
  work.batch = shape.sequences;
  work.tokens = shape.tokens;
  work.heads = shape.heads;
  work.kv_heads = shape.kv_heads;
  work.key_dim = shape.key_dim;
  work.value_dim = shape.value_dim;
  work.cache_bytes = 0;
  const KernelFamily family = shape.latent ? KernelFamily::latent_context : KernelFamily::context;
  const GpuKernels& kernels =
      gpu.libraries.find(shape.latent ? kLatentAttention : kAttention)->second;
  return (backward ? gpu.attention_backward : 1) * kernels.seconds(family, "bfloat16", work) /
         gpu.attention_forward;
}

Duration to_duration(double time) { return {std::llround(time * 1e12)}; }

}  // namespace fabricast
