#include "models/studies/training/training_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/io/report/columns.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/shared/job_json.hpp"
#include "models/studies/training/step_timeline.hpp"
#include "models/training/step/step_parts.hpp"

namespace fabricast {

namespace {

std::vector<ReportColumn> step_columns() {
  using namespace column;
  std::vector<ReportColumn> out = {kTopology,
                                   kNodes,
                                   whole("gpus"),
                                   text("gpu"),
                                   kNccl,
                                   text("framework"),
                                   text("model"),
                                   text("precision"),
                                   whole("sequence"),
                                   whole("global_batch"),
                                   whole("tp"),
                                   whole("cp"),
                                   whole("pp"),
                                   whole("vpp"),
                                   whole("ep"),
                                   whole("etp"),
                                   whole("dp"),
                                   whole("micro_batch"),
                                   text("sharding"),
                                   text("order"),
                                   text("context_exchange"),
                                   text("recompute"),
                                   s("step_s"),
                                   s("lower_s"),
                                   s("upper_s"),
                                   number("tokens_per_s", {}, ".9g"),
                                   number("mfu", {}, ".6g")};
  for (const StepPart& part : step_parts()) out.push_back(part_of_whole(s(part.column), part.name));
  out.insert(out.end(), {number("memory_bytes", "B", ".0f"), flag("fits"),
                         number("usd_per_step", "USD", ".9g"),
                         number("usd_per_million_tokens", "USD", ".9g")});
  return out;
}

void append(std::vector<Json>& to, std::vector<Json> cells) {
  std::ranges::move(cells, std::back_inserter(to));
}

void add_parts(std::vector<Json>& to, const StepBreakdown& breakdown) {
  for (const StepPart& part : step_parts()) to.emplace_back(part.seconds(breakdown));
}

std::vector<Json> step_cells(const StepResult& result) {
  const StepConfig& c = result.config;
  const Layout& l = c.layout;
  const StepBand band = step_band(result);
  const double time = seconds(result.step.time);
  std::vector<Json> out = {c.topology,
                           c.nodes,
                           l.gpus,
                           result.gpu.name,
                           to_text(c.version),
                           c.framework,
                           c.model.name,
                           to_text(l.precision),
                           l.sequence,
                           l.global_batch,
                           l.tensor,
                           l.context,
                           l.pipeline,
                           l.virtual_stages,
                           l.expert,
                           l.expert_tensor,
                           l.data(),
                           l.micro_batch,
                           to_text(l.sharding),
                           to_text(l.order),
                           to_text(l.context_exchange),
                           to_text(l.recompute),
                           time,
                           time * band.low,
                           time * band.high,
                           result.tokens_per_s,
                           result.mfu};
  add_parts(out, result.step.breakdown);
  append(out, {result.memory.use.all(), result.memory.fits,
               result.cost ? Json(result.cost->step) : Json(),
               result.cost ? Json(result.cost->million_tokens) : Json()});
  return out;
}
std::vector<ReportColumn> hidden_columns() {
  std::vector<ReportColumn> out = {column::text("variation")};
  for (const StepPart& part : hidden_step_parts())
    out.push_back(column::part_of_whole(column::s(part.column), part.name));
  return out;
}

/// A part of the memory of a GPU.
ReportColumn held(std::string_view name, std::string_view part) {
  return column::part_of_whole(column::number(name, "B"), part);
}

/// Tables beside the rows: what they have no room for. `variation` tells steps apart.
struct Details {
  ReportTable layouts{
      "layouts",
      {column::text("variation"), column::text("title"), column::text("fabric"),
       column::text("schedule"), column::flag("sequence_parallel"), column::whole("micro_batches"),
       column::number("bucket_bytes", "B"), column::whole("shard_group"),
       column::number("recompute_full_share"), column::text("ranks"),
       column::number("tokens_per_s_per_gpu"), column::number("model_flops"),
       column::whole("slowest_stage"), column::whole("tasks"), column::whole("collectives_asked"),
       column::whole("collectives_simulated"), column::text("layout")}};
  ReportTable hidden{"hidden", hidden_columns()};
  ReportTable memory{
      "memory",
      {column::text("variation"), column::number("capacity_bytes", "B"),
       column::number("all_bytes", "B"), held("weights_bytes", "weights"),
       held("gradients_bytes", "gradients"), held("optimizer_bytes", "optimizer state"),
       held("activations_bytes", "activations"),
       held("transient_bytes", "gathered units and buffers"),
       held("nccl_bytes", "communicators of NCCL"),
       held("reserved_bytes", "context and fragmentation")}};
  ReportTable costs{"costs",
                    {column::text("variation"), column::number("usd_per_gpu_hour", "USD"),
                     column::text("price_as_of"), column::number("usd_per_run", "USD")}};

