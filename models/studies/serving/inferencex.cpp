#include "models/studies/serving/inferencex.hpp"

#include <algorithm>

#include "models/studies/serving/inferencex_pools.hpp"

namespace fabricast {
namespace {

constexpr int kShort = 1024, kLong = 8192;
/// Chance that one of DeepSeek's drafts is right after those before it, less what computing them
/// takes: with three drafts one request alone is 2.16 times as fast here, too (nvfp4, TP 8 on B200:
/// TensorRT-LLM, docs/source/blogs/tech_blog/blog2 at 000a01de, figure 7). Qwen3.5's is taken to be
/// the same.
constexpr double kMtpAcceptance = 0.64;

struct Run {
  const InferencexRun& run;
  ServeConfig& config;
  BatchRules& rules = config.rules;
  int concurrency = config.load->concurrency;

  bool is(int prompt, int output) const {
    return config.prompt == prompt && config.output == output;
  }
  bool is_4bit() const { return config.site.layout.precision == Precision::nvfp4; }
  bool is_latent() const { return config.site.model.latent.has_value(); }
  bool is_recurrent() const {
    return config.site.model.local && config.site.model.local->recurrent;
  }
  bool has_copies() const { return config.copies() > 1; }
  void draft(int drafts) const {
    rules.drafts = drafts;
    rules.acceptance = kMtpAcceptance;
  }
};

/// DeepSeek's own draft layer, where no column says so. dsr1-fp8-b200-trt-mtp and
/// dsr1-fp4-b200-trt-mtp of .github/configs/nvidia-master.yaml (SemiAnalysisAI/InferenceX at
/// 0004cf5f) run release 1.2.0rc6.post3, those without drafts 1.2.0rc6.post2; before that both ran
/// 1.1.0rc2.post2 (perf-changelog.yaml, pull requests 392 and 594), those with drafts last. That
/// runs of it from January 2026 on have them is inferred: no other explains twice the speed of
/// December's.
bool has_trtllm_drafts(const Run& at) {
  if (!at.is_latent() || at.config.prefill) return false;
  return at.run.release == "1.2.0rc6.post3" ||
         (at.run.release == "1.1.0rc2.post2" && at.run.date >= "2026-01-01");
}

/// Three drafts, with copies of attention one (dsr1_fp8_b200_trt_mtp.sh at 111f0312).
void set_trtllm_drafts(const Run& at) {
  constexpr int kDrafts = 3, kDraftsOfCopies = 1;
  at.draft(at.has_copies() ? kDraftsOfCopies : kDrafts);
  at.rules.requests_max = std::max(1, at.concurrency / at.config.copies());
}

/// PIECEWISE_CUDA_GRAPHS of DeepSeek's scripts for 1.2.0rc6: benchmarks/single_node/
/// dsr1_{fp8,fp4}_b200_trt.sh at 34bc7c40, dsr1_fp8_b200_trt_mtp.sh at 2f3a788f,
/// dsr1_fp4_b200_trt_mtp.sh at 34bc7c40.
bool has_prompt_graphs(const Run& at) {
  if (!at.run.release.starts_with("1.2.0rc6") || at.config.prefill) return false;
  const int n = at.concurrency;
  const bool drafts = at.rules.drafts > 0, short_both = at.is(kShort, kShort),
             short_long = at.is(kShort, kLong), long_short = at.is(kLong, kShort);
  if (!drafts && at.is_4bit()) return short_both && at.config.tensor == 8 && at.config.expert == 8;
  if (!drafts)
    return (short_both && n >= 64) || (short_long && n >= 128 && n < 256) ||
           (long_short && n >= 64);
  if (at.is_4bit())
    return (short_both && (n == 32 || n == 64 || (n == 128 && !at.has_copies()))) ||
           (short_long && n == 64);
  if (at.has_copies()) return false;
  return (short_both && n > 4) || (short_long && n > 8) || (long_short && n > 16);
}

/// Of DeepSeek (dsr1_fp8_b200_trt_slurm.sh at f560513749f3, dsr1_fp8_b200_trt_mtp.sh at 111f0312):
/// passes of a prompt and all decodes, MAX_NUM_TOKENS.
void set_trtllm_latent(const Run& at) {
  constexpr int kSpare = 64;
  BatchRules& rules = at.rules;
  const int decodes = rules.drafts > 0 ? (1 + rules.drafts) * rules.requests_max : at.concurrency;
  rules.token_budget = (decodes + at.config.prompt + 2 * kSpare - 1) / kSpare * kSpare;
  if (has_prompt_graphs(at)) rules.launches.graph_tokens = rules.token_budget;
}

/// With copies of attention timeout_iters 60 (dsr1_fp8_b200_trt_slurm.sh at f560513749f3). Of Llama
/// (70b_fp8_b200_trt_slurm.sh at a267b4bd52f1) --max_num_tokens 16384, with 1k/1k below TP 8
/// batch_wait_timeout_iters 20; of gpt-oss (gptoss_fp4_b200_trt.sh at 6be4ee36) 20000. Other models
/// and GPUs are taken to be run alike.
void set_trtllm(const Run& at) {
  constexpr int kBalanceWait = 60, kBatchWait = 20, kDense = 16384, kExperts = 20000;
  const bool experts = at.config.site.model.experts.has_value();
  if (at.has_copies()) at.rules.prompt_wait = kBalanceWait;
  if (!experts && at.is(kShort, kShort) && at.config.tensor < 8) at.rules.prompt_wait = kBatchWait;
  if (!at.is_latent()) {
    at.rules.token_budget = experts ? kExperts : kDense;
    return;
  }
  if (has_trtllm_drafts(at)) set_trtllm_drafts(at);
  set_trtllm_latent(at);
}

/// Drafts of SGLang, where no column says so. DeepSeek in 8 bits with TP 8: dsr1-fp8-b200-sglang
/// ends at 64 requests, of 8k/1k at 4, dsr1-fp8-b200-sglang-mtp at 512 (nvidia-master.yaml at
/// 0004cf5f, both with v0.5.9-cu130 since pull request 943); of runs that both have no row says
/// which it is: none here. Qwen3.5 in 8 bits: TP 4 without EP is qwen3.5-fp8-b200-sglang-mtp's
/// alone (pull requests 898 and 918 of perf-changelog.yaml).
int sglang_drafts(const Run& at) {
  constexpr int kDeepSeek = 2, kQwen = 3, kWithout = 64, kLongWithout = 4;
  const ServeConfig& config = at.config;
  const bool can = config.site.layout.precision == Precision::fp8 && config.expert == 1 &&
                   !config.prefill && at.run.release == "0.5.9";
  if (!can) return 0;
  const int without = at.is(kLong, kShort) ? kLongWithout : kWithout;
  if (at.is_latent() && config.tensor == 8 && at.concurrency > without) return kDeepSeek;
  if (at.is_recurrent() && config.tensor == 4) return kQwen;
  return 0;
}

/// single_node/dsr1_fp8_b200.sh at 16ffb658: --scheduler-recv-interval 10, from 16 requests on 30,
/// and --chunked-prefill-size 32768, with TP 4 10 and 8192; of nvfp4 (dsr1_fp4_b200.sh) 16384. The
/// same with drafts (dsr1_fp8_b200_mtp.sh at 574bcd35) and of Qwen3.5 (qwen3.5_fp8_b200.sh at
/// 01fa35cf). Where drafts are checked no pass is formed ahead. DeepSeek's set
/// SGLANG_ENABLE_FLASHINFER_GEMM, Qwen3.5's DeepGEMM; pools are taken to have SGLang's default,
/// DeepGEMM.
void set_sglang(const Run& at) {
  constexpr int kOften = 10, kSeldom = 30, kMany = 16;
  BatchRules& rules = at.rules;
  rules.receive_interval = at.concurrency < kMany ? kOften : kSeldom;
  rules.token_budget = at.is_4bit() ? 16384 : 32768;
  if (at.config.prefill) return;
  at.config.flashinfer_blocks = at.is_latent();
  if (const int drafts = sglang_drafts(at); drafts > 0) {
    at.draft(drafts);
    rules.ahead = false;
  }
  if (at.is_latent() && !at.is_4bit() && at.config.tensor == 4) {
    rules.receive_interval = kOften;
    rules.token_budget = 8192;
  }
}

/// All with async-scheduling. gptoss_fp4_{b200,h100}.sh at 1fc5d73c: max-cudagraph-capture-size
/// 2048. 70b_{fp8,fp4}_b200_docker.sh at bb4c7f93: cudagraph_mode FULL_DECODE_ONLY, splitting_ops
/// [], no graph of passes with prompts; that such a pass takes 0.8 ms a layer whatever TP and
/// length, as code that is not compiled does, is inferred. Llama on H100 (70b_fp8_h100_slurm.sh at
/// 2a205bb3) has vLLM's own 512.
void set_vllm(const Run& at) {
  constexpr int kExperts = 2048;
  at.rules.ahead = true;
  if (at.config.site.model.experts) {
    at.rules.launches.graph_tokens = kExperts;
  } else if (at.config.site.topology != "dgx-h100") {
    at.rules.launches = {};
  }
}

}  // namespace

void set_inferencex(const InferencexRun& run, ServeConfig& config) {
  // Pools are Dynamo's, whose router takes engines in turn (ai-dynamo/dynamo,
  // docs/pages/components/frontend/configuration.md: --router-mode round-robin).
  if (config.prefill) {
    config.in_turn = true;
    if (const auto places = decode_places(config)) config.rules.requests_max = *places;
  }
  const Run at{run, config};
  if (config.engine->engine == Engine::trtllm) set_trtllm(at);
  if (config.engine->engine == Engine::sglang) set_sglang(at);
  if (config.engine->engine == Engine::vllm) set_vllm(at);
}

}  // namespace fabricast
