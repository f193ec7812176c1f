#include <functional>
#include <optional>

#include "models/io/report/columns.hpp"
#include "models/studies/accuracy/validate_score.hpp"
#include "models/studies/accuracy/validate_text.hpp"

namespace fabricast {

namespace {

ReportTable rows_table(const ValidateResult& result) {
  using namespace column;
  ReportTable out("rows", {text("run_id"),
                           kCollective,
                           kSize,
                           us("measured_us"),
                           us("predicted_us"),
                           kLower,
                           kUpper,
                           number("error", {}, ".4f"),
                           text("class"),
                           kNodes,
                           kRanks,
                           kAlgorithm,
                           kProtocol,
                           kChannels,
                           text("method"),
                           kBandBasis,
                           us("left_out_us"),
                           us("left_out_lower_us"),
                           us("left_out_upper_us"),
                           text("left_out_band_basis")});
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    const MeasuredPoint& point = result.measured.points[i];
    if (result.left_out.contains(point.run)) continue;
    const MeasuredRun& run = result.measured.runs[point.run];
    const Prediction& prediction = result.predictions[i];
    const bool predicted = prediction.method != Method::none, banded = prediction.upper_us > 0,
               unseen = prediction.left_out_us > 0,
               unseen_banded = unseen && prediction.left_out_upper_us > 0;
    out.add({run.id,
             to_text(run.collective),
             point.size.count,
             point.time_us,
             predicted ? Json(prediction.time_us) : Json(),
             banded ? Json(prediction.lower_us) : Json(),
             banded ? Json(prediction.upper_us) : Json(),
             predicted ? Json(prediction.time_us / point.time_us - 1) : Json(),
             class_of(run),
             run.nodes,
             run.ranks,
             prediction.algorithm,
             prediction.protocol,
             prediction.channels > 0 ? Json(prediction.channels) : Json(),
             to_text(prediction.method),
             banded ? Json(prediction.band_basis) : Json(),
             unseen ? Json(prediction.left_out_us) : Json(),
             unseen_banded ? Json(prediction.left_out_lower_us) : Json(),
             unseen_banded ? Json(prediction.left_out_upper_us) : Json(),
             unseen_banded ? Json(prediction.left_out_basis) : Json()});
  }
  return out;
}

Json or_null(std::optional<double> share) { return share ? Json(*share) : Json(); }

/// Of all runs, and of those of each era.
ReportTable ranges_table(const ValidateResult& result) {
  using namespace column;
  ReportTable out(
      "ranges", {text("era"), text("sizes"), number("median_over_classes"), number("p90_over_runs"),
                 number("left_out_median"), number("left_out_p90")});
  const std::optional<ValidateResult> left_out = left_out_of(result);
  const auto add = [&](const char* era, const std::function<bool(const MeasuredRun&)>& counts) {
    const auto [seen, unseen] = score(result, left_out, counts);
    if (seen.points == 0) return;
    for (std::size_t i = 0; i < kSizeRanges; ++i)
      out.add({era, kSizeRangeNames[i], or_null(seen.headline[i].median),
               or_null(seen.headline[i].p90), unseen ? or_null(unseen->headline[i].median) : Json(),
               unseen ? or_null(unseen->headline[i].p90) : Json()});
  };
  add("all", {});
  add("modern", is_modern);
  add("legacy", [](const MeasuredRun& run) { return !is_modern(run); });
  return out;
}

ReportTable classes_table(const Summary& summary) {
  using namespace column;
  ReportTable out("classes", {text("class"), text("sizes"), number("median_error"),
                              number("median_bias"), whole("runs")});
  for (const GroupScore& group : summary.classes) {
    for (std::size_t i = 0; i < kSizeRanges; ++i) {
      const RangeScore& score = group.ranges[i];
      if (score.runs > 0)
        out.add({group.name, kSizeRangeNames[i], score.error, score.bias, score.runs});
    }
  }
  return out;
}

ReportTable pairs_table(const ValidateResult& result, const PairSummary& summary) {
  using namespace column;
  ReportTable out("pairs", {text("run_id"), text("baseline_run"), text("what_changed"), kSize,
                            text("ratio_of"), number("measured_ratio"), number("predicted_ratio")});
  for (const PairScore& score : summary.pairs) {
    const MeasuredPair& pair = result.measured.pairs[score.pair];
    out.add({result.measured.runs[pair.run].id, result.measured.runs[pair.baseline].id, pair.what,
             pair.size.count, pair.is_busbw ? "busbw" : "time", pair.ratio, score.predicted});
  }
  return out;
}

}  // namespace

Report validate_report(const ValidateResult& result) {
  using namespace column;
  Report out;
  out.study = "validate nccl-tests";
  out.job["ask"] = {{"predictor", to_text(result.predictor)}, {"slices_max", result.slices_max}};
  ReportTable left_out("left_out", {text("run_id"), text("why")});
  for (const Error& why : result.measured.unread) left_out.add({Json(), why.what()});
  for (const auto& [run, why] : result.left_out)
    left_out.add({result.measured.runs[run].id, why.what()});
  ReportTable assumed("assumed", {text("what"), whole("runs")});
  for (const auto& [what, runs] : result.notes) assumed.add({what, runs});
  const Summary summary = summary_of(result);
  const PairSummary pairs = pair_summary(result);
  out.tables = {rows_table(result),   std::move(left_out),    std::move(assumed),
                ranges_table(result), classes_table(summary), pairs_table(result, pairs)};
  out.facts = {{"calls_simulated", result.calls},       {"points_scored", summary.points},
               {"points_predicted", summary.predicted}, {"points_with_band", summary.banded},
               {"points_inside_band", summary.inside},  {"pairs_direction_right", pairs.right},
               {"pairs_direction_of", pairs.large},     {"pairs_median_error", pairs.median_error}};
  return out;
}

}  // namespace fabricast
