#include "models/studies/serving/engine_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "models/engines/engine_run.hpp"
#include "models/experts/ep_run.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/io/workloads/load_engines.hpp"

namespace fabricast {
namespace {

constexpr double kLowLatencyTokens = 256;  // DeepEP's own advice (docs/legacy.md)

/// A function of a size, known at powers of two, each computed once.
std::function<double(double)> between_powers(std::function<double(std::int64_t)> at_power) {
  const auto known = std::make_shared<std::map<int, double>>();
  const auto at = [known, at_power = std::move(at_power)](int exponent) {
    const auto [place, is_new] = known->try_emplace(exponent, 0);
    if (is_new) place->second = at_power(std::int64_t{1} << exponent);
    return place->second;
  };
  return [at](double size) {
    const int below = std::max(0, static_cast<int>(std::floor(std::log2(std::max(1.0, size)))));
    const double low = std::exp2(below);
    const double first = at(below);
    if (size <= low) return first;
    const double second = at(below + 1);
    if (first < 0 || second < 0) return size < 1.5 * low ? first : second;
    return first + (second - first) * (size - low) / low;
  };
}

std::function<double(double)> reduces(const EngineRelease& release, int gpus,
                                      const Cluster& cluster, const EngineCosts& costs) {
  if (gpus > static_cast<int>(cluster.node().gpus().size())) return {};
  const auto members = std::make_shared<Members>(Members::first(1, gpus));
  return between_powers([=, &cluster, &costs](std::int64_t bytes) {
    const EngineQuestion question = question_of(release, cluster, *members, {bytes}, true, 2);
    const EngineChoice choice = choose_kernel(question);
    if (choice.kernel == EngineKernel::nccl) return -1.0;
    return seconds(
        simulate_engine(cluster, *members, costs, {release, choice.kernel, {bytes}, true}).time);
  });
}

ExpertCall expert_call(const Transformer& model, bool is_8bit) {
  ExpertCall out;
  out.choice.experts = model.experts->count;
  out.choice.top_k = model.experts->per_token;
  out.hidden = model.hidden;
  out.dispatched = is_8bit ? EpDatatype::fp8 : EpDatatype::bf16;
  return out;
}

}  // namespace

EngineData load_engine_data() { return {load_engines(), load_expert_kernels(), load_serving()}; }

EpMode expert_mode(const ServeConfig& config, const Cluster& cluster, double tokens) {
  if (!config.dispatch.empty()) return kEpModeWords.parse("ep_kernels", config.dispatch);
  if (config.engine->engine == Engine::trtllm && cluster.nodes() == 1) return EpMode::nvlink;
  return tokens <= kLowLatencyTokens ? EpMode::low_latency : EpMode::normal;
}

ServeKernels engine_kernels(const ServeConfig& config, const ServeLayout& layout,
                            const Cluster& cluster, const EngineData& data) {
  ServeKernels out;
  if (!config.engine) return out;
  if (layout.tensor > 1)
    out.all_reduce = reduces(*config.engine, layout.tensor, cluster, data.reduces);
  const Transformer& model = config.site.model;
  const int ranks = layout.tensor * layout.copies();
  if (!model.experts || layout.copies() == 1 || model.experts->count < ranks) return out;
  if (!config.dispatch.empty() &&
      !has_own_kernels(kEpModeWords.parse("ep_kernels", config.dispatch)))
    return out;  // NCCL's all-to-all
  const int per_node = std::min(ranks, static_cast<int>(cluster.node().gpus().size()));
  if (ranks % per_node != 0 || cluster.nodes() < ranks / per_node) return out;
  const auto part = std::make_shared<Cluster>(cluster.node(), ranks / per_node, cluster.fabric());
  const auto ways = std::make_shared<EpWays>(*part, per_node);
  const bool is_8bit = is_8bit_or_less(config.site.layout.precision);
  const auto drawn = std::make_shared<std::map<int, TokenCounts>>();
  const auto phase = [=, &data](EpPhase which) {
    // Tokens of a copy lie on its TP ranks, evenly.
    const auto at = between_powers([=, &data](std::int64_t tokens) {
      ExpertCall call = expert_call(model, is_8bit);
      call.tokens = static_cast<int>(tokens);
      const EpMode mode = expert_mode(config, *part, static_cast<double>(tokens));
      auto counts = drawn->find(call.tokens);
      if (counts == drawn->end())
        counts = drawn->emplace(call.tokens, count_tokens(call, ranks, per_node)).first;
      return seconds(run_ep_kernels(*ways, data.experts, call, mode, which, counts->second).time);
    });
    return std::function<double(double)>(
        [at, tensor = layout.tensor](double tokens) { return at(std::ceil(tokens / tensor)); });
  };
  out.dispatch = phase(EpPhase::dispatch);
  out.combine = phase(EpPhase::combine);
  return out;
}

}  // namespace fabricast
