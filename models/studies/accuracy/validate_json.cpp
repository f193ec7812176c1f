#include <nlohmann/json.hpp>

#include "models/studies/accuracy/validate_score.hpp"
#include "models/studies/accuracy/validate_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

Json score_json(const RangeScore& score) {
  return {{"median_error", score.error}, {"median_bias", score.bias}, {"runs", score.runs}};
}

Json summary_json(const ValidateResult& result) {
  const Summary summary = summary_of(result);
  Json ranges = Json::array(), classes = Json::array();
  for (std::size_t i = 0; i < kSizeRanges; ++i) {
    ranges.push_back({{"sizes", kSizeRangeNames[i]},
                      {"median_over_classes", summary.headline[i].median},
                      {"p90_over_runs", summary.headline[i].p90}});
  }
  for (const GroupScore& group : summary.classes) {
    Json scores = Json::array();
    for (std::size_t i = 0; i < kSizeRanges; ++i) {
      if (group.ranges[i].runs == 0) continue;
      scores.push_back(score_json(group.ranges[i]));
      scores.back()["sizes"] = kSizeRangeNames[i];
    }
    classes.push_back({{"class", group.name}, {"ranges", scores}});
  }
  return {{"points_scored", summary.points},
          {"points_predicted", summary.predicted},
          {"points_with_band", summary.banded},
          {"points_inside_band", summary.inside},
          {"ranges", ranges},
          {"classes", classes}};
}

Json pairs_json(const ValidateResult& result) {
  const PairSummary summary = pair_summary(result);
  Json pairs = Json::array();
  for (const PairScore& score : summary.pairs) {
    const MeasuredPair& pair = result.measured.pairs[score.pair];
    pairs.push_back({{"run_id", result.measured.runs[pair.run].id},
                     {"baseline_run", result.measured.runs[pair.baseline].id},
                     {"what_changed", pair.what},
                     {"size_bytes", pair.size.count},
                     {"ratio_of", pair.is_busbw ? "busbw" : "time"},
                     {"measured_ratio", pair.ratio},
                     {"predicted_ratio", score.predicted}});
  }
  return {{"direction_right", summary.right},
          {"direction_of", summary.large},
          {"median_error", summary.median_error},
          {"pairs", pairs}};
}

Json point_json(const ValidateResult& result, std::size_t index) {
  const MeasuredPoint& point = result.measured.points[index];
  const Prediction& prediction = result.predictions[index];
  Json out = {{"run_id", result.measured.runs[point.run].id},
              {"size_bytes", point.size.count},
              {"measured_us", point.time_us},
              {"predicted_us", nullptr},
              {"lower_us", nullptr},
              {"upper_us", nullptr},
              {"algorithm", prediction.algorithm},
              {"protocol", prediction.protocol},
              {"nchannels", prediction.channels},
              {"method", to_text(prediction.method)}};
  if (prediction.method != Method::none) out["predicted_us"] = prediction.time_us;
  if (prediction.upper_us > 0) {
    out["lower_us"] = prediction.lower_us;
    out["upper_us"] = prediction.upper_us;
  }
  return out;
}

}  // namespace

std::string validate_json(const ValidateResult& result) {
  Json left_out = Json::array(), points = Json::array();
  for (const auto& [run, why] : result.left_out)
    left_out.push_back({{"run_id", result.measured.runs[run].id}, {"why", why.what()}});
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    if (!result.left_out.contains(result.measured.points[i].run))
      points.push_back(point_json(result, i));
  }
  const Json out = {{"predictor", to_text(result.predictor)},
                    {"calls_simulated", result.calls},
                    {"assumed", result.notes},
                    {"left_out", left_out},
                    {"summary", summary_json(result)},
                    {"pairs", pairs_json(result)},
                    {"points", points}};
  return json_document(out);
}

}  // namespace fabricast