  void add(const std::string& variation, const StepResult& result) {
    const StepConfig& config = result.config;
    const Layout& l = config.layout;
    std::string ranks;
    for (const RankRange& range : config.ranks)
      ranks += (ranks.empty() ? "" : ",") + to_text(range);
    layouts.add({variation, config.title, config.fabric, to_text(l.schedule), l.sequence_parallel,
                 l.micro_batches(), l.bucket, l.shard_group, l.full_share, ranks,
                 result.tokens_per_s / l.gpus, result.model_flops, result.step.breakdown.stage,
                 result.step.tasks, result.collectives.asked, result.collectives.simulated,
                 short_layout(l)});
    std::vector<Json> beside = {variation};
    for (const StepPart& part : hidden_step_parts())
      beside.emplace_back(part.seconds(result.step.breakdown));
    hidden.add(std::move(beside));
    const MemoryUse& use = result.memory.use;
    memory.add({variation, result.gpu.memory.count, use.all(), use.weights, use.gradients,
                use.optimizer, use.activations, use.transient, use.nccl, use.reserved});
    if (!result.cost) return;
    const StepCost& cost = *result.cost;
    costs.add({variation, cost.gpu_hour, cost.as_of.empty() ? Json() : Json(cost.as_of),
               cost.run > 0 ? Json(cost.run) : Json()});
  }

