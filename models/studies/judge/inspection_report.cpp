#include "models/io/report/columns.hpp"
#include "models/studies/judge/judge_inspector.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

std::vector<ReportColumn> row_columns() {
  using namespace column;
  return {text("communicator"),
          text("name"),
          text("job"),
          kCollective,
          kNodes,
          kRanks,
          kSize,
          whole("calls"),
          kTime,
          us("wait_us"),
          us("transfer_us"),
          us("expected_us"),
          kLower,
          kUpper,
          kBandBasis,
          number("ratio", {}, ".4f"),
          kBusbw,
          number("expected_busbw_GBps", "GB/s", ".4f"),
          text("verdict"),
          number("share", {}, ".6f"),
          whole("last_rank"),
          text("last_host"),
          number("last_share", {}, ".4f"),
          text("took_algorithm"),
          text("took_protocol"),
          kAlgorithm,
          kProtocol,
          kChannels,
          text("suspect"),
          text("why_not")};
}

std::vector<Json> row_cells(const JudgedInspection& judged, std::size_t i) {
  const InspectedRow& row = judged.run.rows[i];
  const JudgeRow* const of = judged.judged(i);
  const auto if_judged = [&](auto make) { return of != nullptr ? Json(make()) : Json(); };
  const auto if_skewed = [&](auto make) { return row.skew ? Json(make()) : Json(); };
  return {row.communicator,
          row.name,
          row.job,
          row.collective ? std::string(to_text(*row.collective)) : row.word,
          row.nodes,
          row.ranks,
          row.size.count,
          row.calls,
          row.time_us,
          if_skewed([&] { return row.skew->wait_us; }),
          row.transfer_us,
          if_judged([&] { return of->expected_us; }),
          if_judged([&] { return judged.lower_us(i); }),
          if_judged([&] { return judged.upper_us(i); }),
          if_judged([&] { return std::string(to_text(of->band.known)); }),
          if_judged([&] { return row.transfer_us / of->expected_us; }),
          busbw_of(row, row.transfer_us),
          if_judged([&] { return busbw_of(row, of->expected_us); }),
          if_judged([&] { return std::string(to_text(of->verdict)); }),
          judged.run.share(row),
          if_skewed([&] { return row.skew->last_rank; }),
          if_skewed([&] { return row.skew->last; }),
          if_skewed([&] { return row.skew->last_share; }),
          row.algorithm,
          row.protocol,
          if_judged([&] { return std::string(of->algorithm); }),
          if_judged([&] { return std::string(of->protocol); }),
          if_judged([&] { return of->channels; }),
          judged.verdicts[i].suspect,
          judged.verdicts[i].why_not};
}

ReportTable inspected_rows(const JudgedInspection& judged) {
  ReportTable out("rows", row_columns());
  for (std::size_t i = 0; i < judged.run.rows.size(); ++i) out.add(row_cells(judged, i));
  return out;
}

ReportTable inspected_causes(const JudgedInspection& judged) {
  using namespace column;
  ReportTable out("causes",
                  {text("communicator"), text("name"), kCollective, kNodes, kRanks, text("verdict"),
                   whole("rank"), text("cause"), text("title"), text("check"),
                   number("typical_error"), whole("rows_explained"), whole("rows")});
  for (const InspectedJudgement& one : judged.judgements) {
    const InspectedRow& row = judged.run.rows[one.rows.front()];
    int rank = 0;
    for (const FitGroup& group : one.result.ranking) {
      ++rank;
      for (const FitOfPrediction& fit : group.fits) {
        const Suspect& cause = one.result.causes[fit.which].cause;
        out.add({row.communicator, row.name, to_text(*row.collective), row.nodes, row.ranks,
                 to_text(one.result.of_times), rank, cause.name, cause.title, cause.check,
                 fit.typical, one.result.rows.size() - fit.outside, one.result.rows.size()});
      }
    }
  }
  return out;
}

}  // namespace

Report inspection_report(const JudgedInspection& judged) {
  Report out;
  out.study = "judge inspector";
  out.job = job_json(judged.request.job, {}, {{"inspector", judged.request.source}});
  out.notes = judged.run.notes;
  out.notes.insert(out.notes.end(), judged.notes.begin(), judged.notes.end());
  out.tables = {inspected_rows(judged), inspected_causes(judged)};
  out.facts = {{"records", judged.run.calls},
               {"files", judged.run.files},
               {"format", judged.run.version},
               {"seconds", or_null(judged.run.seconds)}};
  return out;
}

}  // namespace fabricast
