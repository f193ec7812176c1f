#include "models/studies/serving/max_load_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/serving/measured_names.hpp"
#include "models/training/model/gpu_compute.hpp"

namespace fabricast {
namespace {

constexpr int kMost = 1'000'000;
/// --kv_cache_free_gpu_mem_fraction "in many cases" (perf-overview.md).
constexpr double kMemoryShare = 0.95;

struct AskedRequests {
  int prompt, output, requests;
};
/// num_requests by lengths (the same page, at 00f37686 and 03e27c7d). Of 128 + 128 tokens it is
/// 30,000; a tenth of them is as many tokens a second within 1 %.
constexpr AskedRequests kAsked[] = {
    {128, 128, 3000},   {128, 2048, 3000},  {128, 4096, 1500},   {500, 2000, 3000},
    {1000, 1000, 3000}, {1000, 2000, 1500}, {1024, 1024, 3000},  {1024, 2048, 1500},
    {2048, 128, 3000},  {2048, 2048, 1500}, {5000, 500, 1500},   {20000, 2000, 1000},
    {8192, 1024, 1500}, {1024, 8192, 1500}, {32768, 1024, 1000}, {1024, 32768, 1000}};
constexpr int kOtherwise = 1500;

int asked_requests(int prompt, int output) {
  for (const AskedRequests& one : kAsked)
    if (one.prompt == prompt && one.output == output) return one.requests;
  return kOtherwise;
}

int rounded_up(double value, int to) { return to * static_cast<int>(std::ceil(value / to)); }

class MaxLoadReader {
 public:
  explicit MaxLoadReader(const CsvRow& in) : in_(in) {}

  ServingRow read() {
    ServingRow out;
    ServeConfig& config = out.config;
    out.id = in_.text_or_blank("id");
    out.model = in_.text("model");
    config.site.model = load_transformer(measured_model(out.model));
    out.system = in_.text("gpu");
    out.framework = "trtllm";
    out.mode = kMaxLoad;
    out.build = "release";
    release(config);
    precision(config);
    layout(config);
    load(config);
    settings(config);
    out.output_per_s = in_.positive("output_tokens_per_s_total");
    return out;
  }

 private:
  int needed(std::string_view column) const {
    const std::optional<int> out = in_.whole(column, 1, kMost);
    if (!out) throw PassedRow{fmt::format("{} is not given", column)};
    return *out;
  }

  void release(ServeConfig& out) const {
    out.engine = newest(Engine::trtllm);
    try {
      out.engine = parse_engine(fmt::format("trtllm:{}", in_.text("trtllm_version")));
    } catch (const Error&) {
      // Of a release that nobody measured: the newest.
    }
    out.rules = engine_rules(*out.engine);
  }

  void precision(ServeConfig& out) const {
    const std::string& text = in_.text("dtype");
    if (text != "fp8" && text != "nvfp4") throw PassedRow{fmt::format("precision {}", text)};
    out.site.layout.precision = text == "fp8" ? Precision::fp8 : Precision::nvfp4;
  }

  void layout(ServeConfig& out) const {
    const int gpus = needed("tp");
    out.pipeline = in_.whole("pp", 1, kMost).value_or(1);
    // "TP 8" of models with experts is 8 copies of attention (enable_attention_dp in the page's
    // llm_options.yml; 1.2's page says DEP 8 of what 1.0's calls TP 8, at the same throughput).
    const bool copies = out.site.model.experts && in_.text_or_blank("dp_attention") != "0";
    out.tensor = copies ? 1 : gpus;
    out.data = copies ? gpus : 1;
    out.expert = in_.whole("ep", 1, kMost).value_or(copies ? gpus : 1);
    set_nodes(measured_system(in_.text("gpu")), out.gpus(), out.site);
  }

  void load(ServeConfig& out) const {
    OfferedLoad load;
    load.prompt = out.prompt = needed("input_len");
    load.output = out.output = needed("output_len");
    load.concurrency = load.requests = asked_requests(load.prompt, load.output);
    out.load = load;
  }

  /// tensorrt_llm/bench/build/tuning.py at 04cba882: each GPU of a TP group has a head of keys and
  /// values or more.
  void settings(ServeConfig& out) const {
    const Transformer& m = out.site.model;
    const std::optional<double> memory = in_.positive("gpu_mem_gb");
    if (!memory) throw PassedRow{"gpu_mem_gb is not given"};
    const int gpus = out.tensor * out.copies();
    const double heads = std::max(gpus, m.kv_heads),
                 width = m.latent ? m.latent->kv_rank + m.latent->rope_dim : 2 * heads * m.head_dim;
    constexpr double kGigabyte = 1 << 30;
    const double weights =
        static_cast<double>(all_parameters(m)) * element_bytes(out.site.layout.precision);
    const double left = *memory * kGigabyte * gpus * out.pipeline - weights;
    const double fit =
        std::max(0.0, left) * kMemoryShare / (m.layers * width * (out.prompt + out.output));
    const BenchSettings found = bench_settings(fit, out.prompt, out.output, out.pipeline);
    out.rules.requests_max = found.requests_max;
    out.rules.token_budget = found.token_budget;
    out.rules.chunks = true;
    out.memory_share = kMemoryShare;
  }

  const CsvRow& in_;
};

}  // namespace

BenchSettings bench_settings(double requests, int prompt, int output, int stages) {
  const double batch = std::min(requests, 4096.0) / stages;
  const double tokens = std::min(batch * (1 + 1.0 * prompt / output), 32768.0);
  BenchSettings out;
  if (batch < 256)
    out.requests_max = std::max(64, rounded_up(batch, 32));
  else
    out.requests_max = rounded_up(batch, batch < 1024 ? 128 : 256);
  if (tokens < 4096)
    out.token_budget = std::max(2048, rounded_up(tokens, 256));
  else
    out.token_budget = rounded_up(tokens, tokens < 8192 ? 512 : 1024);
  return out;
}

ServingRow read_max_load(const CsvRow& row) { return MaxLoadReader(row).read(); }

}  // namespace fabricast
