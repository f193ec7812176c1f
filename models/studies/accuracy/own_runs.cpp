#include "models/studies/accuracy/own_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/studies/shared/quantile.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

constexpr int kDigits = 6;

class OwnRuns {
 public:
  OwnRuns(const CalibrateConfig& config, const Calibrated& shipped, int own_rows,
          const ForEach& for_each, const std::function<void(const std::string&)>& say)
      : config_(config), shipped_(shipped), own_rows_(own_rows), for_each_(for_each), say_(say) {}

  OwnRunsResult run() {
    for (const auto& [source, factors] : shipped_.left_out.factors) try_source(source);
    return std::move(out_);
  }

 private:
  const Measurements& measured() const { return config_.measured; }
  const MeasuredRun& run_of(std::size_t point) const {
    return measured().runs[measured().points[point].run];
  }

  std::vector<std::size_t> points_of(const std::string& source) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < measured().points.size(); ++i)
      if (run_of(i).source == source && run_of(i).scored && !is_noisy(run_of(i))) out.push_back(i);
    return out;
  }

  /// Rows of the first run, spread evenly over its sizes.
  std::vector<std::size_t> own_of(const std::vector<std::size_t>& points) const {
    const auto key = [&](std::size_t i) {
      const MeasuredRun& run = run_of(i);
      return std::tuple(run.nodes, to_text(run.collective), run.id);
    };
    const std::size_t first = *std::ranges::min_element(points, {}, key);
    std::vector<std::size_t> all, out;
    for (const std::size_t i : points)
      if (measured().points[i].run == measured().points[first].run) all.push_back(i);
    const auto most = static_cast<std::size_t>(own_rows_);
    for (std::size_t k = 0; k < std::min(most, all.size()); ++k)
      out.push_back(all.size() <= most ? all[k] : all[k * all.size() / most]);
    return out;
  }

  /// Median error over the points; nothing where none can be predicted.
  std::optional<double> error(const std::vector<std::size_t>& points,
                              const PartsCatalogue& parts) const {
    ValidateConfig config;
    config.measured = subset(measured(), points);
    config.slices_max = config_.slices_max_final;
    const ValidateResult result = run_validate(std::move(config), parts, for_each_);
    std::vector<double> errors;
    for (std::size_t k = 0; k < points.size(); ++k) {
      if (result.predictions[k].method == Method::none) continue;
      errors.push_back(
          std::abs(result.predictions[k].time_us / result.measured.points[k].time_us - 1));
    }
    return errors.empty() ? std::nullopt : std::optional(median(std::move(errors)));
  }

  void try_source(const std::string& source) {
    const std::vector<std::size_t> points = points_of(source);
    if (points.empty()) return;
    const std::vector<std::size_t> own = own_of(points);
    const MeasuredRun& first = run_of(own.front());
    std::vector<std::size_t> collectives, nodes;
    for (const std::size_t i : points) {
      const MeasuredRun& run = run_of(i);
      if (run.gpu_model != first.gpu_model) continue;
      if (run.nodes != first.nodes) {
        nodes.push_back(i);
      } else if (run.collective != first.collective) {
        collectives.push_back(i);
      }
    }
    if (collectives.empty() && nodes.empty()) return;
    say_(fmt::format("{}: {} of {}", source, counted(std::ssize(own), "row"), first.id));
    CalibrateConfig config = config_;
    config.measured = subset(measured(), own);
    config.start = without_source(shipped_, source);
    const CatalogueText before = catalogue_without(shipped_.left_out, source);
    CatalogueText after = before;
    try {
      const CalibrateResult fit = run_calibrate(std::move(config), for_each_, [](const auto&) {});
      for (std::size_t k = 0; k < fit.parameters.size(); ++k)
        if (fit.parameters[k].factor != 1)
          after.scale(config_.recipe.parameters[k].paths, fit.parameters[k].factor, kDigits);
    } catch (const Error&) {
      return;  // none of its rows can be predicted
    }
    add(out_.collectives, source, own, collectives, before.parts(), after.parts());
    add(out_.nodes, source, own, nodes, before.parts(), after.parts());
  }

  void add(std::vector<OwnRunsRow>& rows, const std::string& source,
           const std::vector<std::size_t>& own, const std::vector<std::size_t>& others,
           const PartsCatalogue& before, const PartsCatalogue& after) const {
    if (others.empty()) return;
    const auto was = error(others, before), is = error(others, after);
    if (!was || !is) return;
    rows.push_back(
        {source, static_cast<int>(own.size()), static_cast<int>(others.size()), *was, *is});
  }

  const CalibrateConfig& config_;
  const Calibrated& shipped_;
  int own_rows_;
  const ForEach& for_each_;
  const std::function<void(const std::string&)>& say_;
  OwnRunsResult out_;
};

std::string table_of(const char* title, const std::vector<OwnRunsRow>& rows) {
  if (rows.empty()) return {};
  TextTable table("  ");
  table.add({"source", "own rows", "other rows", "before", "with them"});
  std::vector<double> before, after;
  for (const OwnRunsRow& row : rows) {
    table.add({row.source, std::to_string(row.own_points), std::to_string(row.other_points),
               fmt::format("{:.1f}", 100 * row.before), fmt::format("{:.1f}", 100 * row.after)});
    before.push_back(row.before);
    after.push_back(row.after);
  }
  const auto better =
      std::ranges::count_if(rows, [](const OwnRunsRow& row) { return row.after < row.before; });
  table.add({"median", "", "", fmt::format("{:.1f}", 100 * median(before)),
             fmt::format("{:.1f}", 100 * median(after))});
  for (std::size_t column = 1; column < 5; ++column) table.align_right(column);
  return fmt::format("\n{}, median error in %; better for {} of {}:\n", title, better,
                     counted(std::ssize(rows), "source")) +
         table.text();
}

}  // namespace

Calibrated without_source(const Calibrated& shipped, const std::string& source) {
  Calibrated out;
  const CatalogueText text = catalogue_without(shipped.left_out, source);
  const CatalogueText catalogue;
  for (CalibratedValue value : shipped.values) {
    value.value = text.value(value.path);
    if (value.value != catalogue.value(value.path)) out.values.push_back(std::move(value));
  }
  return out;
}

OwnRunsResult run_own_runs(const CalibrateConfig& config, const Calibrated& shipped, int own_rows,
                           const ForEach& for_each,
                           const std::function<void(const std::string&)>& say) {
  return OwnRuns(config, shipped, own_rows, for_each, say).run();
}

std::string own_runs_text(const OwnRunsResult& result) {
  return table_of("Other collectives of the source, on as many nodes", result.collectives) +
         table_of("Other numbers of nodes of the source", result.nodes);
}

}  // namespace fabricast
