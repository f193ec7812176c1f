#include "models/studies/accuracy/calibrate_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "models/io/report/columns.hpp"
#include "models/studies/accuracy/validate_text.hpp"
#include "models/studies/shared/quantile.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

std::string percent_by(double factor) { return fmt::format("{:+.1f} %", 100 * (factor - 1)); }

bool is_free(const FittedParameter& parameter) {
  return parameter.identified.verdict == Identified::Verdict::free;
}

std::string moved_text(const CalibrateResult& result) {
  TextTable table("  ");
  table.add({"parameter", "from", "to", "by", "90 % interval", "told by data", "runs", ""});
  for (std::size_t k = 0; k < result.parameters.size(); ++k) {
    const FittedParameter& parameter = result.parameters[k];
    if (!is_free(parameter)) continue;
    table.add({result.recipe.parameters[k].name, parameter.from.front(), parameter.to.front(),
               percent_by(parameter.factor),
               parameter.to_low.front() + " .. " + parameter.to_high.front(),
               fmt::format("{:.0f} %", 100 * (1 - parameter.identified.width_ratio)),
               std::to_string(parameter.runs), parameter.at_bound ? "at its bound" : ""});
  }
  for (const std::size_t column : {3U, 5U, 6U}) table.align_right(column);
  return table.text();
}

std::string why_pinned(const CalibrateResult& result, const FittedParameter& parameter) {
  const Identified& identified = parameter.identified;
  switch (identified.verdict) {
    case Identified::Verdict::untouched:
      if (parameter.sources == 1) return "only runs of one source depend on it";
      return "no measured run depends on it";
    case Identified::Verdict::weak:
      return "the data say hardly more of it than the catalogue does";
    case Identified::Verdict::correlated:
      if (identified.correlation == 0) return "others together do the same";
      return fmt::format("cannot be told apart from {} (correlation {:.2f}) and others",
                         result.recipe.parameters[identified.other].name, identified.correlation);
    case Identified::Verdict::crowded:
      return "the data say more of others, and no more are fitted of one network or node";
    case Identified::Verdict::free:
      break;
  }
  return {};
}

std::string pinned_text(const CalibrateResult& result) {
  std::string out;
  for (std::size_t k = 0; k < result.parameters.size(); ++k) {
    const FittedParameter& parameter = result.parameters[k];
    if (is_free(parameter)) continue;
    out += fmt::format("  {} stays at {}: {}\n", result.recipe.parameters[k].name,
                       parameter.from.front(), why_pinned(result, parameter));
  }
  return out.empty() ? out : "\nRefused, as the data cannot tell them:\n" + out;
}

/// "12.3 -> 4.5 (+2)"
std::string change(const RangeScore& before, const RangeScore& after) {
  if (after.runs == 0) return "-";
  return fmt::format("{:.1f} -> {:.1f} ({:+.0f})", 100 * before.error, 100 * after.error,
                     100 * after.bias);
}

std::string residuals_text(const CalibrateResult& result) {
  const Summary before = summary_of(result.before), after = summary_of(result.after);
  TextTable table("  ");
  std::vector<std::string> head = {"class"};
  for (const std::string_view name : kSizeRangeNames) head.emplace_back(name);
  table.add(std::move(head));
  std::vector<std::string> all = {"median over classes"};
  for (std::size_t range = 0; range < kSizeRanges; ++range) {
    const std::optional<double>&was = before.headline[range].median,
          &is = after.headline[range].median;
    all.push_back(was && is ? fmt::format("{:.1f} -> {:.1f}", 100 * *was, 100 * *is) : "-");
  }
  for (std::size_t i = 0; i < after.classes.size(); ++i) {
    std::vector<std::string> cells = {after.classes[i].name};
    for (std::size_t range = 0; range < kSizeRanges; ++range)
      cells.push_back(change(before.classes[i].ranges[range], after.classes[i].ranges[range]));
    table.add(std::move(cells));
  }
  table.add(std::move(all));
  for (std::size_t column = 1; column <= kSizeRanges; ++column) table.align_right(column);
  return table.text();
}

std::string unseen_text(const CalibrateResult& result) {
  if (!result.unseen) return {};
  const Summary summary = summary_of(*result.unseen);
  std::string out =
      "\nRuns predicted by a fit that has not seen their source, all points, errors in %:\n";
  TextTable table("  ");
  table.add({"", "median over classes", "90th percentile over runs"});
  for (std::size_t range = 0; range < kSizeRanges; ++range)
    table.add({std::string(kSizeRangeNames[range]), percent_or_none(summary.headline[range].median),
               percent_or_none(summary.headline[range].p90)});
  table.align_right(1);
  table.align_right(2);
  return out + table.text();
}

/// Points in bands that have not seen their source, and how wide these are.
class BandScore {
 public:
  void add(const std::string& source, bool inside, double width) {
    Own& own = by_source_[source];
    ++own.points;
    own.inside += inside ? 1 : 0;
    widths_.push_back(width);
  }
  /// What, the mean of sources' shares, of all points, the median of upper / lower.
  std::vector<std::string> cells(std::string_view what) const {
    double shares = 0, points = 0, inside = 0;
    for (const auto& [source, own] : by_source_) {
      shares += own.inside / own.points;
      points += own.points;
      inside += own.inside;
    }
    return {std::string(what), fmt::format("{}", by_source_.size()),
            percent(shares / static_cast<double>(by_source_.size())), percent(inside / points),
            fmt::format("{:.2f}", median(widths_))};
  }
  bool empty() const { return by_source_.empty(); }

