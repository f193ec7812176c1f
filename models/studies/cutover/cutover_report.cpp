#include "models/io/report/columns.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/cutover/cutover_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

/// A cluster as it was asked for, with `changed` "", or a variant of it.
struct Variant {
  std::string changed;
  const CutoverResult* result = nullptr;
};

std::string_view algorithm_text(const Contender& contender, const CutoverTime& time) {
  if (!time.kernel.empty()) return time.kernel;
  return contender.custom ? std::string_view(contender.custom->name) : to_text(contender.algorithm);
}

/// Of an engine whose kernel it is; how buffers are registered.
std::string protocol_text(const Contender& contender) {
  if (contender.registered != Registration::none) return to_text(contender);
  return contender.engine ? to_text(*contender.engine) : std::string(to_text(contender.protocol));
}

Json named(const CutoverResult& result, std::optional<std::size_t> contender) {
  return contender ? Json(to_text(result.contenders[*contender])) : Json();
}

void add_times(const CutoverResult& result, const CutoverColumn& column, std::size_t size,
               ReportTable& out) {
  if (!column.cells[size]) return;
  const CutoverCell& cell = *column.cells[size];
  for (std::size_t i = 0; i < cell.times.size(); ++i) {
    if (!cell.times[i]) continue;
    const double time = cell.times[i]->time_us;
    const double busbw = static_cast<double>(cell.size.count) / time / 1e3 *
                         busbw_factor(result.config.collective, column.ranks);
    out.add({to_text(result.config.collective), column.nodes, column.ranks,
             result.config.sizes[size].count, algorithm_text(result.contenders[i], *cell.times[i]),
             protocol_text(result.contenders[i]), time, busbw, cell.times[i]->extrapolated,
             cell.fastest == i, cell.chosen == i});
  }
}

ReportTable rows_table(const CutoverResult& result) {
  using namespace column;
  ReportTable out("rows", {kCollective, kNodes, kRanks, kSize, kAlgorithm, kProtocol, kTime, kBusbw,
                           flag("extrapolated"), flag("fastest"), flag("nccl_takes")});
  for (const CutoverColumn& column : result.columns) {
    for (std::size_t size = 0; size < column.cells.size(); ++size)
      add_times(result, column, size, out);
  }
  return out;
}

/// What is fastest in each cell, what NCCL takes, and what that costs.
ReportTable choices_table(const std::vector<Variant>& variants) {
  using namespace column;
  ReportTable out("choices",
                  {text("changed"), kNodes, kSize, text("fastest"), text("nccl"), number("loss")});
  for (const Variant& variant : variants) {
    for (const CutoverColumn& column : variant.result->columns) {
      for (std::size_t size = 0; size < column.cells.size(); ++size) {
        const auto& cell = column.cells[size];
        if (!cell) continue;
        out.add({variant.changed, column.nodes, variant.result->config.sizes[size].count,
                 named(*variant.result, cell->fastest), named(*variant.result, cell->chosen),
                 cell->loss()});
      }
    }
  }
  return out;
}

ReportTable cutovers_table(const std::vector<Variant>& variants) {
  using namespace column;
  ReportTable out("cutovers",
                  {text("changed"), kNodes, kRanks, text("of"), text("from"), text("to"), kSize,
                   whole("near_first_bytes", "B"), whole("near_last_bytes", "B")});
  for (const Variant& variant : variants) {
    for (const CutoverColumn& column : variant.result->columns) {
      for (const auto& [of, cutovers] :
           {std::pair{"fastest", &column.fastest}, std::pair{"nccl", &column.chosen}}) {
        for (const Cutover& one : *cutovers)
          out.add({variant.changed, column.nodes, column.ranks, of,
                   named(*variant.result, one.from), named(*variant.result, one.to), one.size.count,
                   one.first.count, one.last.count});
      }
    }
  }
  return out;
}

}  // namespace

Report cutover_report(const CutoverResult& result, const std::vector<CutoverVariant>& variants) {
  const CutoverConfig& config = result.config;
  Json sizes = Json::array();
  for (const Bytes one : config.sizes) sizes.push_back(one.count);
  Report out;
  out.study = "cutover";
  out.job = job_json(config, config.nodes,
                     {{"collective", to_text(config.collective)},
                      {"sizes_bytes", std::move(sizes)},
                      {"slices_max", config.slices_max}});
  out.notes = result.notes;
  std::vector<Variant> all = {{"", &result}};
  for (const CutoverVariant& one : variants) all.push_back({one.name, &one.result});
  out.tables = {rows_table(result), choices_table(all), cutovers_table(all)};
  return out;
}

}  // namespace fabricast
