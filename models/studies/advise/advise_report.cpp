#include "models/io/report/columns.hpp"
#include "models/studies/advise/advise_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

ReportTable rows_table(const AdviseResult& result) {
  using namespace column;
  ReportTable out(
      "rows", {text("what"), flag("counts"), kCollective, kSize, us("before_us"), us("advised_us"),
               kLower, kUpper, kBusbw, number("tokens_per_s"), text("choice")});
  for (const AdviseRow& row : result.rows) {
    const WorkRow& after = row.after;
    const bool call = after.collective.has_value();
    out.add({after.what, row.counts, call ? Json(to_text(*after.collective)) : Json("step"),
             after.size.count, row.before.time_us, after.time_us,
             row.band ? Json(after.time_us * row.band->lower) : Json(),
             row.band ? Json(after.time_us * row.band->upper) : Json(),
             call ? Json(after.busbw_GBps) : Json(), call ? Json() : Json(after.tokens_per_s),
             after.choice});
  }
  return out;
}

ReportTable lines_table(const AdviseResult& result) {
  using namespace column;
  ReportTable out("lines",
                  {text("name"), text("what"), number("saves"), flag("pinned"), text("reason")});
  for (const AdviseLine& line : result.lines)
    out.add({line.factor.name, line.factor.text(), line.saves, line.pinned, line.reason});
  return out;
}

/// What each row loses when one line goes.
ReportTable worths_table(const AdviseResult& result) {
  using namespace column;
  ReportTable out("line_worths", {text("name"), text("row"), us("last_us")});
  if (!result.whatif) return out;
  for (std::size_t i = 0; i < result.lines.size(); ++i) {
    for (const WhatifRow& row : result.whatif->rows)
      out.add({result.lines[i].factor.name, row.before.what, or_null(row.worths[i].last_us)});
  }
  return out;
}

ReportTable held_back_table(const AdviseResult& result) {
  using namespace column;
  ReportTable out("held_back", {text("what"), number("saves"), number("saves_most"), text("row"),
                                text("reason")});
  for (const HeldBack& held : result.held_back)
    out.add({held.text(), held.saves, held.saves_most, held.row, held.reason});
  return out;
}

}  // namespace

Report advise_report(const AdviseResult& result) {
  Report out;
  out.study = "advise";
  out.job = job_json(job_of(result.config.work), nodes_of(result.config.work),
                     {{"goal", to_text(result.config.goal)},
                      {"least", result.config.least},
                      {"pin_hcas", result.config.pin_hcas}});
  out.notes = result.notes;
  out.tables = {rows_table(result), lines_table(result), worths_table(result),
                held_back_table(result)};
  Json rules = Json::array();
  if (result.tuner) {
    for (const TunerRule& rule : result.tuner->rules) rules.push_back(tuner_csv_line(rule));
  }
  out.facts = {{"advised", environment_json(result.best)},
               {"changes_no_time", result.idle},
               {"hcas", result.hcas},
               {"tuner_rules", std::move(rules)},
               {"no_tuner", result.no_tuner},
               {"environments_tried", result.tried}};
  return out;
}

}  // namespace fabricast
