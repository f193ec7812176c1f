#include "models/io/report/columns.hpp"
#include "models/studies/judge/judge_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

/// A line for each table of a log.
ReportTable logs_table(const std::vector<JudgedTable>& tables) {
  using namespace column;
  ReportTable out("tables", {text("source"), kCollective, kTopology, kNodes, kRanks, kNccl,
                             text("verdict"), text("verdict_of_times"), flag("passes"),
                             whole("rows_with_wrong_values"), text("basis")});
  for (const JudgedTable& table : tables) {
    const JudgeResult& result = table.result;
    std::string basis;
    for (const std::string& one : result.config.basis) basis += (basis.empty() ? "" : "; ") + one;
    out.add({table.source, to_text(result.config.collective), result.config.topology, result.nodes,
             result.ranks, to_text(result.config.version), to_text(result.verdict),
             to_text(result.of_times), passes(result.verdict), result.config.wrong_rows, basis});
  }
  return out;
}

ReportTable rows_table(const std::vector<JudgedTable>& tables) {
  using namespace column;
  ReportTable out("rows",
                  {text("source"), kSize, kTime, us("expected_us"), kLower, kUpper, kBandBasis,
                   number("ratio", {}, ".4f"), kBusbw, number("expected_busbw_GBps", "GB/s", ".4f"),
                   text("verdict"), kAlgorithm, kProtocol, kChannels});
  for (const JudgedTable& table : tables) {
    const JudgeResult& result = table.result;
    for (const JudgeRow& row : result.rows)
      out.add({table.source, row.size.count, row.measured_us, row.expected_us,
               row.expected_us * row.band.lower, row.expected_us * row.band.upper,
               to_text(row.band.known), row.measured_us / row.expected_us,
               busbw_of(result, row.size, row.measured_us),
               busbw_of(result, row.size, row.expected_us), to_text(row.verdict), row.algorithm,
               row.protocol, row.channels});
  }
  return out;
}

/// Causes by what they explain, best first; `rank` is the same where they cannot be told apart.
ReportTable causes_table(const std::vector<JudgedTable>& tables) {
  using namespace column;
  ReportTable out("causes",
                  {text("source"), whole("rank"), text("cause"), text("title"), text("check"),
                   number("typical_error"), number("loss"), whole("rows_explained")});
  for (const JudgedTable& table : tables) {
    int rank = 0;
    for (const FitGroup& group : table.result.ranking) {
      ++rank;
      for (const FitOfPrediction& fit : group.fits) {
        const Suspect& cause = table.result.causes[fit.which].cause;
        out.add({table.source, rank, cause.name, cause.title, cause.check, fit.typical, fit.loss,
                 table.result.rows.size() - fit.outside});
      }
    }
  }
  return out;
}

/// The time of each row under each cause that was simulated.
ReportTable times_table(const std::vector<JudgedTable>& tables) {
  using namespace column;
  ReportTable out("cause_times", {text("source"), text("cause"), kSize, kTime});
  for (const JudgedTable& table : tables) {
    for (const FitGroup& group : table.result.ranking) {
      for (const FitOfPrediction& fit : group.fits) {
        const SimulatedSuspect& simulated = table.result.causes[fit.which];
        for (std::size_t i = 0; i < simulated.times_us.size(); ++i)
          out.add({table.source, simulated.cause.name, table.result.rows[i].size.count,
                   simulated.times_us[i]});
      }
    }
  }
  return out;
}

/// Causes that are in no ranking, and why.
ReportTable excluded_table(const std::vector<JudgedTable>& tables) {
  using namespace column;
  ReportTable out("excluded_causes", {text("source"), text("cause"), text("how"), text("why")});
  for (const JudgedTable& table : tables) {
    const JudgeResult& result = table.result;
    for (const std::size_t i : result.unseen)
      out.add({table.source, result.causes[i].cause.name, "unseen", {}});
    for (const SimulatedSuspect& one : result.causes) {
      if (!one.refused.empty()) out.add({table.source, one.cause.name, "refused", one.refused});
      if (!one.ruled_out.empty())
        out.add({table.source, one.cause.name, "ruled_out", one.ruled_out});
    }
  }
  return out;
}

ReportTable targets_table(const std::vector<JudgedTable>& tables) {
  using namespace column;
  ReportTable out("targets",
                  {text("source"), kSize, number("expected_busbw_GBps", "GB/s"),
                   number("least_busbw_GBps", "GB/s"), number("measured_busbw_GBps", "GB/s"),
                   number("simulated_busbw_GBps", "GB/s"), text("verdict")});
  for (const JudgedTable& table : tables) {
    for (const JudgedTarget& judged : table.targets)
      out.add({table.source, judged.target.size.count, judged.target.expected, judged.target.least,
               judged.measured, judged.predicted, judged.verdict()});
  }
  return out;
}

}  // namespace

Report judge_report(const std::vector<JudgedTable>& tables) {
  Report out;
  out.study = "judge";
  const JudgeConfig& config = tables.front().result.config;
  out.job = job_json(config, {tables.front().result.nodes}, {{"log", tables.front().source}});
  for (const JudgedTable& table : tables) {
    for (const std::string& note : table.result.notes)
      out.notes.push_back(tables.size() > 1 ? table.source + ": " + note : note);
  }
  out.tables = {rows_table(tables),  logs_table(tables),     causes_table(tables),
                times_table(tables), excluded_table(tables), targets_table(tables)};
  return out;
}

}  // namespace fabricast
