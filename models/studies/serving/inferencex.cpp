#include "models/studies/serving/inferencex.hpp"

#include <algorithm>

#include "models/studies/serving/inferencex_pools.hpp"

namespace fabricast {
namespace {

constexpr int kShort = 1024;
/// Chance that one of DeepSeek's drafts is right after those before it, less what computing them
/// takes: with three drafts one request alone is 2.16 times as fast here, too (nvfp4, TP 8 on B200:
/// TensorRT-LLM, docs/source/blogs/tech_blog/blog2 at 000a01de, figure 7).
constexpr double kMtpAcceptance = 0.64;

/// DeepSeek's own draft layer, where no column says so. dsr1-fp8-b200-trt-mtp and
/// dsr1-fp4-b200-trt-mtp of .github/configs/nvidia-master.yaml (SemiAnalysisAI/InferenceX at
/// 0004cf5f) run release 1.2.0rc6.post3, those without drafts 1.2.0rc6.post2; before that both ran
/// 1.1.0rc2.post2 (perf-changelog.yaml, pull requests 392 and 594), those with drafts last. That
/// runs of it from January 2026 on have them is inferred: no other explains twice the speed of
/// December's.
bool has_drafts(const InferencexRun& run, const ServeConfig& config) {
  if (config.engine->engine != Engine::trtllm || !config.site.model.latent || config.prefill)
    return false;
  return run.release == "1.2.0rc6.post3" ||
         (run.release == "1.1.0rc2.post2" && run.date >= "2026-01-01");
}

/// Three drafts, with copies of attention one (dsr1_fp8_b200_trt_mtp.sh at 111f0312).
void set_drafts(ServeConfig& config) {
  constexpr int kDrafts = 3, kDraftsOfCopies = 1;
  BatchRules& rules = config.rules;
  rules.drafts = config.copies() > 1 ? kDraftsOfCopies : kDrafts;
  rules.acceptance = kMtpAcceptance;
  rules.requests_max = std::max(1, config.load->concurrency / config.copies());
}

/// Of DeepSeek (dsr1_fp8_b200_trt_slurm.sh at f560513749f3, dsr1_fp8_b200_trt_mtp.sh at 111f0312):
/// passes of a prompt and all decodes, MAX_NUM_TOKENS; with copies of attention timeout_iters 60.
/// Of Llama (70b_fp8_b200_trt_slurm.sh at a267b4bd52f1): with 1k/1k below TP 8
/// batch_wait_timeout_iters 20. Other models and GPUs are taken to be run alike.
void set_trtllm(const InferencexRun& run, ServeConfig& config) {
  constexpr int kSpare = 64, kBalanceWait = 60, kBatchWait = 20;
  BatchRules& rules = config.rules;
  const bool is_short = config.prompt == kShort && config.output == kShort;
  if (has_drafts(run, config)) set_drafts(config);
  if (config.site.model.latent) {
    const int decodes =
        rules.drafts > 0 ? (1 + rules.drafts) * rules.requests_max : config.load->concurrency;
    rules.token_budget = (decodes + config.prompt + 2 * kSpare - 1) / kSpare * kSpare;
  }
  if (config.copies() > 1) rules.prompt_wait = kBalanceWait;
  if (!config.site.model.experts && is_short && config.tensor < 8) rules.prompt_wait = kBatchWait;
}

/// single_node/dsr1_fp8_b200.sh at 16ffb658: --scheduler-recv-interval 10, from 16 requests on 30,
/// and --chunked-prefill-size 32768; of nvfp4 (dsr1_fp4_b200.sh) 16384.
void set_sglang(ServeConfig& config) {
  config.rules.receive_interval = config.load->concurrency < 16 ? 10 : 30;
  config.rules.token_budget = config.site.layout.precision == Precision::nvfp4 ? 16384 : 32768;
}

}  // namespace

void set_inferencex(const InferencexRun& run, ServeConfig& config) {
  // Pools are Dynamo's, whose router takes engines in turn (ai-dynamo/dynamo,
  // docs/pages/components/frontend/configuration.md: --router-mode round-robin).
  if (config.prefill) {
    config.in_turn = true;
    if (const auto places = decode_places(config)) config.rules.requests_max = *places;
  }
  if (config.engine->engine == Engine::trtllm) set_trtllm(run, config);
  if (config.engine->engine == Engine::sglang) set_sglang(config);
}

}  // namespace fabricast
