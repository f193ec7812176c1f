#include <doctest/doctest.h>

#include <cmath>

#include "models/kernels/gpu_kernels.hpp"
#include "models/kernels/kernel_catalogue.hpp"
#include "models/kernels/kernel_time.hpp"

using namespace fabricast;

namespace {

/// 128 multiprocessors of 1 TFLOP/s each, 1 TB/s, 100 MB of cache.
KernelGpu gpu() { return {"test", 90, 128, {128e12, 256e12, 0}, 1e12, 100e6}; }

/// Nothing but products and bytes.
GemmCosts plain() {
  GemmCosts out;
  out.start = 0, out.share = 1, out.memory = 1, out.cache = 10, out.fill = 0, out.edge = 0;
  out.step = 0, out.quantum = 1, out.reach = 1000, out.split = 1, out.overlap = 50;
  out.cast_start = 5e-6, out.cast_rate = 1, out.cast_row = 0;
  out.refill = 1, out.heat = 0;
  return out;
}

GemmWork gemm(double m, double n, double k) {
  GemmWork out;
  out.m = m, out.n = n, out.k = k;
  return out;
}

}  // namespace

TEST_CASE("a product of exactly one wave takes as long as its FLOPs at the peak") {
  // 8 x 16 tiles of 256 x 256 on 128 multiprocessors: 2 x 256 x 256 x 1024 FLOPs at 1 TFLOP/s.
  const double one = kernel_time(gpu(), gemm(2048, 4096, 1024), plain());
  CHECK(one == doctest::Approx(134.217728e-6));
  CHECK(kernel_time(gpu(), gemm(4096, 4096, 1024), plain()) == doctest::Approx(2 * one));
  // One row more: tiles of 16 x 32 lose least, 129 x 128 of them, 1.048576 us each wave.
  CHECK(kernel_time(gpu(), gemm(2049, 4096, 1024), plain()) == doctest::Approx(129 * 1.048576e-6));
}

TEST_CASE("tiles after a multiprocessor's first fill for less") {
  GemmCosts costs = plain();
  costs.fill = 1024;
  // As long as the products, with any tile.
  const double products = 134.217728e-6;
  CHECK(kernel_time(gpu(), gemm(2048, 4096, 1024), costs) == doctest::Approx(2 * products));
  // Of 128 tiles of 16 x 32 on each multiprocessor one fills, 127 for a quarter.
  costs.refill = 0.25;
  CHECK(kernel_time(gpu(), gemm(2048, 4096, 1024), costs) ==
        doctest::Approx(products * (1 + (1 + 127 * 0.25) / 128)));
}

TEST_CASE("products that last, or follow each other, run at the clock of the power limit") {
  GemmCosts costs = plain();
  costs.heat = 0.1;
  GemmWork work = gemm(2048, 4096, 24 * 1024);
  const double cool = 24 * 134.217728e-6, lasts = cool / (cool + 3e-3);
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(cool * (1 + 0.1 * lasts)));
  work.sustained = true;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(cool * (1 + 0.1 * 0.6)));
  // Half the tensor cores draw half the power.
  KernelGpu cut = gpu();
  cut.tensor_share = 0.5;
  CHECK(kernel_time(cut, work, costs) == doctest::Approx(cool * (1 + 0.05 * 0.6)));
  // What waits for memory does not feel it.
  CHECK(kernel_time(gpu(), gemm(1, 8192, 8192), costs) ==
        doctest::Approx(kernel_time(gpu(), gemm(1, 8192, 8192), plain())));
}

TEST_CASE("of a last wave the quantum is waited for") {
  CHECK(waves(64, 128, 1) == 1);
  CHECK(waves(192, 128, 1) == 2);
  CHECK(waves(192, 128, 0) == 1.5);
  CHECK(waves(192, 128, 0.5) == 1.75);
}

TEST_CASE("a product with one row takes as long as its weights come from memory") {
  // 8192 x 8192 x 2 bytes at 1 TB/s, more than the cache holds; 32 KiB of vectors from the cache.
  CHECK(kernel_time(gpu(), gemm(1, 8192, 8192), plain()) ==
        doctest::Approx(134.217728e-6 + 32768 / 10e12));
  GemmWork narrow = gemm(1, 8192, 8192);
  narrow.operands = operands_of("int8_wo");
  // Half the bytes: 67.1 MB, of which the cache keeps (1 - 67.141632 / 100).
  const double weights = 8192.0 * 8192, kept = 1 - (weights + 32768) / 100e6;
  CHECK(kernel_time(gpu(), narrow, plain()) ==
        doctest::Approx(weights * (1 - kept) / 1e12 + (weights * kept + 32768) / 10e12));
}