 private:
  struct Own {
    double points = 0, inside = 0;
  };
  static std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

  std::map<std::string, Own> by_source_;
  std::vector<double> widths_;
};

std::string bands_text(const CalibrateResult& result) {
  if (result.left_out_bands.empty()) return {};
  std::array<BandScore, kSizeRanges> ranges;
  std::array<BandScore, kKnowns> knowns;
  for (const BandSample& sample : result.samples) {
    const std::vector<LeftOutBand>& own = result.left_out_bands.at(sample.source);
    const auto band = std::ranges::find(own, sample.key, &LeftOutBand::key);
    if (band == own.end()) continue;
    const double ratio = std::exp(sample.log_ratio);
    const bool inside = band->lower <= ratio && ratio <= band->upper;
    for (BandScore* score :
         {&ranges[sample.key.range], &knowns[static_cast<std::size_t>(band->known)]})
      score->add(sample.source, inside, band->upper / band->lower);
  }
  TextTable table("  ");
  table.add({"", "sources", "mean of sources", "of points", "upper / lower"});
  const auto add = [&](std::string_view what, const BandScore& score) {
    if (!score.empty()) table.add(score.cells(what));
  };
  for (std::size_t i = 0; i < kSizeRanges; ++i) add(kSizeRangeNames[i], ranges[i]);
  for (std::size_t i = 0; i < kKnowns; ++i) add(kKnownWords[i], knowns[i]);
  for (std::size_t column = 1; column <= 4; ++column) table.align_right(column);
  return "\nPoints inside 80 % bands made of the other sources' runs, by size and by what those "
         "measured:\n" +
         table.text();
}

}  // namespace

Report calibrate_report(const CalibrateResult& result) {
  using namespace column;
  ReportTable rows(
      "rows", {text("parameter"), number("factor", {}, ".4g"), number("factor_low", {}, ".4g"),
               number("factor_high", {}, ".4g"), whole("runs"), whole("sources"), flag("at_bound"),
               text("from"), text("to")});
  for (std::size_t i = 0; i < result.parameters.size(); ++i) {
    const FittedParameter& one = result.parameters[i];
    rows.add({result.recipe.parameters[i].name, one.factor, one.low, one.high, one.runs,
              one.sources, one.at_bound, one.from.empty() ? Json() : Json(one.from.front()),
              one.to.empty() ? Json() : Json(one.to.front())});
  }
  const Summary before = summary_of(result.before), after = summary_of(result.after);
  const auto known = [](const RangeScore& score, double share) {
    return score.runs > 0 ? Json(share) : Json();
  };
  ReportTable errors("errors", {text("class"), text("sizes"), number("before"), number("after"),
                                number("bias_after")});
  for (std::size_t c = 0; c < after.classes.size(); ++c) {
    for (std::size_t range = 0; range < kSizeRanges; ++range) {
      const RangeScore &was = before.classes[c].ranges[range], &is = after.classes[c].ranges[range];
      errors.add({after.classes[c].name, kSizeRangeNames[range], known(was, was.error),
                  known(is, is.error), known(is, is.bias)});
    }
  }
  Report out;
  out.study = "calibrate";
  out.job["ask"] = {{"recipe", result.recipe.name}};
  out.tables = {std::move(rows), std::move(errors)};
  if (result.unseen) out.tables.push_back(validate_report(*result.unseen).tables.front());
  out.facts = {
      {"runs", result.runs},     {"points", result.points},           {"sources", result.sources},
      {"rounds", result.rounds}, {"cost_before", result.cost_before}, {"cost", result.cost}};
  return out;
}

std::string calibrate_text(const CalibrateResult& result) {
  std::string out = fmt::format(
      "fabricast calibrate: {}\n\nfitted to {} of {} from {}; cost {:.1f} -> {:.1f} in {}\n\n",
      result.recipe.name, counted(result.points, "point"), counted(result.runs, "run"),
      counted(result.sources, "source"), result.cost_before, result.cost,
      counted(result.rounds, "round"));
  out += moved_text(result) + pinned_text(result);
  out += "\nErrors in % of the measured time, before -> after (bias after), points of the fit:\n";
  return out + residuals_text(result) + unseen_text(result) + bands_text(result);
}

Calibrated calibrated_of(const CalibrateResult& result) {
  Calibrated out;
  for (std::size_t k = 0; k < result.parameters.size(); ++k) {
    const FittedParameter& parameter = result.parameters[k];
    if (!is_free(parameter)) continue;
    const std::vector<std::string>& paths = result.recipe.parameters[k].paths;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      CalibratedValue& value = out.values.emplace_back();
      value.path = paths[i];
      value.value = parameter.to[i];
      value.low = parameter.to_low[i];
      value.high = parameter.to_high[i];
      value.catalogue = parameter.from[i];
      value.runs = parameter.runs;
    }
  }
  std::ranges::sort(out.values, {}, &CalibratedValue::path);
  out.bands = make_bands(result.samples);
  for (const CalibrationParameter& parameter : result.recipe.parameters)
    out.left_out.parameters.emplace_back(parameter.name, parameter.paths);
  out.left_out.factors = result.left_out;
  out.left_out.bands = result.left_out_bands;
  return out;
}

}  // namespace fabricast
