#include "models/studies/training/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/topologies/load.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

constexpr int kLoadMax = 4096;  // requests

std::vector<std::string> row(const char* name, const ServeTime& time) {
  const auto share = [&](double part) {
    return fmt::format("{:.1f} %", 100 * part / time.total());
  };
  return {name,
          time_text(time.total()),
          share(time.gemm),
          share(time.attention),
          share(time.elementwise),
          share(time.tensor),
          share(time.expert),
          share(time.pipeline),
          share(time.host)};
}

std::string loads_text(const ServeResult& result) {
  TextTable table;
  table.add({"requests at once", "first token", "each token", "tokens/s", "per GPU"});
  for (std::size_t column = 0; column < 5; ++column) table.align_right(column);
  for (const ServeLoad& load : result.loads)
    table.add({fmt::format("{}", load.batch), time_text(load.first_token), time_text(load.token),
               fmt::format("{:.0f}", load.tokens_per_s),
               fmt::format("{:.1f}", load.tokens_per_s / result.gpus())});
  return table.text();
}

/// How long the GPU waits for the front end, which takes one prompt of a batch after another while
/// those before are computed, in `computing` all of them.
double front_end(const ServeConfig& config, const EngineHost& host, double computing) {
  const double each = host.token * config.prompt;
  const double before = computing * (config.batch - 1) / config.batch;
  return host.front + std::max(each, each * config.batch - before);
}

ServeResult run_batch(const ServeConfig& config, const GpuCompute& gpu,
                      CollectiveTimes& collectives, const ServeEngine& engine) {
  ServeResult out;
  out.config = config;
  out.gpu = gpu;
  ServeSetup setup = serve_setup(config, config, gpu);
  setup.kernels = engine.kernels;
  out.prefill = hosted(prefill_time(setup, collectives), engine.host, setup.local_batch(),
                       config.rules.launches.of(setup, 1.0 * setup.local_batch() * config.prompt));
  out.prefill.host += front_end(config, engine.host, out.prefill.total());
  out.memory = serve_memory(setup, static_cast<double>(config.prompt) + config.output);
  const double left = room_of_cache(config, gpu, out.memory.weights);
  const double each = out.memory.cache / setup.local_batch();
  const double fitting = std::clamp(std::floor(left / each), 0.0, 1.0 * setup.local_batch());
  out.at_once = std::clamp(static_cast<int>(fitting) * config.copies(), 1, config.batch);
  out.fits = fitting == setup.local_batch();
  setup.batch = out.at_once;
  const double requests = batch_of_stage(setup, {.decodes = 1.0 * setup.local_batch()}).decodes;
  out.decode = (1 / config.rules.tokens_per_pass()) *
               hosted(decode_time(setup, config.prompt + config.output / 2.0, collectives),
                      engine.host, requests, 0);
  return out;
}

}  // namespace

std::string to_text(const ServeLayout& layout) {
  std::string out =
      fmt::format("TP {}, PP {}, EP {}", layout.tensor, layout.pipeline, layout.expert);
  if (layout.copies() != layout.expert) out += fmt::format(", DP {}", layout.copies());
  return out;
}

void check_serve(const ServeConfig& config, const ServeLayout& layout, const GpuCompute& gpu) {
  const Transformer& m = config.site.model;
  const Precision precision = config.site.layout.precision;
  if (gpu.gemm[static_cast<std::size_t>(precision)].peak == 0)
    throw Error(fmt::format("{} does not compute in {}, or its rate is not known", gpu.name,
                            to_text(precision)));
  if (m.heads % layout.tensor != 0)
    throw Error(fmt::format("TP {} does not divide heads {}", layout.tensor, m.heads));
  if (layout.expert > 1 && (!m.experts || m.experts->count % layout.expert != 0))
    throw Error(fmt::format("EP {} does not divide the experts of {}", layout.expert, m.name));
  if (layout.tensor * layout.copies() % layout.expert != 0)
    throw Error(fmt::format("EP {} does not divide TP {} x DP {}", layout.expert, layout.tensor,
                            layout.copies()));
  if (layout.pipeline > m.layers)
    throw Error(fmt::format("PP {} of {} layers", layout.pipeline, m.layers));
}

double room_of_cache(const ServeConfig& config, const GpuCompute& gpu, double weights) {
  constexpr double kShare = 0.9;  // vLLM's gpu_memory_utilization
  const auto memory = static_cast<double>(gpu.memory.count);
  if (!config.engine && !config.memory_share) return memory - kServeReserved - weights;
  return memory * config.memory_share.value_or(kShare) - kServeReserved / 2 - weights;
}