  void move_to(Report& report) {
    report.tables.insert(report.tables.end(), {layouts, hidden, memory, costs});
  }
};

/// Cells of what is refused.
std::vector<Json> blank() { return std::vector<Json>(step_columns().size()); }

/// What steps and plans ask, but for what they vary.
Json step_job(const StepConfig& config) {
  Json out = job_json(config, {config.nodes},
                      {{"title", config.title},
                       {"model", config.model.name},
                       {"framework", config.framework},
                       {"layout", layout_line(config.layout)},
                       {"price_usd_per_gpu_hour", config.price},
                       {"run_tokens", config.run_tokens}});
  out["site"]["oversubscription"] = config.oversubscription;
  return out;
}

/// The same line once, with the variation that says it where there are several.
void add_notes(const std::string& variation, const std::vector<std::string>& notes, Report& out) {
  for (const std::string& note : notes)
    out.notes.push_back(variation.empty() ? note : variation + ": " + note);
}

std::vector<ReportColumn> serve_columns() {
  using namespace column;
  return {text("what"),
          text("model"),
          kTopology,
          text("gpu"),
          text("precision"),
          whole("tp"),
          whole("pp"),
          whole("ep"),
          whole("batch"),
          whole("prompt"),
          whole("output"),
          s("time_s"),
          part_of_whole(s("gemm_s"), "matrix products"),
          part_of_whole(s("attention_s"), "attention"),
          part_of_whole(s("elementwise_s"), "elementwise kernels"),
          part_of_whole(s("tp_s"), "TP"),
          part_of_whole(s("ep_s"), "EP"),
          part_of_whole(s("pp_s"), "PP"),
          whole("at_once"),
          number("tokens_per_s", {}, ".9g"),
          part_of_whole(number("weights_bytes", "B", ".0f"), "weights"),
          part_of_whole(number("cache_bytes", "B", ".0f"), "KV cache"),
          flag("fits"),
          whole("dp"),
          text("engine"),
          part_of_whole(s("host_s"), "waiting for the host")};
}

/// Of the first token, or of each further one.
std::vector<Json> serve_cells(std::string_view what, const ServeResult& result,
                              const ServeTime& t) {
  const ServeConfig& c = result.config;
  return {what,
          c.site.model.name,
          c.site.topology,
          result.gpu.name,
          to_text(c.site.layout.precision),
          c.tensor,
          c.pipeline,
          c.expert,
          c.batch,
          c.prompt,
          c.output,
          t.total(),
          t.gemm,
          t.attention,
          t.elementwise,
          t.tensor,
          t.expert,
          t.pipeline,
          result.at_once,
          result.tokens_per_s(),
          result.memory.weights,
          result.memory.cache,
          result.fits,
          c.copies(),
          c.engine ? Json(to_text(*c.engine)) : Json(),
          t.host};
}

ReportTable loads_table(const ServeResult& result) {
  using namespace column;
  ReportTable loads(
      "load", {whole("batch"), s("first_token_s"), s("token_s"), number("tokens_per_s", {}, ".9g"),
               number("tokens_per_s_per_gpu", {}, ".9g")});
  for (const ServeLoad& load : result.loads)
    loads.add({load.batch, load.first_token, load.token, load.tokens_per_s,
               load.tokens_per_s / result.gpus()});
  return loads;
}

}  // namespace

Report step_report(const std::vector<NamedStep>& steps) {
  using namespace column;
  Report out;
  out.study = "step";
  out.job = step_job(steps.front().result.config);
  std::vector<ReportColumn> columns = {text("variation")};
  std::ranges::copy(step_columns(), std::back_inserter(columns));
  columns.push_back(text("refused"));
  ReportTable rows("rows", std::move(columns));
  Details details;
  for (const NamedStep& one : steps) {
    std::vector<Json> cells = {one.name};
    append(cells, one.refused.empty() ? step_cells(one.result) : blank());
    cells.push_back(one.refused);
    rows.add(std::move(cells));
    if (!one.refused.empty()) continue;
    details.add(one.name, one.result);
    add_notes(one.name, one.result.notes, out);
  }
  out.tables.push_back(std::move(rows));
  details.move_to(out);
  return out;
}

Report step_report(const StepResult& result) {
  Report out = step_report({{"", "", result}});
  if (!result.config.trace) return out;
  StepTimeline timeline = step_timeline(result);
  out.tables.push_back(std::move(timeline.table));
  if (!timeline.left_out.empty()) out.notes.push_back(std::move(timeline.left_out));
  return out;
}

Report plan_report(const std::vector<Plan>& plans) {
  using namespace column;
  Report out;
  out.study = "plan";
  out.job = step_job(plans.front().config);
  std::vector<ReportColumn> columns = {text("variation"), whole("place"), flag("equal_to_best")};
  std::ranges::copy(step_columns(), std::back_inserter(columns));
  columns.insert(columns.end(), {text("twins"), text("refused")});
  ReportTable rows("rows", std::move(columns));
  ReportTable too_large("does_not_fit", {text("variation"), text("layout"), number("bytes", "B")});
  ReportTable searches(
      "searches", {text("variation"), whole("layouts"), whole("simulated"), number("headroom")});
  Details details;
  for (const Plan& plan : plans) {
    if (!plan.refused.empty()) {
      std::vector<Json> cells = {plan.name, {}, {}};
      append(cells, blank());
      append(cells, {"", plan.refused});
      rows.add(std::move(cells));
      continue;
    }
    const std::size_t equal = plan.best.empty() ? 0 : equal_within_error(plan);
    for (std::size_t i = 0; i < plan.best.size(); ++i) {
      const PlannedLayout& one = plan.best[i];
      std::string twins;
      for (const Layout& twin : one.twins)
        twins += (twins.empty() ? "" : "; ") + short_layout(twin);
      std::vector<Json> cells = {plan.name, i + 1, i < equal};
      append(cells, step_cells(one.result));
      append(cells, {twins, ""});
      rows.add(std::move(cells));
      details.add(fmt::format("{}{}{}", plan.name, plan.name.empty() ? "" : " ", i + 1),
                  one.result);
    }
    for (const TooLarge& one : plan.too_large)
      too_large.add({plan.name, short_layout(one.layout), one.bytes});
    searches.add({plan.name, plan.layouts, plan.simulated, plan.headroom});
  }
  out.tables = {std::move(rows), std::move(too_large), std::move(searches)};
  details.move_to(out);
  return out;
}

Report serve_report(const ServeResult& result) {
  const ServeConfig& c = result.config;
  Report out;
  out.study = "serve";
  out.job = step_job(c.site);
  out.job["ask"].erase("layout");
  for (const auto& [name, value] : {std::pair{"tp", c.tensor},
                                    {"pp", c.pipeline},
                                    {"ep", c.expert},
                                    {"dp", c.copies()},
                                    {"batch", c.batch},
                                    {"prompt", c.prompt},
                                    {"output", c.output}})
    out.job["ask"][name] = value;
  ReportTable rows("rows", serve_columns());
  rows.add(serve_cells("first_token", result, result.prefill));
  rows.add(serve_cells("token", result, result.decode));
  out.tables = {std::move(rows), loads_table(result)};
  out.facts["request_s"] = result.request();
  return out;
}

Report traced_report(const TracedResult& result) {
  using namespace column;
  Report out;
  out.study = "calls";
  out.job = job_json(result.config, {}, {{"file", result.file}});
  ReportTable rows(
      "rows", {kCollective, text("group"), kRanks, whole("times"), kSize, kTime, text("why_not")});
  for (const TracedLine& line : result.lines)
    rows.add({line.call.collective, line.call.group, line.ranks, line.times,
              line.time ? Json(line.bytes) : Json(),
              line.time ? Json(microseconds_of(*line.time)) : Json(), line.why_not});
  out.tables.push_back(std::move(rows));
  out.facts = {{"world_size", result.world_size},
               {"time_us", microseconds_of(result.time)},
               {"kernel_time", result.kernel_time}};
  return out;
}

Report validation_report(const StepValidation& validation) {
  using namespace column;
  Report out;
  out.study = "validate steps";
  std::vector<ReportColumn> columns = {text("case_id"),
                                       s("measured_s"),
                                       s("predicted_s"),
                                       s("lower_s"),
                                       s("upper_s"),
                                       text("band_basis"),
                                       s("left_out_s"),
                                       s("left_out_lower_s"),
                                       s("left_out_upper_s"),
                                       text("framework"),
                                       text("gpu"),
                                       text("recompute"),
                                       number("memory_gb", "GB", ".2f"),
                                       flag("fits")};
  for (const StepPart& part : step_parts()) columns.push_back(number(part.column, "s", ".6g"));
  ReportTable rows("rows", std::move(columns));
  for (const StepPrediction& row : validation.rows) {
    // Requests have neither layout nor parts.
    const StepBand band = step_band(row.result);
    std::vector<Json> cells = {row.id,
                               row.measured,
                               row.predicted,
                               row.predicted * band.low,
                               row.predicted * band.high,
                               band.basis(),
                               row.left_out,
                               row.left_out * row.unseen.low,
                               row.left_out * row.unseen.high,
                               row.result.framework.name,
                               row.result.gpu.name,
                               to_text(row.result.memory.recompute),
                               row.result.memory.use.all() * 1e-9,
                               row.result.memory.fits};
    add_parts(cells, row.result.step.breakdown);
    rows.add(std::move(cells));
  }
  ReportTable left_out("left_out", {text("case_id"), text("why")});
  for (const LeftOut& one : validation.left_out) left_out.add({one.id, one.why});
  out.tables = {std::move(rows), std::move(left_out)};
  return out;
}

}  // namespace fabricast
