// The file of `fabricast serve` -> ServeConfig.
#include <fmt/format.h>

#include "models/io/formats/text_file.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/nccl/base/members.hpp"
#include "models/studies/training/read_step.hpp"
#include "models/studies/training/serve.hpp"

namespace fabricast {
namespace {

constexpr int kWorkersMax = 10'000, kRequestsMax = 1'000'000, kDraftsMax = 64,
              kIntervalMax = 10'000;
constexpr int kSeedMax = 2'000'000'000;

bool there(Reader& in, std::string_view key) {
  if (!in.has(key)) in.text(key, "");
  return in.has(key);
}

ServeLayout read_serve_layout(Reader in) {
  ServeLayout out;
  out.tensor = in.whole("tp", 1, kRanksMax, 1);
  out.pipeline = in.whole("pp", 1, kRanksMax, 1);
  out.expert = in.whole("ep", 1, kRanksMax, 1);
  out.data = in.whole("dp", 1, kRanksMax, 0);
  in.finish();
  return out;
}

OfferedLoad read_load(Reader in) {
  OfferedLoad out;
  if (there(in, "requests_per_s")) out.rate = in.number("requests_per_s", 1e-6, 1e6);
  out.concurrency = in.whole("concurrency", 1, kRequestsMax, 0);
  if ((out.rate > 0) == (out.concurrency > 0))
    in.fail("requests_per_s", "a load is an open loop or a closed one",
            "say either requests_per_s or concurrency");
  out.requests = in.whole("requests", 1, kRequestsMax, 0);
  out.seed = static_cast<std::uint64_t>(in.whole("seed", 0, kSeedMax, 1));
  if (there(in, "spread")) out.spread = in.number("spread", 0, 1);
  if (there(in, "prefix_hit")) out.prefix_hit = in.number("prefix_hit", 0, 1);
  out.shared_prefix = in.whole("shared_prefix", 1, kSequenceMax, 0);
  in.finish();
  return out;
}

void read_batching(Reader in, BatchRules& out) {
  out.token_budget = in.whole("token_budget", 1, kSequenceMax, out.token_budget);
  out.requests_max = in.whole("requests_max", 1, kRequestsMax, out.requests_max);
  out.block_tokens = in.whole("block", 1, 4096, out.block_tokens);
  out.mixes = in.flag("mix", out.mixes);
  out.chunks = in.flag("chunk", out.chunks);
  out.reserves = in.flag("reserve", out.reserves);
  out.receive_interval = in.whole("receive_interval", 1, kIntervalMax, out.receive_interval);
  out.prompt_wait = in.whole("prompt_wait", 0, kIntervalMax, out.prompt_wait);
  out.ahead = in.flag("ahead", out.ahead);
  PromptLaunches& launches = out.launches;
  launches.graph_tokens = in.whole("graph_tokens", 0, kSequenceMax, launches.graph_tokens);
  launches.compiled = in.flag("compiled", launches.compiled);
  in.finish();
}

ServeLimits read_limits(Reader in) {
  ServeLimits out;
  if (there(in, "first_token")) out.first_token = seconds(in.duration("first_token"));
  if (there(in, "token")) out.token = seconds(in.duration("token"));
  if (there(in, "share")) out.share = in.number("share", 0.01, 1);
  if (!out.any())
    in.fail("first_token", "an SLA without a limit", "say first_token, token, or both");
  in.finish();
  return out;
}

PrefillPool read_prefill(Reader in) {
  PrefillPool out;
  out.workers = in.whole("workers", 1, kWorkersMax, 1);
  if (there(in, "parallel")) out.layout = read_serve_layout(in.child("parallel"));
  out.token_budget = in.whole("token_budget", 1, kSequenceMax, out.token_budget);
  in.finish();
  return out;
}

std::optional<OfferedLoad> load_of(Reader& in, const ServeOverrides& overrides) {
  std::optional<OfferedLoad> out;
  if (there(in, "load")) out = read_load(in.child("load"));
  if (overrides.rate == 0 && overrides.concurrency == 0) return out;
  if (!out) out.emplace();
  out->rate = overrides.rate;
  out->concurrency = overrides.concurrency;
  return out;
}

std::optional<EngineRelease> engine_of(Reader& in, const ServeOverrides& overrides, bool queues) {
  std::optional<EngineRelease> out;
  if (there(in, "engine")) {
    const std::string own = in.text("engine");
    out = placed(in.place("engine"), [&] { return parse_engine(own); });
  }
  if (overrides.engine) return overrides.engine;
  if (!out && queues) out = newest(Engine::vllm);
  return out;
}

/// What a queue needs, all of it optional.
void read_queue(Reader& in, ServeConfig& out) {
  out.workers = in.whole("workers", 1, kWorkersMax, 1);
  if (there(in, "router")) out.in_turn = in.choice("router", {"fewest", "in-turn"}) == 1;
  if (there(in, "memory_share")) out.memory_share = in.number("memory_share", 0.1, 1);
  if (out.engine) out.rules = engine_rules(*out.engine);
  if (there(in, "batching")) read_batching(in.child("batching"), out.rules);
  if (there(in, "speculation")) {
    Reader drafts = in.child("speculation");
    out.rules.drafts = drafts.whole("drafts", 1, kDraftsMax);
    out.rules.acceptance = drafts.number("acceptance", 0, 1);
    drafts.finish();
  }
  if (there(in, "prefill")) out.prefill = read_prefill(in.child("prefill"));
  if (there(in, "transfer")) out.streams_layers = in.choice("transfer", {"streamed", "after"}) == 0;
  if (there(in, "sla")) out.limits = read_limits(in.child("sla"));
}

/// vLLM (--kv-cache-dtype) and SGLang (the same) keep keys and values as the model computes, in 16
/// bits, whatever its weights have; TensorRT-LLM as the checkpoint says, in 8 beside such weights.
double unasked_cache(const std::optional<EngineRelease>& engine) {
  return engine && engine->engine != Engine::trtllm ? 2 : 0;
}

}  // namespace

BatchRules engine_rules(const EngineRelease& engine) {
  BatchRules out;
  switch (engine.engine) {
    case Engine::vllm:
    case Engine::flashinfer:
      out.requests_max = 1024;
      out.launches = {512, true};
      break;
    case Engine::sglang:
      out.mixes = false;
      out.ahead = true;
      out.requests_max = 2048;
      break;
    case Engine::trtllm:
      out.reserves = true;
      out.chunks = false;
      out.requests_max = 2048;
      break;
  }
  return out;
}

ServeConfig parse_serve(const std::string& text, const std::string& file,
                        const ServeOverrides& overrides) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("serve");
  ServeConfig out;
  read_site(in, file, out.site);
  out.site.layout.precision = read_precision(in, "precision");
  if (in.has("parallel")) static_cast<ServeLayout&>(out) = read_serve_layout(in.child("parallel"));
  out.load = load_of(in, overrides);
  out.engine = engine_of(in, overrides, out.load.has_value());
  out.cache_element = unasked_cache(out.engine);
  if (there(in, "kv_cache"))
    out.cache_element = in.choice("kv_cache", {"fp8", "bf16"}) == 0 ? 1 : 2;
  if (there(in, "block_products"))
    out.flashinfer_blocks = in.choice("block_products", {"deepgemm", "flashinfer"}) == 1;
  if (there(in, "input_scales")) {
    out.finds_scales = in.choice("input_scales", {"checkpoint", "found"}) == 1;
    const bool trtllm = !out.engine || out.engine->engine == Engine::trtllm;
    if (!trtllm || out.site.layout.precision != Precision::fp8)
      in.fail("input_scales", "it is for products of TensorRT-LLM in fp8",
              "leave it out, or take engine: trtllm and precision: fp8");
  }
  if (there(in, "overlap")) {
    Reader overlap = in.child("overlap");
    out.site.layout.overlap.expert = overlap.flag("expert", false);
    overlap.finish();
  }
  out.prompt = in.whole("prompt", 1, kSequenceMax);
  out.output = in.whole("output", 1, kSequenceMax);
  read_queue(in, out);
  out.batch = out.load ? in.whole("batch", 1, kBatchMax, 1) : in.whole("batch", 1, kBatchMax);
  if (out.load) out.load->prompt = out.prompt, out.load->output = out.output;
  in.finish();
  return out;
}

ServeConfig load_serve(const std::string& path, const ServeOverrides& overrides) {
  return parse_serve(read_text_file(path, "fabricast serve takes a file"), path, overrides);
}

}  // namespace fabricast
