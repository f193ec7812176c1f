#include "models/studies/accuracy/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/studies/accuracy/calibrate_reach.hpp"
#include "models/studies/accuracy/run_scatter.hpp"
#include "text/counted.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr int kFitDigits = 6, kWrittenDigits = 4;
constexpr double kStep = 0.03;  // of a logarithm, for differences
constexpr double kTouched = 1e-9;
constexpr double kInterval = 1.645;  // standard deviations of a 90 % interval

/// At most `most` of each run and range of sizes, spread evenly; of the largest sizes, where more
/// bytes tell nothing new, the smallest.
std::vector<std::size_t> thinned(const Measurements& measured,
                                 const std::vector<std::size_t>& points, int most) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
  for (const std::size_t i : points)
    groups[{measured.points[i].run, size_range(measured.points[i].size)}].push_back(i);
  std::vector<std::size_t> out;
  for (auto& [key, members] : groups) {
    std::ranges::stable_sort(members, {},
                             [&](std::size_t i) { return measured.points[i].size.count; });
    const auto want = std::min<std::size_t>(static_cast<std::size_t>(most), members.size());
    for (std::size_t k = 0; k < want; ++k) {
      const bool last = key.second + 1 == kSizeRanges;
      out.push_back(members[last ? k : (2 * k + 1) * members.size() / (2 * want)]);
    }
  }
  std::ranges::sort(out);
  return out;
}

/// A bound of a figure over its value: "25 GB/s", or "0.6 x" of it.
double bound(const std::string& text, const std::string& value) {
  const bool relative = text.ends_with(" x");
  return relative ? ratio(text.substr(0, text.size() - 2), "1") : ratio(text, value);
}

class Calibration {
 public:
  Calibration(CalibrateConfig config, const ForEach& for_each,
              const std::function<void(const std::string&)>& say)
      : config_(std::move(config)), for_each_(for_each), say_(say) {}

  CalibrateResult run() {
    out_.recipe = config_.recipe;
    if (config_.start) overlay(*config_.start, catalogue_);
    read_parameters();
    choose_points();
    problem_.noise = config_.recipe.noise;
    problem_.huber = config_.recipe.huber;
    problem_.residuals = [this](const Vector& x) { return residuals(x); };
    problem_.slopes = [this](const Vector& x, const Vector& at) { return slopes(x, at); };
    scatter_ = run_scatter(measured());
    problem_.weights = weights({});
    fit();
    if (config_.cross_validate) cross_validate();
    if (!config_.leave_out.empty()) predict_left_out();
    return std::move(out_);
  }

 private:
  const std::vector<CalibrationParameter>& recipe() const { return config_.recipe.parameters; }
  const Measurements& measured() const { return config_.measured; }
  const MeasuredRun& run_of(std::size_t point) const {
    return measured().runs[measured().points[point].run];
  }

  void read_parameters() {
    std::map<std::string, std::string> taken;
    for (const CalibrationParameter& parameter : recipe()) {
      FitBounds bounds{-1e9, 1e9, parameter.width};
      FittedParameter fitted;
      for (const std::string& path : parameter.paths) {
        if (const auto [other, fresh] = taken.emplace(path, parameter.name); !fresh)
          throw Error(parameter.place, fmt::format("{} is also moved by {}", path, other->second));
        try {
          const std::string& value = catalogue_.value(path);
          double low = bound(parameter.low, value), high = bound(parameter.high, value);
          if (config_.start) {  // it may stand at its bound, rounded
            low = std::min(low, 1.0);
            high = std::max(high, 1.0);
            bounds.width = start_width(path).value_or(bounds.width);
          }
          if (!(low > 0 && low <= 1 && high >= 1))
            throw Error(fmt::format("the catalogue's value {} is not within {} and {}", value,
                                    parameter.low, parameter.high));
          bounds.low = std::max(bounds.low, std::log(low));
          bounds.high = std::min(bounds.high, std::log(high));
          fitted.from.push_back(value);
        } catch (const Error& error) {
          throw error.with({{}, 0, path}).with(parameter.place);
        }
      }
      out_.parameters.push_back(std::move(fitted));
      problem_.parameters.push_back(bounds);
    }
  }

