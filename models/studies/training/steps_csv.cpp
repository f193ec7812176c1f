// Steps and plans as CSV: a line for each layout, times in seconds.
#include <fmt/format.h>

#include "models/io/formats/csv_table.hpp"
#include "models/studies/training/plan.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

constexpr const char* kStepColumns =
    "topology,nodes,gpus,gpu,nccl,framework,model,precision,sequence,global_batch,tp,cp,pp,vpp,ep,"
    "etp,dp,micro_batch,sharding,order,context_exchange,recompute,step_s,lower_s,upper_s,"
    "tokens_per_s,mfu,gemm_s,attention_s,elementwise_s,host_s,tp_exposed_s,cp_exposed_s,"
    "ep_exposed_s,contention_s,pipeline_s,dp_exposed_s,optimizer_s,memory_bytes,fits,usd_per_step,"
    "usd_per_million_tokens";

/// A line of nothing but so many commas.
std::string blank_columns() {
  std::string out;
  for (const char* c = kStepColumns; *c != 0; ++c) out += *c == ',' ? "," : "";
  return out;
}

std::string site_columns(const StepResult& result) {
  const StepConfig& c = result.config;
  const Layout& l = c.layout;
  return fmt::format("{},{},{},{},{},{},{},{},{},{}", csv_field(c.topology), c.nodes, l.gpus,
                     csv_field(result.gpu.name), to_text(c.version), csv_field(c.framework),
                     csv_field(c.model.name), to_text(l.precision), l.sequence, l.global_batch);
}

std::string layout_columns(const Layout& l) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", l.tensor, l.context, l.pipeline,
                     l.virtual_stages, l.expert, l.expert_tensor, l.data(), l.micro_batch,
                     to_text(l.sharding), to_text(l.order), to_text(l.context_exchange),
                     to_text(l.recompute));
}

std::string time_columns(const StepResult& result) {
  const StepBand band = step_band(result.config.model);
  const double time = seconds(result.step.time);
  const StepBreakdown& parts = result.step.breakdown;
  const PassTime& busy = parts.busy;
  std::string out = fmt::format("{:.9g},{:.9g},{:.9g},{:.9g},{:.6g}", time, time * band.low,
                                time * band.high, result.tokens_per_s, result.mfu);
  for (const double part : {busy.gemm, busy.attention, busy.elementwise, busy.host, busy.tensor,
                            busy.context, busy.expert, busy.contention, seconds(parts.pipeline),
                            seconds(parts.data), seconds(parts.optimizer)})
    out += fmt::format(",{:.9g}", part);
  return out;
}

std::string step_columns(const StepResult& result) {
  std::string out = site_columns(result) + "," + layout_columns(result.config.layout) + "," +
                    time_columns(result);
  out += fmt::format(",{:.0f},{},", result.memory.use.all(), result.memory.fits ? 1 : 0);
  if (result.cost)
    return out + fmt::format("{:.9g},{:.9g}", result.cost->step, result.cost->million_tokens);
  return out + ",";
}

}  // namespace

std::string steps_csv(const std::vector<NamedStep>& steps) {
  std::string out = fmt::format("variation,{},refused\n", kStepColumns);
  for (const NamedStep& one : steps)
    out += fmt::format("{},{},{}\n", csv_field(one.name),
                       one.refused.empty() ? step_columns(one.result) : blank_columns(),
                       csv_field(one.refused));
  return out;
}

std::string plan_csv(const std::vector<Plan>& plans) {
  std::string out = fmt::format("variation,place,equal_to_best,{},twins,refused\n", kStepColumns);
  for (const Plan& plan : plans) {
    if (!plan.refused.empty())
      out += fmt::format("{},,,{},,{}\n", csv_field(plan.name), blank_columns(),
                         csv_field(plan.refused));
    const std::size_t equal = plan.best.empty() ? 0 : equal_within_error(plan);
    for (std::size_t i = 0; i < plan.best.size(); ++i) {
      std::string twins;
      for (const Layout& twin : plan.best[i].twins)
        twins += (twins.empty() ? "" : "; ") + short_layout(twin);
      out += fmt::format("{},{},{},{},{},\n", csv_field(plan.name), i + 1, i < equal ? 1 : 0,
                         step_columns(plan.best[i].result), csv_field(twins));
    }
  }
  return out;
}

}  // namespace fabricast
