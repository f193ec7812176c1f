// Goal: which kernel an engine takes is what its source says, and what measured times show. Method:
// both sides of every limit, by hand.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "models/engines/engine_choice.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

constexpr std::int64_t kKi = 1 << 10, kMi = 1 << 20;

EngineKernel kernel(const std::string& engine, int sm, int gpus, std::int64_t bytes) {
  EngineQuestion asked;
  asked.release = parse_engine(engine);
  asked.sm = sm;
  asked.gpus = gpus;
  asked.size = {bytes};
  return choose_kernel(asked).kernel;
}

}  // namespace

TEST_CASE("engines: names and releases") {
  CHECK(parse_engine("vllm") == EngineRelease{Engine::vllm, 0, 24, 0});
  CHECK(parse_engine("trtllm:1.2.0rc5") == EngineRelease{Engine::trtllm, 1, 2, 0});
  CHECK(parse_engine("sglang:0.5") == EngineRelease{Engine::sglang, 0, 5, 0});
  CHECK(parse_engine("sglang:0.5.10").is_since(0, 5, 10));
  CHECK_FALSE(parse_engine("sglang:0.5.10").is_since(0, 5, 11));
  CHECK(to_text(parse_engine("vllm:0.14.0")) == "vllm 0.14.0");
  CHECK(error_text([] { parse_engine("vlm"); }) ==
        "unknown engine \"vlm\"\nhint: did you mean \"vllm\"?");
  for (const char* wrong : {"vllm:", "vllm:a", "vllm:1", "vllm:1.", "vllm:1.2.", "vllm:1.2.3x",
                            "vllm:-1.2.3", "vllm:1.2.3rc", "vllm:99999.1.1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_engine(wrong), Error);
  }
  CHECK(error_text([] { parse_engine("vllm:x"); }) ==
        "\"x\" is no release of vllm\nhint: write one like vllm:0.24.0");
}

TEST_CASE("engines: vLLM takes one shot below its limits and symmetric memory above") {
  // 36 blocks on A100: no symmetric memory, 8 MiB and more are NCCL's.
  CHECK(kernel("vllm", 80, 2, 8 * kMi - 16) == EngineKernel::one_shot);
  CHECK(kernel("vllm", 80, 2, 8 * kMi) == EngineKernel::nccl);
  CHECK(kernel("vllm", 80, 4, 512 * kKi - 16) == EngineKernel::one_shot);
  CHECK(kernel("vllm", 80, 4, 512 * kKi) == EngineKernel::two_shot);
  CHECK(kernel("vllm", 80, 8, 256 * kKi - 16) == EngineKernel::one_shot);
  CHECK(kernel("vllm", 80, 8, 256 * kKi) == EngineKernel::two_shot);
  CHECK(kernel("vllm", 90, 8, 256 * kKi) == EngineKernel::multimem);
  CHECK(kernel("vllm:0.14.0", 90, 8, 256 * kKi) == EngineKernel::two_shot);
  CHECK(kernel("vllm", 90, 2, 8 * kMi) == EngineKernel::symmetric);
  CHECK(kernel("vllm", 90, 2, 64 * kMi) == EngineKernel::symmetric);
  CHECK(kernel("vllm:0.19.0", 90, 2, 64 * kMi) == EngineKernel::nccl);
  CHECK(kernel("vllm", 100, 4, 2 * kMi - 16) == EngineKernel::two_shot);
  CHECK(kernel("vllm", 100, 4, 2 * kMi) == EngineKernel::symmetric);
  CHECK(kernel("vllm", 100, 8, kMi) == EngineKernel::multimem);
  CHECK(kernel("vllm:0.14.0", 100, 2, 2 * kMi) == EngineKernel::nccl);
  CHECK(kernel("vllm", 103, 8, 8 * kMi) == EngineKernel::multimem);
  CHECK(kernel("vllm", 90, 3, kKi) == EngineKernel::nccl);
  CHECK(kernel("vllm", 90, 16, kKi) == EngineKernel::nccl);
  CHECK(kernel("vllm", 90, 4, 24) == EngineKernel::nccl);
}

TEST_CASE("engines: SGLang's kernels before and after their rewriting") {
  CHECK(kernel("sglang:0.5.10", 90, 8, 8 * kMi) == EngineKernel::two_shot);
  CHECK(kernel("sglang:0.5.10", 90, 8, 8 * kMi + 16) == EngineKernel::nccl);
  CHECK(kernel("sglang", 90, 8, 160 * kKi) == EngineKernel::push);
  CHECK(kernel("sglang", 90, 8, 160 * kKi + 16) == EngineKernel::fused);
  CHECK(kernel("sglang", 100, 8, 720 * kKi) == EngineKernel::push);
  CHECK(kernel("sglang", 90, 2, 2 * kMi + 16) == EngineKernel::pull);
  CHECK(kernel("sglang", 90, 3, 64) == EngineKernel::push);
  CHECK(kernel("sglang", 90, 4, 16 * kMi) == EngineKernel::fused);
  CHECK(kernel("sglang", 90, 4, 16 * kMi + 16) == EngineKernel::nccl);
}

TEST_CASE("engines: TensorRT-LLM's table by tokens, FlashInfer's limits by traffic") {
  constexpr std::int64_t kToken = 2 * kHiddenSize;
  CHECK(kernel("trtllm:1.2.0rc5", 90, 4, 4 * kToken) == EngineKernel::lamport);
  CHECK(kernel("trtllm:1.2.0rc5", 90, 4, 8 * kToken) == EngineKernel::synced);
  CHECK(kernel("trtllm:1.2.0rc5", 90, 4, 128 * kToken) == EngineKernel::lamport);
  CHECK(kernel("trtllm", 90, 8, 64 * kToken) == EngineKernel::lamport);
  CHECK(kernel("trtllm", 90, 8, 128 * kToken) == EngineKernel::nccl);
  CHECK(kernel("trtllm", 90, 8, 256 * kToken) == EngineKernel::synced);
  CHECK(kernel("trtllm", 100, 8, 4096 * kToken) == EngineKernel::synced);
  CHECK(kernel("trtllm", 100, 8, 8192 * kToken) == EngineKernel::nccl);
  CHECK(kernel("trtllm:1.2.0", 100, 2, 16 * kMi) == EngineKernel::nccl);
  CHECK(kernel("trtllm", 100, 2, 16 * kMi) == EngineKernel::lamport);
  CHECK(kernel("trtllm:1.0.0", 80, 8, kMi) == EngineKernel::lamport);
  CHECK(kernel("trtllm:1.0.0", 80, 8, 2 * kMi) == EngineKernel::nccl);
  CHECK(kernel("trtllm", 90, 6, kKi) == EngineKernel::nccl);
  CHECK(kernel("flashinfer", 90, 4, 8 * kMi) == EngineKernel::lamport);
  CHECK(kernel("flashinfer", 90, 4, 8 * kMi + 16) == EngineKernel::synced);
  CHECK(kernel("flashinfer", 90, 6, kMi) == EngineKernel::nccl);
}

TEST_CASE("engines: machines on which kernels cannot run, and why") {
  EngineQuestion asked;
  asked.release = newest(Engine::vllm);
  asked.sm = 90;
  asked.gpus = 4;
  asked.size = {kKi};
  asked.hosts = 2;
  CHECK(choose_kernel(asked).why == "the GPUs lie on 2 hosts");
  asked.hosts = 1;
  asked.all_nvlink = false;
  CHECK(choose_kernel(asked).why == "4 GPUs without NVLink between each two");
  asked.gpus = 2;
  CHECK(choose_kernel(asked).kernel == EngineKernel::one_shot);
  asked.release = newest(Engine::sglang);
  CHECK(choose_kernel(asked).why == "the kernels need NVLink");
  asked.gpus = 1;
  CHECK(choose_kernel(asked).kernel == EngineKernel::nccl);
  asked = {newest(Engine::vllm), 90, 8, 1, true, true, Bytes{64 * kMi + 16}};
  CHECK(choose_kernel(asked).why == "67108880 B is above the 64 MiB of symmetric memory");
  asked.size = {kMi};
  asked.bfloat16 = false;
  CHECK(choose_kernel(asked).kernel == EngineKernel::nccl);
  asked.bfloat16 = true;
  asked.multicast = false;
  CHECK(choose_kernel(asked).kernel == EngineKernel::two_shot);
}