  /// The standard deviation that the fit to other runs left of a value.
  std::optional<double> start_width(const std::string& path) const {
    const auto& values = config_.start->values;
    const auto found = std::ranges::find(values, path, &CalibratedValue::path);
    if (found == values.end()) return std::nullopt;
    return std::log(ratio(found->high, found->low)) / (2 * kInterval);
  }

  /// Of those that are scored and that the simulation can predict cheaply enough.
  void choose_points() {
    const PartsCatalogue parts = catalogue_.parts();
    for (std::size_t i = 0; i < measured().runs.size(); ++i) {
      const MeasuredRun& run = measured().runs[i];
      RunParts known;
      try {
        known = parts_of(map_run(run, parts), parts);
        if (run.scored) usable_.insert(i);
      } catch (const Error& error) {  // run_validate says why, too
        if (!unusable_) unusable_ = error.with(run.place);
      }
      run_parts_.push_back(std::move(known));
    }
    std::vector<std::size_t> wanted;
    bool has_source = false;
    for (std::size_t i = 0; i < measured().points.size(); ++i) {
      const MeasuredRun& run = run_of(i);
      const bool left_out = !config_.leave_out.empty() && run.source == config_.leave_out;
      has_source = has_source || left_out;
      if (usable_.contains(measured().points[i].run) && run.fitted && !is_noisy(run) && !left_out)
        wanted.push_back(i);
    }
    if (!config_.leave_out.empty() && !has_source)
      throw Error(option_place("--leave-out"),
                  fmt::format("no run has the source_key \"{}\"", config_.leave_out),
                  hint_nearest(config_.leave_out, sources()));
    if (!config_.start) wanted = thinned(measured(), wanted, config_.recipe.points_per_range);
    say_(fmt::format("simulating {} with the catalogue's values",
                     counted(std::ssize(wanted), "point")));
    const ValidateResult first = predict(wanted, {}, config_.slices_max);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (first.predictions[k].method != Method::simulated) continue;
      points_.push_back(wanted[k]);
      protocols_.emplace_back(first.predictions[k].protocol);
    }
    if (points_.empty()) refuse(first);
    std::set<std::size_t> runs;
    std::set<std::string> known_sources;
    for (const std::size_t i : points_) {
      runs.insert(measured().points[i].run);
      known_sources.insert(run_of(i).source);
    }
    out_.runs = static_cast<int>(runs.size());
    out_.points = static_cast<int>(points_.size());
    out_.sources = static_cast<int>(known_sources.size());
  }

  /// Nothing is left to fit to: why, of the first run that has a reason of its own.
  [[noreturn]] void refuse(const ValidateResult& tried) const {
    const std::string what = "no run can be predicted";
    if (usable_.empty() && unusable_)
      throw Error(unusable_->place(), fmt::format("{}: {}", what, unusable_->message()),
                  unusable_->hint());
    if (!tried.left_out.empty()) {
      const auto& [run, why] = *tried.left_out.begin();
      const Error placed = why.with(tried.measured.runs[run].place);
      throw Error(placed.place(), fmt::format("{}: {}", what, placed.message()), placed.hint());
    }
    if (!tried.predictions.empty())
      throw Error(
          fmt::format("{}: each takes more than {} slices to simulate", what, config_.slices_max),
          "--slices-max allows more");
    const std::string file =
        measured().runs.empty() ? config_.recipe.runs : measured().runs.front().place.file;
    throw Error(Place{file, 0, {}}, what + ": none that counts has points with a size and a time");
  }

  std::vector<std::string> sources() const {
    std::set<std::string> out;
    for (const MeasuredRun& run : measured().runs) out.insert(run.source);
    return {out.begin(), out.end()};
  }

  /// Each class of hardware and range of sizes weighs the same, in it each run, in it each point;
  /// less where a run's own times jump (run_scatter), as its noise comes on top of the recipe's.
  /// Runs of `without` weigh nothing.
  Vector weights(const std::string& without) const {
    std::map<std::pair<std::string, std::size_t>, std::map<std::size_t, int>> groups;
    const auto group_of = [&](std::size_t i) -> auto& {
      const MeasuredRun& run = run_of(i);
      return groups[{config_.start ? run.id : class_of(run),
                     size_range(measured().points[i].size)}];
    };
    const auto counts = [&](std::size_t i) {
      return without.empty() || run_of(i).source != without;
    };
    for (const std::size_t i : points_) {
      if (counts(i)) ++group_of(i)[measured().points[i].run];
    }
    Vector out;
    for (const std::size_t i : points_) {
      if (!counts(i)) {
        out.push_back(0);
        continue;
      }
      const auto& runs = group_of(i);
      const std::size_t run = measured().points[i].run;
      const double jumps = scatter_[run] / config_.recipe.noise, trust = 1 / (1 + jumps * jumps);
      out.push_back(trust / static_cast<double>(runs.size()) / runs.at(run));
    }
    return out;
  }

  PartsCatalogue parts_at(const Vector& x, int digits) const {
    CatalogueText text = catalogue_;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k] != 0) text.scale(recipe()[k].paths, std::exp(x[k]), digits);
    }
    return text.parts();
  }

  ValidateResult predict(const std::vector<std::size_t>& points, const Vector& x,
                         std::int64_t slices_max, int digits = kFitDigits) const {
    ValidateConfig config;
    config.measured = subset(measured(), points);
    config.slices_max = slices_max;
    return run_validate(std::move(config), parts_at(x, digits), for_each_);
  }

  /// log(predicted / measured); where there is no prediction any more, `otherwise`.
  static double residual(const ValidateResult& result, std::size_t k, double otherwise) {
    const Prediction& prediction = result.predictions[k];
    return prediction.method == Method::none
               ? otherwise
               : std::log(prediction.time_us / result.measured.points[k].time_us);
  }

  Vector residuals(const Vector& x) const {
    constexpr double kLost = 1;
    const ValidateResult result = predict(points_, x, config_.slices_max);
    Vector out(points_.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = residual(result, k, kLost);
    return out;
  }

  /// By differences; of each parameter only the points are simulated that it can matter to.
  Slopes slopes(const Vector& x, const Vector& at) const {
    Slopes out(x.size(), Vector(points_.size(), 0));
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (pinned(k)) continue;
      std::vector<std::size_t> places, touched;
      for (std::size_t i = 0; i < points_.size(); ++i) {
        const RunParts& run = run_parts_[measured().points[points_[i]].run];
        const bool matters = std::ranges::any_of(recipe()[k].paths, [&](const std::string& path) {
          return can_matter(path, run, protocols_[i]);
        });
        if (!matters) continue;
        places.push_back(i);
        touched.push_back(points_[i]);
      }
      if (touched.empty()) continue;
      Vector moved = x;
      const double step = x[k] + kStep <= problem_.parameters[k].high ? kStep : -kStep;
      moved[k] += step;
      const ValidateResult result = predict(touched, moved, config_.slices_max);
      for (std::size_t j = 0; j < places.size(); ++j) {
        const double change = residual(result, j, at[places[j]]) - at[places[j]];
        out[k][places[j]] = change / step;
      }
    }
    return out;
  }

  bool pinned(std::size_t k) const {
    return out_.parameters[k].identified.verdict != Identified::Verdict::free;
  }

  /// Takes pinned parameters out of a problem by bounds of no width.
  void pin(const std::vector<Identified>& identified) {
    for (std::size_t k = 0; k < identified.size(); ++k) {
      out_.parameters[k].identified = identified[k];
      if (pinned(k)) problem_.parameters[k].low = problem_.parameters[k].high = 0;
    }
  }

  void fit() {
    const Vector start(recipe().size(), 0);
    out_.before = predict(points_, start, config_.slices_max);
    Vector at(points_.size());
    for (std::size_t k = 0; k < at.size(); ++k) at[k] = residual(out_.before, k, 0);
    say_(fmt::format("{}: how each of {} moves them", counted(std::ssize(points_), "point"),
                     counted(std::ssize(recipe()), "parameter")));
    Slopes first = slopes(start, at);
    count_runs(first);
    std::vector<Identified> found = identify(problem_, at, first);
    keep_to_limits(first, found);
    pin(found);
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (pinned(k)) first[k].assign(first[k].size(), 0);
    }
    fitted_ = robust_fit(problem_, std::move(at), std::move(first));
    say_(fmt::format("fitted in {}: cost {:.1f} -> {:.1f}", counted(fitted_.rounds, "round"),
                     fitted_.cost_before, fitted_.cost));
    describe();
  }

  /// How many runs depend on each parameter. What only one source speaks of would be fitted to
  /// that source: its slopes are taken out.
  void count_runs(Slopes& slopes) {
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      std::set<std::size_t> runs;
      std::set<std::string> known_sources;
      for (std::size_t i = 0; i < points_.size(); ++i) {
        if (std::abs(slopes[k][i]) <= kTouched) continue;
        runs.insert(measured().points[points_[i]].run);
        known_sources.insert(run_of(points_[i]).source);
      }
      out_.parameters[k].runs = static_cast<int>(runs.size());
      out_.parameters[k].sources = static_cast<int>(known_sources.size());
      if (known_sources.size() == 1 && !config_.start) slopes[k].assign(slopes[k].size(), 0);
    }
  }

  /// Of each network and each kind of node.
  void keep_to_limits(const Slopes& slopes, std::vector<Identified>& found) const {
    constexpr std::size_t kOfNode = 20, kOfNetwork = 6;
    std::map<std::pair<bool, std::string>, std::set<std::size_t>> by_part;
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      const bool network = is_network_figure(recipe()[k].paths.front());
      for (std::size_t i = 0; i < points_.size(); ++i) {
        if (std::abs(slopes[k][i]) <= kTouched) continue;
        const RunParts& run = run_parts_[measured().points[points_[i]].run];
        by_part[{network, network ? run.key.network : run.key.hardware}].insert(k);
      }
    }
    for (const auto& [part, those] : by_part)
      keep_best(found, {those.begin(), those.end()}, part.first ? kOfNetwork : kOfNode);
  }

  /// The fit as it is written down: four digits, which also are what is predicted with.
  void describe() {
    constexpr double kAtBound = 1e-6;
    const Vector deviations = fit_deviations(problem_, fitted_.residuals, fitted_.slopes);
    for (std::size_t k = 0; k < recipe().size(); ++k) {
      FittedParameter& parameter = out_.parameters[k];
      const double x = fitted_.x[k];
      const FitBounds& bounds = problem_.parameters[k];
      parameter.at_bound = !pinned(k) && (x < bounds.low + kAtBound || x > bounds.high - kAtBound);
      parameter.factor = std::exp(x);
      parameter.low = std::exp(std::max(bounds.low, x - kInterval * deviations[k]));
      parameter.high = std::exp(std::min(bounds.high, x + kInterval * deviations[k]));
      for (const std::string& value : parameter.from) {
        parameter.to.push_back(scaled(value, parameter.factor, kWrittenDigits));
        parameter.to_low.push_back(scaled(value, parameter.low, 3));
        parameter.to_high.push_back(scaled(value, parameter.high, 3));
      }
    }
    out_.after = predict(points_, fitted_.x, config_.slices_max, kWrittenDigits);
    out_.rounds = fitted_.rounds;
    out_.cost_before = fitted_.cost_before;
    out_.cost = fitted_.cost;
  }

  /// All usable points of one source, noisy runs too.
  std::vector<std::size_t> points_of(const std::string& source) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < measured().points.size(); ++i) {
      if (run_of(i).source == source && usable_.contains(measured().points[i].run))
        out.push_back(i);
    }
    return out;
  }

  void predict_left_out() {
    out_.unseen =
        predict(points_of(config_.leave_out), fitted_.x, config_.slices_max_final, kWrittenDigits);
  }

  /// A fit without one source, from the full fit on and with its slopes; what it predicts is
  /// simulated.
  Vector refit_without(const std::string& source) const {
    constexpr int kRounds = 2;
    const auto is_of_source = [&](std::size_t i) { return run_of(i).source == source; };
    if (std::ranges::none_of(points_, is_of_source)) return fitted_.x;
    FitProblem problem = problem_;
    problem.weights = weights(source);
    Vector x = fitted_.x, at = fitted_.residuals;
    double cost = fit_cost(problem, x, at);
    for (int round = 0; round < kRounds; ++round) {
      const Vector next = linear_fit(problem, x, at, fitted_.slopes);
      const Vector there = residuals(next);
      const double better = fit_cost(problem, next, there);
      if (better >= cost) break;
      x = next;
      at = there;
      cost = better;
    }
    return x;
  }

  void cross_validate() {
    ValidateResult all;
    for (const std::string& source : sources()) {
      const std::vector<std::size_t> points = points_of(source);
      if (points.empty()) continue;
      say_(fmt::format("without {}: predicting {}", source, counted(std::ssize(points), "point")));
      const Vector x = refit_without(source);
      std::vector<double>& factors = out_.left_out[source];
      for (const double log_factor : x) factors.push_back(std::exp(log_factor));
      const ValidateResult part = predict(points, x, config_.slices_max_final);
      add_samples(source, points, part);
      append(part, all);
    }
    for (const auto& [source, factors] : out_.left_out)
      out_.left_out_bands[source] = left_out_bands(out_.samples, source);
    out_.unseen = std::move(all);
  }

  static void append(const ValidateResult& part, ValidateResult& all) {
    const std::size_t runs = all.measured.runs.size();
    all.slices_max = part.slices_max;
    all.calls += part.calls;
    for (const auto& [run, why] : part.left_out) all.left_out.emplace(runs + run, why);
    for (const MeasuredRun& run : part.measured.runs) all.measured.runs.push_back(run);
    for (MeasuredPoint point : part.measured.points) {
      point.run += runs;
      all.measured.points.push_back(std::move(point));
    }
    for (const Prediction& prediction : part.predictions) all.predictions.push_back(prediction);
  }

  /// A source's runs of one class on as many GPUs are of one machine.
  static std::string machine(const MeasuredRun& run) {
    return fmt::format("{} {} {}, {} NICs, {} nodes, {} ranks", run.gpu_model, run.node_kind,
                       run.net_kind, run.nics_per_node.value_or(0), run.nodes, run.ranks);
  }

  void add_samples(const std::string& source, const std::vector<std::size_t>& points,
                   const ValidateResult& part) {
    std::set<std::size_t> others;  // runs
    for (const std::size_t i : points_)
      if (run_of(i).source != source) others.insert(measured().points[i].run);
    for (std::size_t k = 0; k < points.size(); ++k) {
      if (part.predictions[k].method == Method::none) continue;
      const MeasuredRun& run = run_of(points[k]);
      BandKey key = run_parts_[measured().points[points[k]].run].key;
      key.collective = to_text(run.collective);
      key.range = size_range(measured().points[points[k]].size);
      key.by_launches = part.predictions[k].by_launches;
      Known known = Known::nothing;
      for (const std::size_t other : others)
        known = std::min(known, nearness(key, run_parts_[other].key));
      const double predicted = std::log(part.predictions[k].time_us);
      out_.samples.push_back({key, run.id, run.source, -residual(part, k, 0), known, machine(run),
                              measured().points[points[k]].size, predicted});
    }
  }

  CalibrateConfig config_;
  const ForEach& for_each_;
  const std::function<void(const std::string&)>& say_;
  CatalogueText catalogue_;
  CalibrateResult out_;
  FitProblem problem_;
  FitResult fitted_;
  std::vector<double> scatter_;         ///< by run
  std::set<std::size_t> usable_;        ///< runs
  std::optional<Error> unusable_;       ///< why the first of the others is none
  std::vector<RunParts> run_parts_;     ///< by run
  std::vector<std::size_t> points_;     ///< that are fitted to
  std::vector<std::string> protocols_;  ///< of these
};

}  // namespace

CalibrateResult run_calibrate(CalibrateConfig config, const ForEach& for_each,
                              const std::function<void(const std::string&)>& say) {
  return Calibration(std::move(config), for_each, say).run();
}

}  // namespace fabricast
