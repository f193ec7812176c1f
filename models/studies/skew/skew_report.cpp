#include "models/io/report/columns.hpp"
#include "models/studies/shared/job_json.hpp"
#include "models/studies/skew/skew.hpp"

namespace fabricast {

namespace {

using namespace column;

ReportTable rows_table(const SkewResult& result) {
  ReportTable out("rows", {kCollective, kRanks, kSize, whole("times"), us("wait_us"),
                           us("wait_most_us"), us("transfer_us"), us("transfer_p90_us"),
                           us("expected_us"), number("ratio", {}, ".3f"), whole("slowest_rank"),
                           number("slowest_share", {}, ".4f"), text("group"), text("why_not")});
  for (const SkewRow& row : result.rows) {
    const TracedLine& line = row.line;
    const Json expected = line.time ? Json(microseconds_of(*line.time)) : Json();
    out.add({line.call.collective, line.ranks, line.time ? Json(line.bytes) : Json(), row.times,
             row.wait_us, row.wait_most_us, row.transfer_us, row.transfer_p90_us, expected,
             line.time ? Json(row.transfer_us / microseconds_of(*line.time)) : Json(), row.slowest,
             row.slowest_share, line.call.group, line.why_not});
  }
  return out;
}

ReportTable steps_table(const SkewResult& result) {
  ReportTable out("steps", {whole("step"), us("time_us"), whole("calls"), whole("slowest_rank"),
                            whole("last_times"), us("caused_us"), us("exposed_wait_us"),
                            us("exposed_transfer_us"), us("above_expected_us")});
  for (const SkewStep& step : result.steps)
    out.add({step.number, step.time_us, step.calls, step.slowest, step.last, step.caused_us,
             step.wait_us, step.transfer_us, step.above_us});
  return out;
}

ReportTable ranks_table(const SkewResult& result) {
  ReportTable out("ranks", {whole("rank"), whole("calls"), whole("last_times"), us("caused_us"),
                            us("exposed_wait_us"), us("exposed_transfer_us"), us("busy_us"),
                            us("offset_us"), number("drift_ppm"), us("residual_us")});
  for (const SkewRank& one : result.ranks) {
    const auto or_unknown = [&](double value) { return one.clock_known ? Json(value) : Json(); };
    out.add({one.rank, one.calls, one.last, one.caused_us, one.wait_us, one.transfer_us,
             one.compute_us, or_unknown(one.offset_us), or_unknown(one.drift_ppm),
             or_unknown(one.residual_us)});
  }
  return out;
}

}  // namespace

Report skew_report(const SkewResult& result) {
  Report out;
  out.study = "calls of ranks";
  Json missing = Json::array();
  for (const int rank : result.missing) missing.push_back(rank);
  out.job = job_json(result.config, {}, {{"calls", result.folder}});
  out.notes = result.notes;
  out.tables = {rows_table(result), steps_table(result), ranks_table(result)};
  out.facts = {{"world_size", result.world_size},
               {"missing_ranks", std::move(missing)},
               {"matched", result.calls},
               {"residual_us", result.residual_us},
               {"residual_p90_us", result.residual_most_us},
               {"early_ends", result.early_ends}};
  return out;
}

}  // namespace fabricast