GpuCompute with_weights_only(GpuCompute gpu) {
  GemmRate& four_bits = gpu.gemm[static_cast<std::size_t>(Precision::nvfp4)];
  if (four_bits.peak == 0) four_bits = gpu.gemm[static_cast<std::size_t>(Precision::bf16)];
  return gpu;
}

ServeSetup serve_setup(const ServeConfig& config, const ServeLayout& layout,
                       const GpuCompute& gpu) {
  ServeSetup out{config.site.model,
                 gpu,
                 config.site.layout.precision,
                 layout.tensor,
                 layout.pipeline,
                 layout.expert,
                 config.batch,
                 config.prompt};
  out.data = layout.copies();
  out.cache_element = config.cache_element;
  out.drafts = config.rules.drafts;
  out.flashinfer_blocks = config.flashinfer_blocks;
  out.finds_scales = config.finds_scales;
  // TensorRT's compiler does, which builds what published steps of no named release ran.
  out.fuses_quantising = !config.engine || config.rules.launches.compiled;
  if (config.engine && gpu.libraries.contains(kEngineWords[config.engine->engine]))
    out.library = kEngineWords[config.engine->engine];
  return out;
}

ServeResult run_serve(const ServeConfig& config, const GpuCompute& gpu,
                      CollectiveTimes& collectives, const ServeEngine& engine) {
  placed(config.site.place, [&] { check_serve(config, config, gpu); });
  ServeResult out = run_batch(config, gpu, collectives, engine);
  ServeConfig other = config;
  for (other.batch = config.copies(); other.batch <= kLoadMax; other.batch *= 2) {
    const ServeResult one = run_batch(other, gpu, collectives, engine);
    if (!one.fits) break;
    out.loads.push_back({other.batch, one.prefill.total(), one.decode.total(), one.tokens_per_s()});
  }
  return out;
}

ServeResult run_serve(const ServeConfig& config, const PartsCatalogue& parts,
                      const ForEach& for_each) {
  const Site site = load_site(config.site, parts);
  CollectiveTimes collectives =
      collectives_of(config.site, site, parts, CollectiveTimes::Estimate::simulated);
  const int there = sized(config.site, site.cluster).layout.gpus;
  if (config.gpus() > there)
    throw Error(config.site.place,
                fmt::format("TP {} x {} {} x PP {} = {} GPUs of {}", config.tensor,
                            config.copies() == config.expert ? "EP" : "DP", config.copies(),
                            config.pipeline, config.gpus(), there),
                "say more nodes");
  const ComputeCatalogue compute = load_compute();
  const GpuCompute gpu = with_weights_only(compute_of(compute, site.cluster));
  collectives.prepare(for_each, [&] { run_serve(config, gpu, collectives); });
  return run_serve(config, gpu, collectives);
}

std::string serve_text(const ServeResult& result) {
  const ServeConfig& c = result.config;
  const Transformer& m = c.site.model;
  std::string out;
  if (!c.site.title.empty()) out += c.site.title + "\n";
  out += fmt::format("{} on {} of {} x {} ({}), {}\n", m.title.empty() ? m.name : m.title,
                     counted(result.gpus(), "GPU"), c.site.nodes, c.site.topology, result.gpu.name,
                     to_text(c.site.layout.precision));
  out += fmt::format("{}; {} of {} + {} tokens\n\n", to_text(c), counted(c.batch, "request"),
                     c.prompt, c.output);
  TextTable table;
  const bool has_host = result.prefill.host > 0;
  const auto add = [&](std::vector<std::string> cells) {
    if (!has_host) cells.pop_back();
    table.add(std::move(cells));
  };
  add({"", "time", "GEMM", "attention", "elementwise", "TP", "EP", "PP", "host"});
  for (std::size_t column = 1; column < 9; ++column) table.align_right(column);
  add(row("first token", result.prefill));
  add(row("each token", result.decode));
  out += table.text();
  out += fmt::format("\n{:.0f} tokens/s, {:.0f} per GPU; {:.1f} % of a token is communication\n",
                     result.tokens_per_s(), result.tokens_per_s() / result.gpus(),
                     100 * result.decode.communication() / result.decode.total());
  out += fmt::format("memory {:.1f} GB of weights, {:.1f} GB of keys and values, of {:.1f} GB{}\n",
                     result.memory.weights * 1e-9, result.memory.cache * 1e-9,
                     static_cast<double>(result.gpu.memory.count) * 1e-9,
                     result.fits ? ""
                                 : fmt::format(": does not fit; tokens are those of {} at a time",
                                               counted(result.at_once, "request")));
  if (!result.loads.empty()) out += "\n" + loads_text(result);
  return out;
}

}  // namespace fabricast