TEST_CASE("inputs are quantised in kernels of their own, or not at all") {
  GemmWork work = gemm(4096, 4096, 1024);
  work.operands = operands_of("fp8");
  const double with = kernel_time(gpu(), work, plain());
  work.operands.cast = false;
  // 4096 x 1024 elements, read as 2 bytes and written as 1, at 1 TB/s; 5 us to start.
  CHECK(with - kernel_time(gpu(), work, plain()) ==
        doctest::Approx(5e-6 + 3 * 4096.0 * 1024 / 1e12));
}

TEST_CASE("times that overlap") {
  CHECK(overlapped_time(3, 4, 1) == doctest::Approx(7));
  CHECK(overlapped_time(3, 4, 2) == doctest::Approx(5));
  CHECK(overlapped_time(3, 4, 100) == doctest::Approx(4));
  CHECK(overlapped_time(0, 0, 2) == 0);
}

TEST_CASE("FLOPs of attention: what the mask and the window leave") {
  ContextWork work;
  work.tokens = 4;
  CHECK(work.pairs() == 10);  // 1 + 2 + 3 + 4
  CHECK(work.flops() == 4 * 10 * 128);
  work.window = 2;
  CHECK(work.pairs() == 7);  // 1 + 2 + 2 + 2
  work.window = 0, work.causal = false;
  CHECK(work.pairs() == 16);
}

TEST_CASE("attention over a long sequence takes its FLOPs and half a tile of each row") {
  ContextWork work;
  work.heads = work.kv_heads = 128;
  work.tokens = 8192;
  ContextCosts costs;
  costs.start = costs.fill = costs.sequence = costs.step = 0;
  costs.share128 = 1, costs.memory = 3, costs.quantum = 0, costs.overlap = 50;
  // Tiles of 64 queries see 64 x (1 + 2 + ... + 128) keys: 129 / 128 of half a square.
  const double pairs = 8192.0 * 8192 / 2 * 129 / 128;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(4 * 128 * pairs * 128 / 128e12));
}

namespace {

/// Nothing but bytes: keys at 0.8 TB/s, from L2 at 2 TB/s.
DecodeCosts plain_decode() {
  DecodeCosts out;
  out.start = out.step = out.piece = out.sequence = 0;
  out.memory = 0.8, out.cache = 2, out.share = 1, out.group = 1, out.reach = 20, out.overlap = 50;
  return out;
}

}  // namespace

TEST_CASE("a sequence is cut in as many pieces as the kernel cuts") {
  DecodeWork work;
  work.tokens = 8192;  // 128 blocks of 64 keys, 4.2 MB in L2
  DecodeCosts costs = plain_decode();
  costs.step = 1e-6, costs.cuts = 1;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(128e-6));
  costs.cuts = 16;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(8e-6));
  // Three times the time of a piece where pieces are joined: 16 pieces are still best.
  costs.piece = 2e-6;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(14e-6));
  // Four sequences on each multiprocessor, one after another.
  work.batch = 512, costs.cuts = 1, costs.step = 10e-6;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(4 * (1280e-6 + 2e-6)));
}

TEST_CASE("heads of a group that do not share a read take the keys from L2 again") {
  DecodeWork work;
  work.batch = 512, work.heads = 64, work.tokens = 4096;
  DecodeCosts costs = plain_decode();
  const double bytes = 512.0 * 4096 * 512;
  costs.shared = 64;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(bytes / 0.8e12));
  costs.shared = 16;
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(bytes / 0.8e12 + 3 * bytes / 2e12));
}

TEST_CASE("keys come by whole blocks of 64") {
  DecodeWork work;
  work.batch = 4096, work.kv_heads = work.heads = 8, work.tokens = 65;
  const double one = kernel_time(gpu(), work, plain_decode());
  CHECK(one == doctest::Approx(4096.0 * 8 * 128 * 512 / 0.8e12));
  work.tokens = 128;
  CHECK(kernel_time(gpu(), work, plain_decode()) == doctest::Approx(one));
}

