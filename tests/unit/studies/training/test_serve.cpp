// Inference: closed forms of bytes, and what must grow with what.
#include <doctest/doctest.h>

#include "models/io/topologies/load.hpp"
#include "models/studies/training/serve.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

struct ServeSite {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster = load_cluster({"dgx-a100", 1, ""}, parts);
  CollectiveTimes times{cluster, parts.software, {}};
};

ServeSetup llama(const char* model, int tensor, int batch) {
  ServeSetup out;
  out.model = load_transformer(model);
  out.gpu = load_compute().at("A100_SXM4_80");
  out.precision = Precision::fp16;
  out.tensor = tensor;
  out.batch = batch;
  out.prompt = 2048;
  return out;
}

}  // namespace

TEST_CASE("serve: bytes of weights and of keys and values") {
  // Llama-2-70B: 327 680 bytes per token, 137.95 GB of weights.
  const ServeMemory memory = serve_memory(llama("llama-2-70b", 1, 1), 1000);
  CHECK(memory.cache == 327'680'000.0);
  CHECK(memory.weights == doctest::Approx(137.95e9).epsilon(0.001));
  CHECK(serve_memory(llama("llama-2-70b", 4, 1), 1000).cache == 327'680'000.0 / 4);
}

TEST_CASE("serve: embedding, output, norms and routers have 16 bits whatever the weights have") {
  // 32,000 x 8192 twice, and 161 norms of 8192.
  ServeSetup eight = llama("llama-2-70b", 1, 1);
  const double all = serve_memory(eight, 1000).weights / 2;
  eight.precision = Precision::fp8;
  CHECK(serve_memory(eight, 1000).weights == all + 2.0 * 32'000 * 8192 + 161 * 8192);
  eight.tensor = 8;
  CHECK(serve_memory(eight, 1000).weights == (all + 2.0 * 32'000 * 8192 + 161 * 8192) / 8);
  // 32,000 x 4096 twice, 65 norms, and 32 routers of 8 experts.
  ServeSetup experts = llama("mixtral-8x7b", 1, 1);
  const double of_experts = serve_memory(experts, 1000).weights / 2;
  experts.precision = Precision::fp8;
  CHECK(serve_memory(experts, 1000).weights == of_experts + 4096 * (2.0 * 32'000 + 65 + 32 * 8));
}

TEST_CASE("serve: an engine quantises with scales of the checkpoint, or finds them in each call") {
  ServeSite site;
  ServeSetup setup = llama("llama-2-70b", 1, 1);
  setup.gpu = load_compute().at("H100_SXM5");
  setup.precision = Precision::fp8;
  setup.library = "trtllm";
  const auto gemm = [&](bool finds) {
    setup.finds_scales = finds;
    return decode_time(setup, 1000, site.times).gemm;
  };
  // 4 products of 80 layers: of the first and third the norm's outputs, of the fourth the
  // activation's are quantised in a kernel of 1.4 us, of the second attention's in attention. Found
  // scales take 9.8 us for each of the four.
  const double known = gemm(false), found = gemm(true);
  CHECK(found - known == doctest::Approx(80 * (4 * 9.8e-6 - 3 * 1.41e-6)).epsilon(0.05));
  setup.library = "vllm";
  CHECK(gemm(true) == gemm(false));
  setup.library = "trtllm";
  setup.precision = Precision::bf16;
  CHECK(gemm(true) == gemm(false));
}

TEST_CASE("serve: keys and values have the room that the engine's queue has") {
  ServeConfig config;
  GpuCompute gpu;
  gpu.memory = Bytes{80'000'000'000};
  CHECK(room_of_cache(config, gpu, 10e9) == 80e9 - 4e9 - 10e9);
  config.memory_share = 0.5;
  CHECK(room_of_cache(config, gpu, 10e9) == 40e9 - 2e9 - 10e9);
  config.memory_share.reset();
  config.engine = newest(Engine::vllm);
  CHECK(room_of_cache(config, gpu, 10e9) == 72e9 - 2e9 - 10e9);
  config.memory_share = 0.95;
  CHECK(room_of_cache(config, gpu, 10e9) == 76e9 - 2e9 - 10e9);

  // 26 GB of weights and 3.36 GB of keys and values each, of 85.9 GB: 47.2, or with half of the
  // memory 14.9.
  config = {};
  config.site.model = load_transformer("llama-2-13b");
  config.site.topology = "dgx-a100";
  config.site.layout.precision = Precision::fp16;
  config.batch = 16;
  config.prompt = config.output = 2048;
  config.engine = newest(Engine::vllm);
  config.memory_share = 0.9;
  CHECK(run_serve(config, load_catalogue()).at_once == 14);
  config.memory_share = 0.5;
  CHECK(run_serve(config, load_catalogue()).at_once == 4);
}

TEST_CASE("serve: a batch alone takes what the queue's passes take") {
  ServeSite site;
  ServeConfig config;
  config.site.model = load_transformer("llama-2-7b");
  config.site.layout.precision = Precision::fp16;
  config.batch = 8;
  config.prompt = 1024;
  config.output = 2;
  config.pipeline = 4;
  EngineHost host;
  host.pass = 1e-3;
  host.request = 1e-4;
  const GpuCompute gpu = load_compute().at("A100_SXM4_80");
  const ServeResult alone = run_serve(config, gpu, site.times, {{}, host});
  // A stage has two of eight requests: 1 ms and twice 0.1.
  CHECK(alone.decode.host == doctest::Approx(1.2e-3));
  const auto pass = [&](int tokens_each) {
    const PassTimes passes(serve_setup(config, config, gpu), 64, site.times);
    ServeBatch batch;
    batch.decodes = 8;
    batch.decode_tokens = batch.all_tokens = 8 * tokens_each;
    batch.context = 8 * 1025;
    return passes.seconds(batch, host);
  };
  CHECK(alone.decode.total() == doctest::Approx(pass(1)));
  // Three drafts, of which a half are right after those before: 1.875 tokens a pass.
  config.rules.drafts = 3;
  config.rules.acceptance = 0.5;
  const ServeResult drafted = run_serve(config, gpu, site.times, {{}, host});
  CHECK(drafted.decode.total() == doctest::Approx(pass(4) / 1.875));
  CHECK(drafted.prefill.total() == alone.prefill.total());
  // The front end takes prompts of 1024 tokens one after another, while those before are computed.
  host.front = 3e-3;
  const double computing = alone.prefill.total();
  const auto waits = [&](double token) {
    host.token = token;
    return run_serve(config, gpu, site.times, {{}, host}).prefill.total() - computing;
  };
  CHECK(waits(1e-6) == doctest::Approx(3e-3 + 1024 * 1e-6));
  CHECK(waits(1e-2) == doctest::Approx(3e-3 + 8 * 10.24 - computing * 7 / 8));
}

// Kernels round tokens up to tiles, so that between two points of the queue's table, which are
// interpolated, a prompt is a few per cent off.
TEST_CASE("serve: prompts and batches of a power of two are points of the queue's table") {
  ServeSite site;
  ServeSetup one = llama("qwen2.5-32b", 1, 1);
  const PassTimes passes(one, 8192, site.times);
  for (const int tokens : {32, 64, 256, 512, 1024, 2048, 4096}) {
    CAPTURE(tokens);
    one.prompt = tokens;
    ServeBatch prompt;
    prompt.prompts = 1;
    prompt.prompt_tokens = prompt.all_tokens = tokens;
    prompt.pairs = 0.5 * tokens * tokens;
    CHECK(passes.seconds(prompt, {}) == doctest::Approx(prefill_time(one, site.times).total()));
  }
}

TEST_CASE("serve: a token reads all weights, more requests and more context cost more") {
  ServeSite site;
  const ServeSetup one = llama("llama-2-7b", 1, 1);
  const double token = decode_time(one, 1, site.times).total();
  // 13.5 GB at 2.04 TB/s are 6.6 ms; LMDeploy takes 9 to 10 ms.
  CHECK(token > 6.6e-3);
  CHECK(token < 11e-3);
  const ServeSetup many = llama("llama-2-7b", 1, 64);
  CHECK(decode_time(many, 1, site.times).total() > token);
  CHECK(decode_time(many, 2000, site.times).total() > decode_time(many, 1, site.times).total());
  CHECK(prefill_time(one, site.times).total() > 2048 * 2 * 6.6e9 / 312e12);
}

TEST_CASE("serve: TP trades reads for all-reduces, PP does not shorten a token") {
  ServeSite site;
  const ServeTime one = decode_time(llama("llama-2-70b", 1, 8), 100, site.times);
  const ServeTime four = decode_time(llama("llama-2-70b", 4, 8), 100, site.times);
  CHECK(one.tensor == 0);
  CHECK(four.tensor > 0);
  CHECK(four.total() < one.total());
  ServeSetup staged = llama("llama-2-70b", 4, 8);
  staged.pipeline = 2;
  const ServeTime pipe = decode_time(staged, 100, site.times);
  // Two batches of four requests are under way.
  const ServeTime half = decode_time(llama("llama-2-70b", 4, 4), 100, site.times);
  CHECK(pipe.total() == doctest::Approx(half.total() + pipe.pipeline));
}

TEST_CASE("serve: EP splits requests and experts, and adds all-to-alls") {
  ServeSite site;
  ServeSetup one = llama("mixtral-8x7b", 1, 64);
  ServeSetup eight = one;
  eight.expert = 8;
  CHECK(eight.local_batch() == 8);
  const ServeMemory whole = serve_memory(one, 1000), split = serve_memory(eight, 1000);
  CHECK(split.cache == whole.cache / 8);
  CHECK(split.weights < whole.weights / 4);
  const ServeTime a = decode_time(one, 1000, site.times);
  const ServeTime b = decode_time(eight, 1000, site.times);
  CHECK(a.expert == 0);
  CHECK(b.expert > 0);
  // Keys and values of an eighth of the requests, and one of eight experts.
  CHECK(b.attention == doctest::Approx(a.attention / 8).epsilon(0.2));
  CHECK(b.gemm < a.gemm / 3);
}

// 32 layers, each with the hidden states of all 64 tokens to everybody, and their sums back.
TEST_CASE("serve: tokens of experts are gathered and scattered where nobody dispatches them") {
  ServeSite site;
  ServeSetup setup = llama("mixtral-8x7b", 1, 64);
  setup.expert = 8;
  setup.kernels.gathers = true;
  const double bytes = 2.0 * 64 * 4096;
  const auto cost = [&](Collective collective) {
    return seconds(site.times.cost(collective, {8, 1}, bytes).time);
  };
  CHECK(decode_time(setup, 1000, site.times).expert ==
        doctest::Approx(32 * (cost(Collective::all_gather) + cost(Collective::reduce_scatter))));
}

TEST_CASE("serve: requests that do not fit wait") {
  ServeConfig config;
  config.site.model = load_transformer("llama-2-13b");
  config.site.topology = "dgx-a100";
  config.site.layout.precision = Precision::fp16;
  config.batch = 64;
  config.prompt = 2048;
  config.output = 2048;
  // 26 GB of weights and 3.4 GB of keys and values each, of 85 GB.
  const ServeResult many = run_serve(config, load_catalogue());
  CHECK_FALSE(many.fits);
  CHECK(many.at_once == 16);
  config.batch = 16;
  const ServeResult few = run_serve(config, load_catalogue());
  CHECK(few.fits);
  CHECK(many.decode.total() == few.decode.total());
  CHECK(many.request() - many.prefill.total() ==
        doctest::Approx(4 * (few.request() - few.prefill.total())));
  CHECK(serve_text(many).find(": does not fit; tokens are those of 16 requests at a time\n") !=
        std::string::npos);
}

TEST_CASE("serve: prompts of a batch fill the stages of a pipeline") {
  ServeSite site;
  ServeSetup whole = llama("llama-2-13b", 1, 15);
  ServeSetup staged = whole;
  staged.pipeline = 4;
  // 15 prompts through 4 stages: 18 times a quarter of one.
  const ServeTime a = prefill_time(whole, site.times), b = prefill_time(staged, site.times);
  CHECK(b.gemm == doctest::Approx(a.gemm * 18 / 60));
  CHECK(b.pipeline > 0);
}

TEST_CASE("serve: what is in a CUDA graph waits for no launches, batched or alone") {
  ServeSite site;
  ServeSetup setup = llama("llama-2-7b", 1, 1);  // 32 layers of 10 kernels
  const PassTimes passes(setup, 2048, site.times);
  EngineHost host;
  host.kernel = 2e-3;  // 0.64 s of launches, more than any of these passes
  const auto seconds = [&](double prompt, double decodes, int graph_tokens, bool compiled = false) {
    ServeBatch batch;
    batch.prompt_tokens = prompt;
    batch.pairs = prompt * prompt / 2;
    batch.prompts = prompt > 0 ? 1 : 0;
    batch.decodes = batch.decode_tokens = decodes;
    batch.all_tokens = batch.tokens();
    return passes.seconds(batch, host, {graph_tokens, compiled});
  };
  CHECK(seconds(500, 12, 0) == doctest::Approx(0.64));
  CHECK(seconds(500, 12, 511) == doctest::Approx(0.64));
  CHECK(seconds(500, 12, 511, true) == doctest::Approx(0.64 / 10).epsilon(0.2));
  CHECK(seconds(500, 12, 512) < 0.1);
  CHECK(seconds(0, 12, 0) < 0.1);  // decodes alone always are

  // vLLM's graphs hold 512 tokens.
  ServeConfig config;
  config.site.model = load_transformer("llama-2-7b");
  config.site.topology = "dgx-a100";
  config.site.layout.precision = Precision::fp16;
  config.engine = newest(Engine::vllm);
  config.rules = engine_rules(*config.engine);
  config.output = 16;
  const auto waits = [&](int prompt) {
    config.prompt = prompt;
    return run_serve(config, setup.gpu, site.times, {{}, host}).prefill.host;
  };
  CHECK(waits(512) == 0);
  CHECK(waits(513) > 0);
  CHECK(waits(513) < 0.64 / 10);
  config.engine = newest(Engine::sglang);
  config.rules = engine_rules(*config.engine);
  CHECK(waits(512) > 0.2);
}

TEST_CASE("serve: experts in 8 bits come with products that have a scale for each block") {
  ServeSite site;
  ServeSetup setup = llama("qwen3-235b-a22b", 1, 1);  // 94 layers of two products beside experts
  setup.gpu = load_compute().at("B200_SXM");
  setup.precision = Precision::fp8;
  setup.library = "sglang";
  const auto gemm = [&](const ServeSetup& of) { return layers_time(of, 1, 1, site.times).gemm; };
  // SGLang's measured products pack scales of weights in each call, TensorRT-LLM's of the same
  // kernel do not: 12 to 17 us and 5 us of a token that is multiplied by few weights. Engines have
  // the latter.
  const GpuKernels& own = setup.gpu.libraries.at("sglang");
  const GpuKernels& bare = setup.gpu.libraries.at("trtllm");
  const Transformer& m = setup.model;
  for (const auto& [n, k] :
       {std::pair{m.projected_width(), m.hidden}, std::pair{m.hidden, m.attention_out_width()}}) {
    GemmWork work{1, 1.0 * n, 1.0 * k, 1, 2, operands_of("fp8_block")};
    work.copies = 94;
    const double once = own.seconds(KernelFamily::gemm, "fp8_block", work);
    CHECK(once == doctest::Approx(bare.seconds(KernelFamily::gemm, "fp8_block", work)));
    CHECK(own.seconds(KernelFamily::gemm, "fp8_block, scales packed", work) - once > 6e-6);
  }
  // FlashInfer's computes many tokens at a tenth of the peak, DeepGEMM at 0.6 to 0.8 of it.
  const auto of_1024 = [&] { return layers_time(setup, 1024, 1024, site.times).gemm; };
  const double deepgemm = of_1024();
  setup.flashinfer_blocks = true;
  const double flops = 2 * 1024.0 * m.hidden * (m.projected_width() + m.attention_out_width());
  const double longer = (of_1024() - deepgemm) / 94;
  CHECK(longer > 0.5 * flops / 450e12);
  CHECK(longer < 1.1 * flops / 450e12);
  // It is SGLang's on Blackwell, for products with block scales: dense models have one for a
  // tensor.
  for (const auto& [model, gpu] :
       {std::pair{"qwen3-235b-a22b", "H100_SXM5"}, std::pair{"llama-2-7b", "B200_SXM"}}) {
    setup.model = load_transformer(model);
    setup.gpu = load_compute().at(gpu);
    setup.flashinfer_blocks = true;
    const double with = gemm(setup);
    setup.flashinfer_blocks = false;
    CHECK(gemm(setup) == with);
  }
}

TEST_CASE("serve: kernels that quantise are those that the engine does not fuse") {
  ServeSetup dense = llama("llama-2-70b", 1, 1);  // 80 layers of four products
  dense.gpu = load_compute().at("B200_SXM");
  const auto kernels = [](const ServeSetup& setup) { return quantising_kernels(setup, 1000); };
  CHECK(kernels(dense) == 0);  // 16 bits
  dense.precision = Precision::fp8;
  CHECK(kernels(dense) == 80 * 3);  // attention quantises its output
  dense.library = "sglang";
  CHECK(kernels(dense) == 80 * 4);
  CHECK(PromptLaunches{}.of(dense, 1000) == 80 * 14);
  CHECK(PromptLaunches{1000, false}.of(dense, 1000) == 0);
  dense.fuses_quantising = true;
  CHECK(kernels(dense) == 0);
  dense = llama("llama-2-70b", 4, 1);
  dense.gpu = load_compute().at("B200_SXM");
  dense.precision = Precision::fp8;
  dense.kernels.all_reduce = [](double bytes) { return bytes > 2e6 ? -1.0 : 1e-5; };
  CHECK(quantising_kernels(dense, 100) == 80);       // 1.6 MB: with both all-reduces' norms
  CHECK(quantising_kernels(dense, 1000) == 80 * 3);  // 16 MB are left to NCCL
  // Latent attention: three products after norms, one after attention, two of the shared expert.
  ServeSetup latent = dense;
  latent.model = load_transformer("deepseek-v3");
  CHECK(kernels(latent) == 61 * 6);
  latent.precision = Precision::nvfp4;  // projections in 16 bits
  CHECK(kernels(latent) == 61 * 3);
  latent.model = load_transformer("gpt-oss-120b");  // experts alone in 4 bits
  CHECK(kernels(latent) == 0);
}

TEST_CASE("serve: quantising apart takes time, attention beside 4-bit experts memory") {
  ServeSite site;
  ServeSetup setup = llama("llama-2-7b", 1, 1);
  setup.gpu = load_compute().at("B200_SXM");
  setup.precision = Precision::fp8;
  const double apart = layers_time(setup, 4096, 4096, site.times).gemm;
  setup.fuses_quantising = true;
  CHECK(layers_time(setup, 4096, 4096, site.times).gemm < apart);
  setup.model = load_transformer("gpt-oss-120b");
  setup.precision = Precision::nvfp4;
  const auto all = static_cast<double>(all_parameters(setup.model));
  const auto attention = static_cast<double>(count_parameters(setup.model).attention);
  // Embedding and output of 201,088 words, 73 norms, 36 routers of 128 experts.
  const double kept = 2880.0 * (2 * 201'088 + 73 + 36 * 128);
  const double four = element_bytes(Precision::nvfp4);
  CHECK(serve_memory(setup, 1000).weights ==
        doctest::Approx(four * all + (2 - four) * (36 * attention + kept)));
}

TEST_CASE("serve: mistakes in its file") {
  const std::string good =
      "kind: serve\nmodel: llama-3-70b\ntopology: dgx-h100\nnodes: 1\nprecision: bf16\n"
      "parallel: {tp: 8}\nbatch: 8\nprompt: 128\noutput: 128\n";
  const ServeConfig config = parse_serve(good, "s.yaml");
  CHECK(run_serve(config, load_catalogue()).fits);
  CHECK(error_text([&] { parse_serve(good + "outputs: 1\n", "s.yaml"); }) ==
        "s.yaml:10: unknown key \"outputs\"\nhint: did you mean \"output\"?");
  CHECK(
      error_text([&] { parse_serve(good + "input_scales: found\n", "s.yaml"); }) ==
      "s.yaml:10: input_scales: it is for products of TensorRT-LLM in fp8\nhint: leave it out, or "
      "take engine: trtllm and precision: fp8");
  ServeConfig large = config;
  large.pipeline = 2;
  CHECK(error_text([&] { run_serve(large, load_catalogue()); }) ==
        "s.yaml:6: TP 8 x EP 1 x PP 2 = 16 GPUs of 8\nhint: say more nodes");
}

// vLLM lets in 1024 requests and has graphs of 512 tokens (engine_rules()), whoever says that it is
// vLLM; SGLang lets in 2048.
TEST_CASE("serve: a load without an engine is vLLM's, with vLLM's passes") {
  const std::string file =
      "kind: serve\nmodel: llama-3-70b\ntopology: dgx-h100\nnodes: 1\nprecision: bf16\n"
      "batch: 1\nprompt: 128\noutput: 128\nbatching: {token_budget: 4096}\n";
  const std::string load = "load: {concurrency: 4, spread: 0.5}\n";
  const auto is_vllm = [](const ServeConfig& config) {
    return to_text(config.engine.value()) == to_text(newest(Engine::vllm)) &&
           config.rules.requests_max == 1024 && config.rules.launches.graph_tokens == 512 &&
           config.rules.launches.compiled && config.rules.token_budget == 4096;
  };
  CHECK(is_vllm(parse_serve(file + load, "s.yaml")));
  CHECK(is_vllm(parse_serve(file + load + "engine: vllm\n", "s.yaml")));
  CHECK(is_vllm(parse_serve(file, "s.yaml", {{}, 2.0, 0})));
  CHECK_FALSE(parse_serve(file, "s.yaml").engine);
  const ServeConfig other = parse_serve(file + load, "s.yaml", {newest(Engine::sglang), 2.0, 0});
  CHECK(other.rules.requests_max == 2048);
  CHECK(other.rules.token_budget == 4096);
  CHECK(other.load->rate == 2);
  CHECK(other.load->concurrency == 0);
  CHECK(other.load->spread == 0.5);
}

TEST_CASE("serve: engines keep keys and values as they do where nobody says it") {
  const std::string file =
      "kind: serve\nmodel: llama-3-70b\ntopology: dgx-h100\nnodes: 1\nprecision: fp8\n"
      "parallel: {tp: 8}\nprompt: 128\noutput: 128\nbatch: 1\n";
  const auto bytes = [&](const std::string& more) {
    const ServeConfig config = parse_serve(file + more, "s.yaml");
    const ServeSetup setup = serve_setup(config, config, load_compute().at("H100_SXM5"));
    return cache_bytes(setup, 1) * 8 / (80 * 2 * 8 * 128);
  };
  CHECK(bytes("engine: vllm\n") == 2);
  CHECK(bytes("engine: sglang\n") == 2);
  CHECK(bytes("load: {concurrency: 4}\n") == 2);  // vLLM's
  CHECK(bytes("engine: trtllm\n") == 1);
  CHECK(bytes("") == 1);
  CHECK(bytes("engine: vllm\nkv_cache: fp8\n") == 1);
  CHECK(bytes("engine: trtllm\nkv_cache: bf16\n") == 2);
}

// 3 ms of tokens under way beside 2 ms of compute: 1 ms is left, and compute misses a tenth of its
// multiprocessors for 2 ms.
TEST_CASE("serve: half of a batch hides what the other half sends") {
  ServeSetup setup;
  ServeTime time;
  time.gemm = 1.5e-3;
  time.attention = 0.5e-3;
  time.expert = 3e-3;
  ServeTime alone = time;
  hide_experts(setup, alone);
  CHECK(alone.total() == time.total());
  setup.kernels.takes_turns = true;
  setup.kernels.sms_beside = 0.1;
  hide_experts(setup, time);
  CHECK(time.expert == doctest::Approx(1e-3));
  CHECK(time.gemm == doctest::Approx(1.7e-3));
}
