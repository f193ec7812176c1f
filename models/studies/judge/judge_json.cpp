#include <nlohmann/json.hpp>

#include "models/studies/judge/judge_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

Json rows_json(const JudgeResult& result) {
  Json out = Json::array();
  for (const JudgeRow& row : result.rows) {
    out.push_back({{"size_bytes", row.size.count},
                   {"time_us", row.measured_us},
                   {"expected_us", row.expected_us},
                   {"lower_us", row.expected_us * row.band.lower},
                   {"upper_us", row.expected_us * row.band.upper},
                   {"band_basis", row.band.basis},
                   {"ratio", row.measured_us / row.expected_us},
                   {"busbw_GBps", busbw_of(result, row.size, row.measured_us)},
                   {"expected_busbw_GBps", busbw_of(result, row.size, row.expected_us)},
                   {"verdict", to_text(row.verdict)},
                   {"algorithm", row.algorithm},
                   {"protocol", row.protocol},
                   {"nchannels", row.channels}});
  }
  return out;
}

Json ranking_json(const JudgeResult& result) {
  Json out = Json::array();
  int rank = 0;
  for (const FitGroup& group : result.ranking) {
    ++rank;
    for (const FitOfPrediction& fit : group.fits) {
      const SimulatedSuspect& simulated = result.causes[fit.which];
      out.push_back({{"rank", rank},
                     {"cause", simulated.cause.name},
                     {"title", simulated.cause.title},
                     {"check", simulated.cause.check},
                     {"typical_error", fit.typical},
                     {"loss", fit.loss},
                     {"rows_explained", result.rows.size() - fit.outside},
                     {"times_us", simulated.times_us}});
    }
  }
  return out;
}

Json table_json(const JudgedTable& table) {
  const JudgeResult& result = table.result;
  Json out = {{"source", table.source},
              {"collective", to_text(result.config.collective)},
              {"topology", result.config.topology},
              {"nodes", result.nodes},
              {"ranks", result.ranks},
              {"basis", result.config.basis},
              {"nccl", to_text(result.config.version)},
              {"verdict", to_text(result.verdict)},
              {"verdict_of_times", to_text(result.of_times)},
              {"rows_with_wrong_values", result.config.wrong_rows},
              {"rows", rows_json(result)},
              {"causes", ranking_json(result)},
              {"unseen", Json::array()},
              {"refused", Json::array()},
              {"ruled_out", Json::array()},
              {"targets", Json::array()},
              {"notes", result.notes}};
  for (const std::size_t i : result.unseen) out["unseen"].push_back(result.causes[i].cause.name);
  for (const SimulatedSuspect& simulated : result.causes) {
    if (!simulated.refused.empty())
      out["refused"].push_back({{"cause", simulated.cause.name}, {"why", simulated.refused}});
  }
  for (const SimulatedSuspect& simulated : result.causes) {
    if (!simulated.ruled_out.empty())
      out["ruled_out"].push_back({{"cause", simulated.cause.name}, {"by", simulated.ruled_out}});
  }
  for (const JudgedTarget& judged : table.targets) {
    out["targets"].push_back({{"size_bytes", judged.target.size.count},
                              {"expected_busbw_GBps", judged.target.expected},
                              {"least_busbw_GBps", judged.target.least},
                              {"measured_busbw_GBps", judged.measured},
                              {"simulated_busbw_GBps", judged.predicted},
                              {"verdict", judged.verdict()}});
  }
  return out;
}

}  // namespace

std::string judge_json(const std::vector<JudgedTable>& tables) {
  Json out = Json::array();
  for (const JudgedTable& table : tables) out.push_back(table_json(table));
  return json_document(Json{{"tables", std::move(out)}});
}

}  // namespace fabricast
