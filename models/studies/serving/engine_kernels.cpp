#include "models/studies/serving/engine_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "models/engines/engine_run.hpp"
#include "models/experts/ep_run.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/nccl/peer_kernels/peer_run.hpp"

namespace fabricast {
namespace {

constexpr double kLowLatencyTokens = 256;  // DeepEP's own advice (docs/legacy.md)
// Counts of more tokens would be taken for FINISHED_SUM_TAG (DeepEP V1, csrc/kernels/configs.cuh).
constexpr double kLowLatencyMost = 1024;

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

/// Normal kernels, and between NVLink domains of more GPUs than these forward to NVIDIA's.
EpMode of_many_tokens(const Cluster& cluster) {
  const auto gpus = static_cast<int>(cluster.node().gpus().size());
  return reaches(EpMode::normal, cluster.nodes(), gpus) ? EpMode::normal : EpMode::hybrid;
}

double sms_share(const ExpertWish& wish, const Cluster& cluster) {
  const int all = cluster.node().gpus().front().part.multiprocessors;
  return all > 0 ? static_cast<double>(sms_beside_compute(wish.mode, wish.sms, all)) / all : 0;
}

}  // namespace

EngineData load_engine_data(const SoftwareCosts& software) {
  return {load_engines(), load_expert_kernels(), load_serving(), software.launch_any};
}

EpMode expert_mode(const ServeConfig& config, const Cluster& cluster, double tokens) {
  if (config.site.ep_kernels) {
    const EpMode asked = config.site.ep_kernels->mode;
    const bool fits = asked != EpMode::low_latency || tokens <= kLowLatencyMost;
    return fits ? asked : of_many_tokens(cluster);
  }
  if (config.engine->engine == Engine::trtllm && cluster.nodes() == 1) return EpMode::nvlink;
  return tokens <= kLowLatencyTokens ? EpMode::low_latency : of_many_tokens(cluster);
}

ServeKernels engine_kernels(const ServeConfig& config, const ServeLayout& layout,
                            const Cluster& cluster, const EngineData& data) {
  ServeKernels out;
  const std::optional<ExpertWish>& asked = config.site.ep_kernels;
  out.takes_turns = config.site.layout.overlap.expert;
  if (!config.engine && !asked) return out;
  if (config.engine && layout.tensor > 1)
    out.all_reduce = reduces(*config.engine, layout.tensor, cluster, data.reduces);
  const Transformer& model = config.site.model;
  const int ranks = layout.tensor * layout.copies();
  if (!model.experts || layout.copies() == 1 || model.experts->count < ranks) return out;
  if (asked && !has_own_kernels(asked->mode)) return out;  // NCCL's all-to-all
  if (asked) out.sms_beside = sms_share(*asked, cluster);
  const ExpertWish wish = asked.value_or(ExpertWish{});
  const int per_node = std::min(ranks, static_cast<int>(cluster.node().gpus().size()));
  if (ranks % per_node != 0 && asked)
    throw Error(fmt::format("ep_kernels: {} GPUs do not fill nodes of {}", ranks, per_node),
                "take fewer or more, or ep_kernels: nccl-alltoall");
  if (ranks % per_node != 0) return out;
  if (asked) check_reach(asked->mode, ranks / per_node, per_node);
  // Over PCIe all three gather and scatter: AlltoallMethodType NotEnabled of TensorRT-LLM, vLLM's
  // all2all_backend allgather_reducescatter, SGLang's --moe-a2a-backend none.
  if (!asked && !all_nvlink(cluster, Members::first(1, per_node))) {
    out.gathers = true;
    return out;
  }
  const auto part = std::make_shared<Cluster>(cluster.node(), ranks / per_node, cluster.fabric());
  const auto ways = std::make_shared<EpWays>(*part, per_node);
  const bool is_8bit = is_8bit_or_less(config.site.layout.precision);
  const auto known = std::make_shared<std::map<std::int64_t, EpRoundTrip>>();
  const auto phase = [=, &data](EpPhase which) {
    // Tokens of a copy lie on its TP ranks, evenly.
    const auto at = between_powers([=, &data](std::int64_t tokens) {
      const auto [trip, is_new] = known->try_emplace(tokens);
      if (is_new) {
        ExpertCall call = wish.call(model.experts->count, model.experts->per_token, model.hidden,
                                    is_8bit ? EpDatatype::fp8 : EpDatatype::bf16);
        call.tokens = static_cast<int>(tokens);
        const EpMode mode = expert_mode(config, *part, static_cast<double>(tokens));
        trip->second = ep_round_trip(*ways, data.experts, call, mode);
        // Decodes are in CUDA graphs; more tokens are prompts, whose kernels the CPU launches.
        const bool in_graph = static_cast<double>(tokens) <= kLowLatencyMost;
        const GpuPart& gpu = part->node().gpus().front().part;
        trip->second.dispatch +=
            round_trip_launch(data.experts.launch, in_graph ? EpLaunch::graph : EpLaunch::stream,
                              mode, call.tokens, gpu.launch.value_or(data.launch_any));
      }
      return seconds(which == EpPhase::dispatch ? trip->second.dispatch : trip->second.combine);
    });
    return std::function<double(double)>(
        [at, tensor = layout.tensor](double tokens) { return at(std::ceil(tokens / tensor)); });
  };
  out.dispatch = phase(EpPhase::dispatch);
  out.combine = phase(EpPhase::combine);
  return out;
}

}  // namespace fabricast
