#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/studies/training/step.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

Json layout_json(const Layout& l) {
  return {{"gpus", l.gpus},
          {"tp", l.tensor},
          {"cp", l.context},
          {"pp", l.pipeline},
          {"vpp", l.virtual_stages},
          {"ep", l.expert},
          {"etp", l.expert_tensor},
          {"dp", l.data()},
          {"order", to_text(l.order)},
          {"sequence", l.sequence},
          {"micro_batch", l.micro_batch},
          {"global_batch", l.global_batch},
          {"micro_batches", l.micro_batches()},
          {"precision", to_text(l.precision)},
          {"sharding", to_text(l.sharding)},
          {"shard_group", l.shard_group},
          {"bucket_bytes", l.bucket},
          {"context_exchange", to_text(l.context_exchange)},
          {"schedule", to_text(l.schedule)},
          {"recompute", to_text(l.recompute)},
          {"recompute_full_share", l.full_share},
          {"sequence_parallel", l.sequence_parallel}};
}

Json breakdown_json(const StepBreakdown& parts) {
  const PassTime& busy = parts.busy;
  return {{"stage", parts.stage},
          {"gemm_s", busy.gemm},
          {"attention_s", busy.attention},
          {"elementwise_s", busy.elementwise},
          {"host_s", busy.host},
          {"tp_exposed_s", busy.tensor},
          {"cp_exposed_s", busy.context},
          {"ep_exposed_s", busy.expert},
          {"contention_s", busy.contention},
          {"pipeline_s", seconds(parts.pipeline)},
          {"dp_exposed_s", seconds(parts.data)},
          {"optimizer_s", seconds(parts.optimizer)},
          {"tp_hidden_s", busy.tensor_hidden},
          {"cp_hidden_s", busy.context_hidden},
          {"ep_hidden_s", busy.expert_hidden},
          {"dp_hidden_s", seconds(parts.data_hidden)}};
}

Json cost_json(const StepResult& result) {
  if (!result.cost) return nullptr;
  const StepCost& cost = *result.cost;
  Json out = {{"usd_per_gpu_hour", cost.gpu_hour},
              {"price_as_of", cost.as_of.empty() ? Json() : Json(cost.as_of)},
              {"usd_per_step", cost.step},
              {"usd_per_million_tokens", cost.million_tokens}};
  if (cost.run > 0) out["usd_per_run"] = cost.run;
  return out;
}

Json memory_json(const StepResult& result) {
  const MemoryUse& use = result.memory.use;
  return {{"fits", result.memory.fits},
          {"capacity_bytes", result.gpu.memory.count},
          {"all_bytes", use.all()},
          {"weights_bytes", use.weights},
          {"gradients_bytes", use.gradients},
          {"optimizer_bytes", use.optimizer},
          {"activations_bytes", use.activations},
          {"transient_bytes", use.transient},
          {"reserved_bytes", use.reserved}};
}

}  // namespace

std::string step_json(const StepResult& result) {
  const StepConfig& config = result.config;
  const Layout& l = config.layout;
  const StepBand band = step_band(config.model);
  const double time = seconds(result.step.time);
  Json ranks = Json::array();
  for (const RankRange& range : config.ranks) ranks.push_back(to_text(range));
  const Json out = {{"study", "step"},
                    {"title", config.title},
                    {"model", config.model.name},
                    {"framework", config.framework},
                    {"topology", config.topology},
                    {"nodes", config.nodes},
                    {"gpu", result.gpu.name},
                    {"nccl", to_text(config.version)},
                    {"layout", layout_json(l)},
                    {"ranks", ranks},
                    {"step_s", time},
                    {"lower_s", time * band.low},
                    {"upper_s", time * band.high},
                    {"tokens_per_s", result.tokens_per_s},
                    {"tokens_per_s_per_gpu", result.tokens_per_s / l.gpus},
                    {"model_flops", result.model_flops},
                    {"mfu", result.mfu},
                    {"cost", cost_json(result)},
                    {"breakdown", breakdown_json(result.step.breakdown)},
                    {"memory", memory_json(result)},
                    {"tasks", result.step.tasks},
                    {"collectives_asked", result.collectives.asked},
                    {"collectives_simulated", result.collectives.simulated},
                    {"notes", result.notes}};
  return json_document(out);
}

}  // namespace fabricast
