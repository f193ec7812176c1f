#include "models/studies/serving/engine_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricast {
namespace {

constexpr double kLargeMessage = 64 << 20;

ServePool pool_of(const ServeConfig& config, const EngineModel& engine, const EngineHost& host) {
  ServePool out;
  out.copies = engine.layout.copies();
  out.rules = config.rules;
  out.rules.blocks = blocks_of(config, engine);
  if (out.rules.blocks < 1)
    throw Error(fmt::format("{} of {:.1f} GB of weights a GPU leave no room for keys and values",
                            to_text(engine.layout), engine.weights * 1e-9),
                "say a larger parallel.tp or parallel.ep");
  out.pass = [&engine, &host, launches = config.rules.launches](const ServeBatch& batch) {
    return engine.passes.seconds(batch, host, launches);
  };
  return out;
}

}  // namespace

double tokens_max(const ServeConfig& config, bool prefill) {
  const double prompt = config.load ? config.load->prompt : config.prompt;
  const double budget = prefill ? config.prefill->token_budget : config.rules.token_budget;
  const double requests = config.load && config.load->concurrency > 0
                              ? std::min(config.load->concurrency, config.rules.requests_max)
                              : config.rules.requests_max;
  const double decodes = requests * (1 + config.rules.drafts);
  return std::max({budget, decodes, config.rules.chunks && !prefill ? 0 : prompt + decodes});
}

EngineModel engine_model(const ServeConfig& config, const ServeLayout& layout,
                         const GpuCompute& gpu, const ServeKernels& kernels, double tokens_max,
                         CollectiveTimes& collectives) {
  placed(config.site.place, [&] { check_serve(config, layout, gpu); });
  ServeSetup setup = serve_setup(config, layout, gpu);
  setup.kernels = kernels;
  const double length = static_cast<double>(config.prompt) + config.output;
  return {layout, PassTimes(setup, tokens_max, collectives), serve_memory(setup, length).weights,
          cache_bytes(setup, length) / length};
}

TransferCosts transfer_costs(CollectiveTimes& collectives, const ServingCosts& costs) {
  const bool leaves = collectives.cluster().nodes() > 1;
  const RankGroup pair{2, leaves ? collectives.gpus_per_node() : 1};
  const double time = seconds(collectives.cost(Collective::sendrecv, pair, kLargeMessage).time);
  return {kLargeMessage / time, costs.transfer_block, costs.transfer_start};
}

std::int64_t blocks_of(const ServeConfig& config, const EngineModel& engine) {
  const double left = room_of_cache(config, engine.passes.setup().gpu, engine.weights);
  return std::max<std::int64_t>(
      0, static_cast<std::int64_t>(left / (engine.token_bytes * config.rules.block_tokens)));
}

ServeQueue queue_of(const ServeConfig& config, const EngineModel& engine,
                    const EngineModel* prefill, const EngineHost& host,
                    const TransferCosts& transfer) {
  ServeQueue out;
  out.pool = pool_of(config, engine, host);
  out.pool.workers = config.workers;
  out.in_turn = config.in_turn;
  out.front = host.front;
  out.token = host.token;
  out.concurrency = config.load->concurrency;
  if (!prefill) return out;
  out.prefill = pool_of(config, *prefill, host);
  out.prefill->workers = config.prefill->workers;
  out.prefill->rules.token_budget = config.prefill->token_budget;
  out.prefill->rules.drafts = 0;
  // Of two unequal cuts the side with fewer GPUs carries more bytes each.
  const double bytes = std::max(engine.token_bytes, prefill->token_bytes);
  const int layers = config.site.model.layers, block = config.rules.block_tokens;
  out.sends = [=](double tokens) {
    return tokens * bytes / transfer.rate + std::ceil(tokens / block) * layers * transfer.block;
  };
  out.waits = [=, sends = out.sends, streams = config.streams_layers](double tokens,
                                                                      double computing) {
    const double all = sends(tokens);
    // The last layer's leave after it; those before it left while it was computed.
    const double hidden = streams ? computing * (layers - 1) / layers : 0;
    return transfer.start + std::max(all / layers, all - hidden);
  };
  return out;
}

}  // namespace fabricast
