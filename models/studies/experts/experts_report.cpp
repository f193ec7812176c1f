#include "models/io/report/columns.hpp"
#include "models/studies/experts/experts_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {
namespace {

struct PhaseColumns {
  ReportColumn time, notify, launch, GBps, limited_by;
};
using column::us, column::number, column::text, column::whole;
constexpr PhaseColumns kPhaseColumns[] = {  // by EpPhase
    {us("dispatch_us"), us("dispatch_notify_us"), us("dispatch_launch_us"),
     number("dispatch_GBps", "GB/s", ".4f"), text("dispatch_limited_by")},
    {us("combine_us"), us("combine_notify_us"), us("combine_launch_us"),
     number("combine_GBps", "GB/s", ".4f"), text("combine_limited_by")}};

const PhaseColumns& columns_of(EpPhase phase) {
  return kPhaseColumns[static_cast<std::size_t>(phase)];
}

ReportTable rows_table(const ExpertsResult& result) {
  const ExpertsConfig& config = result.config;
  const bool launched = config.launch != EpLaunch::kernels;
  std::vector<ReportColumn> columns = {text("ep_mode"), column::kNodes, column::kRanks,
                                       whole("tokens")};
  for (const EpPhase phase : config.phases) {
    columns.push_back(columns_of(phase).time);
    columns.push_back(columns_of(phase).notify);
    if (launched) columns.push_back(columns_of(phase).launch);
  }
  for (const EpPhase phase : config.phases) columns.push_back(columns_of(phase).GBps);
  columns.push_back(number("busiest_over_average", {}, ".4f"));
  for (const EpPhase phase : config.phases) columns.push_back(columns_of(phase).limited_by);
  ReportTable out("rows", columns);
  for (const ExpertsRow& row : result.rows) {
    std::vector<Json> cells = {kEpModeWords[row.mode], row.nodes, row.ranks, row.tokens};
    for (const EpPhase phase : config.phases) {
      cells.emplace_back(microseconds_of(row.of(phase).time));
      cells.emplace_back(microseconds_of(row.of(phase).notify));
      if (launched) cells.emplace_back(microseconds_of(row.of(phase).launch));
    }
    for (const EpPhase phase : config.phases) cells.emplace_back(printed_GBps(row.of(phase)));
    cells.emplace_back(row.busiest);
    for (const EpPhase phase : config.phases)
      cells.emplace_back(row.of(phase).resources.front().name);
    out.add(std::move(cells));
  }
  return out;
}

ReportTable resources_table(const ExpertsResult& result) {
  ReportTable out("resources", {text("ep_mode"), column::kNodes, whole("tokens"), text("phase"),
                                text("resource"), text("where"), number("busy_share", {}, ".4f")});
  for (const ExpertsRow& row : result.rows)
    for (const EpPhase phase : result.config.phases)
      for (const EpResource& one : row.of(phase).resources)
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
  Json phases = Json::array();
  for (const EpPhase phase : config.phases) phases.push_back(kEpPhaseWords[phase]);
  Report out;
  out.study = "experts";
  out.job = job_json(config, config.nodes,
                     {{"ep_modes", std::move(modes)},
                      {"phases", std::move(phases)},
                      {"launch", kEpLaunchWords[config.launch]},
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
