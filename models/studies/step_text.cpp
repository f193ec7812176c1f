#include <fmt/format.h>

#include "models/io/text_table.hpp"
#include "models/studies/step.hpp"

namespace fabricast {

namespace {

std::string layout_line(const StepResult& result) {
  const Layout& l = result.config.layout;
  std::string out = fmt::format("TP {}", l.tensor);
  if (l.context > 1) out += fmt::format(", CP {}", l.context);
  if (l.pipeline > 1) out += fmt::format(", PP {}", l.pipeline);
  if (l.virtual_stages > 1) out += fmt::format(" x {} chunks", l.virtual_stages);
  if (l.expert > 1) out += fmt::format(", EP {}", l.expert);
  if (l.expert_tensor > 1) out += fmt::format(" x TP {}", l.expert_tensor);
  out += fmt::format(", DP {}; {}, {}, recompute {}", l.data(), to_text(l.sharding),
                     to_text(l.precision), to_text(l.recompute));
  if (l.full_share > 0) out += fmt::format(", {:.0f} % of layers full", 100 * l.full_share);
  return out;
}

/// A time with three digits that say something.
std::string time_text(double time) {
  if (time >= 100e-3) return fmt::format("{:.3f} s", time);
  return fmt::format("{:.2f} ms", time * 1e3);
}

void add_part(TextTable& table, const char* name, double time, double whole) {
  if (time < 1e-9) return;
  table.add({name, time_text(time), fmt::format("{:.1f} %", 100 * time / whole)});
}

std::string breakdown_text(const StepResult& result) {
  const StepBreakdown& parts = result.step.breakdown;
  const PassTime& busy = parts.busy;
  const double whole = seconds(result.step.time);
  TextTable table("  ");
  table.align_right(1);
  table.align_right(2);
  add_part(table, "matrix products", busy.gemm, whole);
  add_part(table, "attention", busy.attention, whole);
  add_part(table, "elementwise kernels", busy.elementwise, whole);
  add_part(table, "waiting for the host", busy.host, whole);
  add_part(table, "TP, exposed", busy.tensor, whole);
  add_part(table, "CP, exposed", busy.context, whole);
  add_part(table, "EP, exposed", busy.expert, whole);
  add_part(table, "slower beside communication", busy.contention, whole);
  add_part(table, "pipeline: bubble and sends", seconds(parts.pipeline), whole);
  add_part(table, "DP, exposed", seconds(parts.data), whole);
  add_part(table, "optimizer", seconds(parts.optimizer), whole);
  std::string out = table.text();
  const double hidden = busy.hidden + seconds(parts.data_hidden);
  if (hidden > 0)
    out += fmt::format("  and {} of communication hidden behind compute\n", time_text(hidden));
  return out;
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
  add("contexts and fragmentation", use.reserved);
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
  out += layout_line(result) + "\n";
  out += fmt::format("{} sequences of {} tokens, {} micro-batches of {} per replica\n\n",
                     l.global_batch, l.sequence, l.micro_batches(), l.micro_batch);
  out += fmt::format("step {}   {:.0f} tokens/s per GPU   {:.0f} TFLOP/s per GPU   MFU {:.1f} %\n",
                     time_text(time), result.tokens_per_s / l.gpus,
                     result.model_flops / time / l.gpus * 1e-12, 100 * result.mfu);
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
