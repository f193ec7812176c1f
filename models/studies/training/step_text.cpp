#include <fmt/format.h>

#include "models/studies/training/step.hpp"
#include "models/training/step/step_parts.hpp"
#include "text/text_table.hpp"

namespace fabricast {

std::string layout_line(const Layout& l) {
  std::string out = fmt::format("TP {}", l.tensor);
  if (l.context > 1) out += fmt::format(", CP {}", l.context);
  if (l.pipeline > 1) out += fmt::format(", PP {}", l.pipeline);
  if (l.virtual_stages > 1) out += fmt::format(" x {} chunks", l.virtual_stages);
  if (l.expert > 1) out += fmt::format(", EP {}", l.expert);
  if (l.expert_tensor > 1) out += fmt::format(" x TP {}", l.expert_tensor);
  out += fmt::format(", DP {}; {}, {}, recompute {}", l.data(), to_text(l.sharding),
                     to_text(l.precision), to_text(l.recompute));
  if (l.context > 1 && l.context_exchange != ContextExchange::ring)
    out += fmt::format(", CP by {}", to_text(l.context_exchange));
  if (l.master_weights != MasterWeights::fp32)
    out += fmt::format(", master weights {}", kMasterWeightsWords[l.master_weights]);
  if (l.optimizer_states != OptimizerStates::fp32)
    out += fmt::format(", optimizer states {}", kOptimizerStatesWords[l.optimizer_states]);
  if (l.order != kMegatronOrder) out += fmt::format(", order {}", to_text(l.order));
  if (l.full_share > 0) out += fmt::format(", {:.0f} % of layers full", 100 * l.full_share);
  return out;
}

std::string time_text(double time) {
  if (time >= 100e-3) return fmt::format("{:.3f} s", time);
  return fmt::format("{:.2f} ms", time * 1e3);
}

namespace {

/// Shorter than this is not told.
constexpr double kNothing = 1e-9;

std::string breakdown_text(const StepResult& result) {
  const StepBreakdown& breakdown = result.step.breakdown;
  const double whole = seconds(result.step.time);
  TextTable table("  ");
  table.align_right(1);
  table.align_right(2);
  for (const StepPart& part : step_parts()) {
    const double time = part.seconds(breakdown);
    if (time >= kNothing)
      table.add(
          {std::string(part.name), time_text(time), fmt::format("{:.1f} %", 100 * time / whole)});
  }
  std::string hidden;
  for (const StepPart& part : hidden_step_parts()) {
    const double time = part.seconds(breakdown);
    if (time >= kNothing)
      hidden += fmt::format("{}{} {}", hidden.empty() ? "" : ", ", part.name, time_text(time));
  }
  return table.text() +
         (hidden.empty() ? "" : fmt::format("  hidden behind compute: {}\n", hidden));
}

std::string cost_text(const StepResult& result) {
  if (!result.cost) return "cost: no price is known, say `price`, USD per GPU and hour\n";
  const StepCost& cost = *result.cost;
  std::string out = fmt::format("cost {:.4g} USD per step, {:.4g} per million tokens", cost.step,
                                cost.million_tokens);
  if (cost.run > 0) {
    const double days = result.config.run_tokens / result.tokens_per_s / 86400;
    out += fmt::format(", {:.4g} for {:.4g} tokens in {:.1f} days", cost.run,
                       result.config.run_tokens, days);
  }
  return out + fmt::format(" at {:.2f} USD per GPU and hour{}\n", cost.gpu_hour,
                           cost.as_of.empty() ? "" : fmt::format(", {}", cost.as_of));
}

std::string memory_text(const StepResult& result) {
  const MemoryUse& use = result.memory.use;
  TextTable table("  ");
  table.align_right(1);
  const auto add = [&](const char* name, double bytes) {
    if (bytes > 0) table.add({name, fmt::format("{:.2f} GB", bytes * 1e-9)});
  };
  add("weights", use.weights);
  add("gradients", use.gradients);
  add("optimizer state", use.optimizer);
  add("activations", use.activations);
  add("gathered units and buffers", use.transient);
  add("communicators of NCCL", use.nccl);
  add("context and fragmentation", use.reserved);
  return table.text();
}

}  // namespace

std::string step_text(const StepResult& result) {
  const StepConfig& config = result.config;
  const Layout& l = config.layout;
  const double time = seconds(result.step.time);
  std::string out;
  if (!config.title.empty()) out += config.title + "\n";
  out += fmt::format("{} on {} x {} ({} GPUs, {}), {}\n",
                     config.model.title.empty() ? config.model.name : config.model.title,
                     config.nodes, config.topology, l.gpus, result.gpu.name, result.framework.name);
  out += layout_line(l) + "\n";
  if (config.ep_kernels && l.expert > 1) {
    const ExpertWish& wish = *config.ep_kernels;
    out += fmt::format("tokens to experts: {}", kEpModeWords[wish.mode]);
    if (takes_sms(wish.mode)) out += fmt::format(" kernels, {} SMs", wish.sms);
    out += "\n";
  }
  if (!config.ranks.empty()) {
    out += "ranks on";
    for (const RankRange& range : config.ranks)
      out += (&range == config.ranks.data() ? " " : ", ") + to_text(range);
    out += "\n";
  }
  const std::string packed =
      l.document > 0 ? fmt::format(" packed of documents of {}", l.document) : "";
  out += fmt::format("{} sequences of {} tokens{}, {} micro-batches of {} per replica\n\n",
                     l.global_batch, l.sequence, packed, l.micro_batches(), l.micro_batch);
  out += fmt::format("step {}   {:.0f} tokens/s per GPU   {:.0f} TFLOP/s per GPU   MFU {:.1f} %\n",
                     time_text(time), result.tokens_per_s / l.gpus,
                     result.model_flops / time / l.gpus * 1e-12, 100 * result.mfu);
  const StepBand band = step_band(result);
  out += fmt::format("80 % of published steps lie in {} .. {} for such a prediction ({})\n",
                     time_text(time * band.low), time_text(time * band.high), band.basis());
  out += cost_text(result);
  out += l.pipeline > 1 ? fmt::format("of the slowest stage, {}:\n", result.step.breakdown.stage)
                        : std::string();
  out += breakdown_text(result);
  out += fmt::format("\nmemory {:.1f} GB of {:.1f} GB per GPU\n", result.memory.use.all() * 1e-9,
                     static_cast<double>(result.gpu.memory.count) * 1e-9);
  out += memory_text(result);
  out += fmt::format("collectives: asked {}, simulated {}\n", result.collectives.asked,
                     result.collectives.simulated);
  for (const std::string& note : result.notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace fabricast
