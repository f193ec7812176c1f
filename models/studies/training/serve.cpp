#include "models/studies/training/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/topologies/load.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

constexpr int kLoadMax = 4096;     // requests
constexpr double kReserved = 4e9;  // bytes: contexts of CUDA and NCCL, workspaces

void check(const ServeConfig& config, const GpuCompute& gpu) {
  const Transformer& m = config.site.model;
  const Precision precision = config.site.layout.precision;
  if (gpu.gemm[static_cast<std::size_t>(precision)].peak == 0)
    throw Error(fmt::format("{} does not compute in {}, or its rate is not known", gpu.name,
                            to_text(precision)));
  if (m.heads % config.tensor != 0)
    throw Error(fmt::format("TP {} does not divide heads {}", config.tensor, m.heads));
  if (config.expert > 1 && (!m.experts || m.experts->count % config.expert != 0))
    throw Error(fmt::format("EP {} does not divide the experts of {}", config.expert, m.name));
  if (config.pipeline > m.layers)
    throw Error(fmt::format("PP {} of {} layers", config.pipeline, m.layers));
}

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
          share(time.pipeline)};
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

ServeResult run_batch(const ServeConfig& config, const GpuCompute& gpu,
                      CollectiveTimes& collectives) {
  ServeResult out;
  out.config = config;
  out.gpu = gpu;
  ServeSetup setup{config.site.model,
                   gpu,
                   config.site.layout.precision,
                   config.tensor,
                   config.pipeline,
                   config.expert,
                   config.batch,
                   config.prompt};
  out.prefill = prefill_time(setup, collectives);
  out.memory = serve_memory(setup, static_cast<double>(config.prompt) + config.output);
  const double left = static_cast<double>(gpu.memory.count) - kReserved - out.memory.weights;
  const double each = out.memory.cache / setup.local_batch();
  const double fitting = std::clamp(std::floor(left / each), 0.0, 1.0 * setup.local_batch());
  out.at_once = std::clamp(static_cast<int>(fitting) * config.expert, 1, config.batch);
  out.fits = fitting == setup.local_batch();
  setup.batch = out.at_once;
  out.decode = decode_time(setup, config.prompt + config.output / 2.0, collectives);
  return out;
}

}  // namespace

ServeResult run_serve(const ServeConfig& config, const GpuCompute& gpu,
                      CollectiveTimes& collectives) {
  check(config, gpu);
  ServeResult out = run_batch(config, gpu, collectives);
  ServeConfig other = config;
  for (other.batch = config.expert; other.batch <= kLoadMax; other.batch *= 2) {
    const ServeResult one = run_batch(other, gpu, collectives);
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
  const int asked = config.tensor * config.expert * config.pipeline;
  if (asked > there)
    throw Error(fmt::format("TP {} x EP {} x PP {} = {} GPUs of {}", config.tensor, config.expert,
                            config.pipeline, asked, there),
                "say more nodes");
  const ComputeCatalogue compute = load_compute();
  const GpuCompute& gpu = compute_of(compute, site.cluster);
  collectives.prepare(for_each, [&] { run_serve(config, gpu, collectives); });
  return run_serve(config, gpu, collectives);
}

std::string serve_text(const ServeResult& result) {
  const ServeConfig& c = result.config;
  const Transformer& m = c.site.model;
  std::string out;
  if (!c.site.title.empty()) out += c.site.title + "\n";
  out += fmt::format("{} on {} of {} x {} ({}), {}\n", m.title.empty() ? m.name : m.title,
                     result.gpus(), c.site.nodes, c.site.topology, result.gpu.name,
                     to_text(c.site.layout.precision));
  out += fmt::format("TP {}, PP {}, EP {}; {} requests of {} + {} tokens\n\n", c.tensor, c.pipeline,
                     c.expert, c.batch, c.prompt, c.output);
  TextTable table;
  table.add({"", "time", "GEMM", "attention", "elementwise", "TP", "EP", "PP"});
  for (std::size_t column = 1; column < 8; ++column) table.align_right(column);
  table.add(row("first token", result.prefill));
  table.add(row("each token", result.decode));
  out += table.text();
  out += fmt::format("\n{:.0f} tokens/s, {:.0f} per GPU; {:.1f} % of a token is communication\n",
                     result.tokens_per_s(), result.tokens_per_s() / result.gpus(),
                     100 * result.decode.communication() / result.decode.total());
  out += fmt::format("memory {:.1f} GB of weights, {:.1f} GB of keys and values, of {:.1f} GB{}\n",
                     result.memory.weights * 1e-9, result.memory.cache * 1e-9,
                     static_cast<double>(result.gpu.memory.count) * 1e-9,
                     result.fits ? ""
                                 : fmt::format(": does not fit; tokens are those of {} requests at "
                                               "a time",
                                               result.at_once));
  if (!result.loads.empty()) out += "\n" + loads_text(result);
  return out;
}

}  // namespace fabricast