TEST_CASE("a token reads the cache once") {
  DecodeWork work;
  work.batch = 64, work.kv_heads = 8, work.heads = 64, work.tokens = 4096;
  CHECK(work.bytes() == 64.0 * 8 * 4096 * 256 * 2);
  work.window = 1024, work.cache_bytes = 1;
  CHECK(work.bytes() == 64.0 * 8 * 1024 * 256);
  DecodeWork latent;
  latent.tokens = 100, latent.heads = 128, latent.key_dim = 576, latent.value_dim = 512;
  latent.latent = true;
  CHECK(latent.bytes() == 100 * 576 * 2);
  work.window = 0, work.cache_bytes = 2;
  // 1.07 GB at 0.8 TB/s; 34 GFLOP take 0.27 ms.
  CHECK(kernel_time(gpu(), work, plain_decode()) ==
        doctest::Approx(64.0 * 8 * 4096 * 512 / 0.8e12));
}

TEST_CASE("rows of experts") {
  // 16 x 2 rows over 8 experts, half of them here: four with four rows each.
  const ExpertLoads even = expert_loads(16, 2, 8, 2, 0);
  CHECK(even.rows == 16);
  CHECK(even.hit == 4);
  CHECK(even.tiles[0] == 4);
  // One token takes two of eight: one of them here, with its row.
  const ExpertLoads few = expert_loads(1, 2, 8, 2, 0);
  CHECK(few.rows == 1);
  CHECK(few.hit == 1);
  // Uneven: the busiest half has more than half, and none has more rows than there are tokens.
  const ExpertLoads skewed = expert_loads(1024, 2, 8, 2, 1.2);
  CHECK(skewed.rows > 1024);
  CHECK(skewed.rows <= 2048);
  CHECK(skewed.hit <= 4);
  CHECK(expert_loads(1024, 2, 8, 2, 1.2).rows == skewed.rows);
}

TEST_CASE("bytes that lie in the cache move at its rate") {
  MoveCosts costs;
  costs.start = 1e-6, costs.memory = 0.5, costs.cache = 2;
  // 25 MB: three quarters of it are still there.
  CHECK(kernel_time(gpu(), MoveWork{20e6, 5e6}, costs) ==
        doctest::Approx(1e-6 + 25e6 * (0.25 / 0.5e12 + 0.75 / 2e12)));
  CHECK(kernel_time(gpu(), MoveWork{200e6, 100e6}, costs) ==
        doctest::Approx(1e-6 + 300e6 / 0.5e12));
}

TEST_CASE("what is written in place stays in the cache up to three quarters of it") {
  MoveCosts costs;
  costs.start = 1e-6, costs.memory = 0.5, costs.cache = 2;
  // 75 MB of 100, read and written from L2; 125 MB from memory; of 100 MB a half is there.
  CHECK(kernel_time(gpu(), MoveWork{75e6, 75e6, true}, costs) ==
        doctest::Approx(1e-6 + 150e6 / 2e12));
  CHECK(kernel_time(gpu(), MoveWork{125e6, 125e6, true}, costs) ==
        doctest::Approx(1e-6 + 250e6 / 0.5e12));
  CHECK(kernel_time(gpu(), MoveWork{100e6, 100e6, true}, costs) ==
        doctest::Approx(1e-6 + 200e6 * (0.5 / 0.5e12 + 0.5 / 2e12)));
}

