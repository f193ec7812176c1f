#include "models/io/report/columns.hpp"
#include "models/studies/shared/job_json.hpp"
#include "models/studies/whatif/whatif_text.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

namespace {

/// What both setups have in common; the size of a step is 0.
std::vector<Json> subject(const WorkRow& row) {
  return {row.collective ? Json(to_text(*row.collective)) : Json("step"), row.nodes, row.ranks,
          row.size.count};
}

std::vector<Json> with_subject(const WorkRow& row, std::vector<Json> cells) {
  std::vector<Json> out = subject(row);
  out.insert(out.end(), cells.begin(), cells.end());
  return out;
}

Json busbw(const WorkRow& row) { return row.collective ? Json(row.busbw_GBps) : Json(); }
Json lower(const std::optional<RatioBand>& ratio) { return ratio ? Json(ratio->lower) : Json(); }
Json upper(const std::optional<RatioBand>& ratio) { return ratio ? Json(ratio->upper) : Json(); }
Json tokens(const WorkRow& row) { return row.collective ? Json() : Json(row.tokens_per_s); }

/// A line for each change of each row. Null where NCCL refuses a call on the way.
ReportTable rows_table(const WhatifResult& result) {
  using namespace column;
  ReportTable out("rows", {kCollective, kNodes, kRanks, kSize, us("before_us"), us("after_us"),
                           text("factor"), us("alone_us"), us("in_order_us"), us("last_us"),
                           us("shapley_us"), us("alone_low_us"), us("alone_high_us")});
  for (const WhatifRow& row : result.rows) {
    for (std::size_t i = 0; i < row.worths.size(); ++i) {
      const Worth& worth = row.worths[i];
      out.add(with_subject(
          row.before,
          {row.before.time_us, row.after.time_us, result.factors[i].text(), or_null(worth.alone_us),
           or_null(worth.in_order_us), or_null(worth.last_us), or_null(worth.shapley_us),
           or_null(worth.alone_low_us), or_null(worth.alone_high_us)}));
    }
  }
  return out;
}

ReportTable both_table(const WhatifResult& result) {
  using namespace column;
  ReportTable out(
      "before_and_after",
      {kCollective, kNodes, kRanks, kSize, us("before_us"), us("after_us"),
       number("before_busbw_GBps", "GB/s"), number("after_busbw_GBps", "GB/s"),
       number("before_tokens_per_s"), number("after_tokens_per_s"), text("before"), text("after"),
       text("mechanism"), number("ratio"), number("ratio_lower"), number("ratio_upper")});
  for (const WhatifRow& row : result.rows)
    out.add(with_subject(
        row.before,
        {row.before.time_us, row.after.time_us, busbw(row.before), busbw(row.after),
         tokens(row.before), tokens(row.after), row.before.choice, row.after.choice, row.mechanism,
         row.after.time_us / row.before.time_us, lower(row.ratio), upper(row.ratio)}));
  return out;
}

/// By which mechanism each change acts on each row.
ReportTable mechanisms_table(const WhatifResult& result) {
  using namespace column;
  ReportTable out("mechanisms",
                  {kCollective, kNodes, kRanks, kSize, text("factor"), text("mechanism")});
  for (const WhatifRow& row : result.rows) {
    for (std::size_t i = 0; i < row.worths.size(); ++i)
      out.add(with_subject(row.before, {result.factors[i].text(), row.worths[i].mechanism}));
  }
  return out;
}

}  // namespace

Report whatif_report(const WhatifResult& result, const Job& before, const Job& after) {
  Report out;
  out.study = "whatif";
  std::vector<int> nodes;
  for (const WhatifRow& row : result.rows) add_once(nodes, row.before.nodes);
  out.job = {{"before", job_json(before, nodes, Json::object())["site"]},
             {"after", job_json(after, nodes, Json::object())["site"]}};
  out.notes = result.notes;
  out.tables = {rows_table(result), both_table(result), mechanisms_table(result)};
  out.facts["combinations_simulated"] = result.runs;
  return out;
}

Report whatif_report(const WhatifTable& table, const std::vector<NamedWork>& works) {
  using namespace column;
  Report out;
  out.study = "whatif";
  std::vector<int> nodes;
  for (const WorkRow& row : table.runs.front().rows) add_once(nodes, row.nodes);
  for (const NamedWork& one : works)
    out.job["setups"][one.name] = job_json(job_of(one.work), nodes, Json::object())["site"];
  out.notes = table.notes;
  ReportTable rows(
      "rows", {text("setup"), kCollective, kNodes, kRanks, kSize, kTime,
               number("of_the_first", {}, ".4f"), text("choice"),
               number("of_the_first_lower", {}, ".4f"), number("of_the_first_upper", {}, ".4f")});
  ReportTable rates("rates", {text("setup"), kCollective, kNodes, kRanks, kSize, kBusbw,
                              number("tokens_per_s"), text("mechanism")});
  ReportTable setups("setups", {text("setup"), us("total_us"), number("of_the_first")});
  for (std::size_t i = 0; i < table.runs.size(); ++i) {
    for (std::size_t r = 0; r < table.runs[i].rows.size(); ++r) {
      const WorkRow& row = table.runs[i].rows[r];
      std::vector<Json> line = subject(row);
      line.insert(line.begin(), table.names[i]);
      std::vector<Json> rate = line;
      line.insert(line.end(), {row.time_us, row.time_us / table.runs.front().rows[r].time_us,
                               row.choice, lower(table.ratios[i][r]), upper(table.ratios[i][r])});
      rate.insert(rate.end(),
                  {busbw(row), tokens(row), mechanism(table.runs.front(), table.runs[i], r)});
      rows.add(std::move(line));
      rates.add(std::move(rate));
    }
    setups.add({table.names[i], table.total_us(i), table.total_us(i) / table.total_us(0)});
  }
  out.tables = {std::move(rows), std::move(rates), std::move(setups)};
  return out;
}

}  // namespace fabricast
