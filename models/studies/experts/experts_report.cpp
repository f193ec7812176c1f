#include "models/io/report/columns.hpp"
#include "models/studies/experts/experts_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {
namespace {

ReportTable rows_table(const ExpertsResult& result) {
  using namespace column;
  ReportTable out("rows",
                  {text("ep_mode"), kNodes, kRanks, whole("tokens"), us("dispatch_us"),
                   us("dispatch_notify_us"), us("combine_us"), us("combine_notify_us"),
                   number("dispatch_GBps", "GB/s", ".4f"), number("combine_GBps", "GB/s", ".4f"),
                   number("busiest_over_average", {}, ".4f"), text("dispatch_limited_by"),
                   text("combine_limited_by")});
  for (const ExpertsRow& row : result.rows)
    out.add({kEpModeWords[row.mode], row.nodes, row.ranks, row.tokens,
             microseconds_of(row.dispatch.time), microseconds_of(row.dispatch.notify),
             microseconds_of(row.combine.time), microseconds_of(row.combine.notify),
             printed_GBps(row.dispatch), printed_GBps(row.combine), row.busiest,
             row.dispatch.resources.front().name, row.combine.resources.front().name});
  return out;
}

ReportTable resources_table(const ExpertsResult& result) {
  using namespace column;
  ReportTable out("resources", {text("ep_mode"), kNodes, whole("tokens"), text("phase"),
                                text("resource"), text("where"), number("busy_share", {}, ".4f")});
  for (const ExpertsRow& row : result.rows)
    for (const EpPhase phase : {EpPhase::dispatch, EpPhase::combine})
      for (const EpResource& one :
           (phase == EpPhase::dispatch ? row.dispatch : row.combine).resources)
        out.add({kEpModeWords[row.mode], row.nodes, row.tokens, kEpPhaseWords[phase], one.name,
                 one.where, one.share});
  return out;
}

}  // namespace

Report experts_report(const ExpertsResult& result) {
  const ExpertsConfig& config = result.config;
  const ExpertChoice& choice = config.call.choice;
  Json modes = Json::array();
  for (const EpMode mode : config.modes) modes.push_back(kEpModeWords[mode]);
  Report out;
  out.study = "experts";
  out.job = job_json(config, config.nodes,
                     {{"ep_modes", std::move(modes)},
                      {"tokens", config.tokens},
                      {"hidden", config.call.hidden},
                      {"top_k", choice.top_k},
                      {"experts", choice.experts},
                      {"groups", choice.groups},
                      {"top_groups", choice.top_groups},
                      {"dtype", kEpDatatypeWords[config.call.dispatched]},
                      {"sms", config.call.sms},
                      {"experts_load", config.load},
                      {"kernels", config.kernels.empty() ? Json() : Json(config.kernels)}});
  out.seed = config.call.seed;
  std::uint64_t digest = 0;
  for (const ExpertsRow& row : result.rows)
    digest = (digest * 31 + row.dispatch.digest) * 31 + row.combine.digest;
  out.digest = digest;
  out.notes = result.notes;
  out.tables = {rows_table(result), resources_table(result)};
  return out;
}

}  // namespace fabricast