TEST_CASE("chunks of a gated delta net follow each other, states side by side") {
  DeltaCosts costs;
  costs.start = 10e-6, costs.fill = 4e-6, costs.step = 2e-6, costs.resident = 1;
  costs.share = 1, costs.memory = 3, costs.cache = 12, costs.quantum = 1, costs.overlap = 15;
  DeltaWork work;
  work.tokens = 65536, work.value_heads = 32, work.key_heads = 16;
  CHECK(work.chunks() == 1024);
  CHECK(delta_states(2, 32, 128, 128) == 2 * 32 * 128 * 128 * 4);
  // 128 x 128 numbers of a state, read twice and changed once, and 64 tokens of the chunk.
  CHECK(work.flops() == 2.0 * 32 * 65536 * (3 * 128 * 128 + 64 * 5 * 128));
  CHECK(work.row_bytes() == 65536.0 * 2 * (2 * 16 * 128 + 2 * 32 * 128));
  // 0.378 TFLOP at 128 TFLOP/s and 1.615 GB (4 MB of states) at 3 TB/s: more than 2.05 ms of steps.
  CHECK(kernel_time(gpu(), work, costs) ==
        doctest::Approx(10e-6 + 2.9528e-3 + 1.6148e-3 / 3).epsilon(0.001));
  work.tokens = 64;  // one chunk of 32 states on 128 multiprocessors
  CHECK(kernel_time(gpu(), work, costs) == doctest::Approx(10e-6 + 6e-6).epsilon(0.01));
  // 256 of them are two waves; two on each multiprocessor are one again.
  work.batch = 8, work.tokens = 4096;
  costs.step = 40e-6;
  CHECK(kernel_time(gpu(), work, costs) ==
        doctest::Approx(10e-6 + 2 * (4e-6 + 64 * 40e-6)).epsilon(0.01));
  costs.resident = 2;
  CHECK(kernel_time(gpu(), work, costs) ==
        doctest::Approx(10e-6 + 4e-6 + 64 * 40e-6).epsilon(0.03));
}

TEST_CASE("products of few rows have kernels of their own, and go over into the others") {
  const auto set = [](KernelFamily family, double start) {
    GemmCosts costs = plain();
    costs.start = start;
    return KernelSet{{family, 90, "trtllm", "t", "bfloat16"}, costs, 30};
  };
  const KernelSet wide = set(KernelFamily::gemm, 200e-6), few = set(KernelFamily::skinny, 50e-6);
  CHECK(family_of_product(16) == KernelFamily::skinny);
  CHECK(family_of_product(17) == KernelFamily::gemm);
  const GpuKernels both(gpu(), {{wide, few}}, "trtllm");
  const auto seconds = [&](double m) {
    return both.seconds(KernelFamily::gemm, "bfloat16", gemm(m, 4096, 4096));
  };
  const auto of = [&](const KernelSet& one, double m) {
    return kernel_time(gpu(), gemm(m, 4096, 4096), std::get<GemmCosts>(one.costs));
  };
  CHECK(seconds(1) == of(few, 1));
  CHECK(seconds(16) == of(few, 16));
  CHECK(seconds(32) == of(wide, 32));
  CHECK(seconds(16 * std::sqrt(2)) ==
        doctest::Approx(std::sqrt(of(few, 16 * std::sqrt(2)) * of(wide, 16 * std::sqrt(2)))));
  CHECK(seconds(16.001) == doctest::Approx(seconds(16)).epsilon(0.001));
  // Without figures of their own they are products like others.
  const GpuKernels one(gpu(), {{wide}}, "trtllm");
  CHECK(one.seconds(KernelFamily::gemm, "bfloat16", gemm(1, 4096, 4096)) == of(wide, 1));
}

TEST_CASE("a kernel that nobody measured takes its nearest relatives' costs") {
  const auto set = [](int generation, const char* library, const char* kernel, double start) {
    GemmCosts costs;
    costs.start = start;
    return KernelSet{{KernelFamily::gemm, generation, library, kernel, "fp8"}, costs, 30};
  };
  const KernelCatalogue catalogue = {
      {set(90, "trtllm", "a", 2e-6), set(90, "vllm", "b", 4e-6), set(80, "vllm", "c", 1e-6)}};
  const auto start = [&](int generation, const char* library, const char* kernel) {
    const auto choice =
        choose_costs(catalogue, {KernelFamily::gemm, generation, library, kernel, "fp8"});
    return std::get<GemmCosts>(choice->costs).start;
  };
  CHECK(start(90, "trtllm", "a") == 2e-6);
  CHECK(start(90, "trtllm", "other") == doctest::Approx(2e-6));               // the same library
  CHECK(start(80, "trtllm", "a") == doctest::Approx(1e-6));                   // the same generation
  CHECK(start(90, "sglang", "x") == doctest::Approx(std::sqrt(8.0) * 1e-6));  // both, in the middle
  CHECK_FALSE(choose_costs(catalogue, {KernelFamily::gemm, 90, "vllm", "b", "nvfp4"}));
  CHECK_FALSE(choose_costs(catalogue, {KernelFamily::context, 90, "vllm", "b", "fp8"}));
  CHECK(choose_costs(catalogue, {KernelFamily::gemm, 90, "vllm", "b", "fp8"})->measured);
}
