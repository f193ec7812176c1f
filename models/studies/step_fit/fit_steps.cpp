#include "models/studies/step_fit/fit_steps.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "models/studies/accuracy/robust_fit.hpp"

namespace fabricast {

namespace {

constexpr int kRounds = 2;           // the model is nearly linear in the logarithms
constexpr double kSlopeStep = 0.05;  // of a logarithm
constexpr double kNoise = 0.03, kHuber = 0.08, kFurthest = 1.5;
constexpr double kTail = 0.1;  // that a band leaves out at either end

/// By source.
using Sources = std::map<std::string, std::vector<std::size_t>>;

class StepFitting {
 public:
  StepFitting(const StepCases& cases, const PartsCatalogue& parts, const ForEach& for_each)
      : parts_(parts),
        for_each_(for_each),
        compute_(unfitted_compute()),
        frameworks_(unfitted_frameworks()) {
    for (const StepCase& one : cases.cases)
      if (one.asks == StepCase::Asks::step && !one.weak && compute_.contains(one.config.title))
        cases_.cases.push_back(one);
  }

  StepFits run() {
    StepFits out;
    for (int round = 0; round < kRounds; ++round) {
      linearise(out.all.factors);
      out.all.factors = factors_of(fitted({}));
    }
    Sources sources;
    for (std::size_t i = 0; i < rows_.size(); ++i) sources[rows_[i].group].push_back(i);
    for (const auto& [source, members] : sources)
      out.without[source].factors = factors_of(fitted(source));
    add_bands(out);
    return out;
  }

 private:
  std::vector<StepFigure> figures(const StepCase& one) const {
    return step_figures(compute_.at(one.config.title), frameworks_.at(one.config.framework),
                        one.config.layout.precision, one.config.model.experts.has_value());
  }

  /// Residuals and slopes at these factors.
  void linearise(const StepFactors& at) {
    StepFits fits;
    fits.all.factors = at;
    const StepVariants variants = [&](const StepCase& one) {
      std::vector<StepFactors> out;
      for (const StepFigure& figure : figures(one)) {
        StepFactors moved = at;
        moved.try_emplace(figure.name, 1).first->second *= std::exp(kSlopeStep);
        out.push_back(std::move(moved));
      }
      return out;
    };
    rows_ = validate_steps(cases_, parts_, fits, for_each_, variants).rows;
    std::map<std::string, const StepCase*> by_id;
    for (const StepCase& one : cases_.cases) by_id[one.id] = &one;
    problem_ = {};
    problem_.noise = kNoise;
    problem_.huber = kHuber;
    index_.clear();
    from_.clear();
    residuals_.clear();
    slopes_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const StepPrediction& row = rows_[i];
      residuals_.push_back(std::log(row.predicted / row.measured));
      const std::vector<StepFigure> own = figures(*by_id.at(row.id));
      for (std::size_t k = 0; k < own.size(); ++k)
        slopes_[place_of(own[k], at)][i] = std::log(row.variants[k] / row.predicted) / kSlopeStep;
    }
  }

  std::size_t place_of(const StepFigure& figure, const StepFactors& at) {
    const auto [found, is_new] = index_.try_emplace(figure.name, index_.size());
    if (is_new) {
      problem_.parameters.push_back({-kFurthest, kFurthest, figure.width});
      const auto value = at.find(figure.name);
      from_.push_back(value == at.end() ? 0 : std::log(value->second));
      slopes_.emplace_back(rows_.size(), 0.0);
    }
    return found->second;
  }

  Vector fitted(const std::string& without) {
    std::map<std::string, int> counts;
    for (const StepPrediction& row : rows_) ++counts[row.group];
    problem_.weights.clear();
    for (const StepPrediction& row : rows_)
      problem_.weights.push_back(row.group == without ? 0 : 1.0 / counts[row.group]);
    return linear_fit(problem_, from_, residuals_, slopes_);
  }

  /// Those that a step of the fit depends on.
  StepFactors factors_of(const Vector& x) const {
    StepFactors out;
    for (const auto& [name, at] : index_) {
      bool moves = false;
      for (std::size_t i = 0; i < rows_.size(); ++i)
        moves = moves || (problem_.weights[i] > 0 && slopes_[at][i] != 0);
      if (moves) out[name] = std::exp(x[at]);
    }
    return out;
  }

  struct Sample {
    std::string source;
    bool known = false, experts = false;
    double log_ratio = 0, weight = 0;
  };

  void add_bands(StepFits& fits) const {
    const std::vector<StepPrediction> rows = validate_steps(cases_, parts_, fits, for_each_).rows;
    std::map<std::string, int> counts;
    for (const StepPrediction& row : rows) ++counts[row.group];
    std::vector<Sample> samples;
    for (const StepPrediction& row : rows) {
      const StepResult& result = row.result;
      const bool known = is_known(fits.unseen(row.group), result.gpu, result.framework,
                                  result.config.layout.precision);
      samples.push_back({row.group, known, result.config.model.experts.has_value(),
                         std::log(row.measured / row.left_out), 1.0 / counts[row.group]});
    }
    fits.all.bands = bands_of(samples, {});
    for (auto& [source, fit] : fits.without) fit.bands = bands_of(samples, source);
  }

  static std::vector<StepBand> bands_of(const std::vector<Sample>& all,
                                        const std::string& without) {
    std::vector<StepBand> out;
    for (const bool known : {true, false}) {
      for (const bool experts : {false, true}) {
        const auto chosen = [&](bool any_known, bool any_experts) {
          std::vector<Sample> some;
          for (const Sample& one : all)
            if (one.source != without && (any_known || one.known == known) &&
                (any_experts || one.experts == experts))
              some.push_back(one);
          return some;
        };
        // Of one source alone nothing follows for another.
        std::vector<Sample> samples = chosen(false, false);
        if (sources_of(samples) < 2) samples = chosen(true, false);
        if (sources_of(samples) < 2) samples = chosen(true, true);
        if (!samples.empty()) out.push_back(band_of(std::move(samples), known, experts));
      }
    }
    return out;
  }

  static int sources_of(const std::vector<Sample>& samples) {
    std::set<std::string> sources;
    for (const Sample& one : samples) sources.insert(one.source);
    return static_cast<int>(sources.size());
  }

  static StepBand band_of(std::vector<Sample> samples, bool known, bool experts) {
    std::ranges::sort(samples, {}, &Sample::log_ratio);
    double sum = 0;
    for (const Sample& one : samples) sum += one.weight;
    const auto quantile = [&](double share) {
      double below = 0;
      for (const Sample& one : samples)
        if ((below += one.weight) >= share * sum) return one.log_ratio;
      return samples.back().log_ratio;
    };
    StepBand out;
    out.known = known;
    out.experts = experts;
    out.low = std::min(1.0, std::exp(quantile(kTail)));
    out.high = std::max(1.0, std::exp(quantile(1 - kTail)));
    out.cases = static_cast<int>(samples.size());
    out.sources = sources_of(samples);
    return out;
  }

  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  ComputeCatalogue compute_;
  FrameworkCatalogue frameworks_;
  StepCases cases_;
  std::vector<StepPrediction> rows_;
  FitProblem problem_;
  std::map<std::string, std::size_t> index_;
  Vector from_, residuals_;
  Slopes slopes_;
};

}  // namespace

StepFits fit_steps(const StepCases& cases, const PartsCatalogue& parts, const ForEach& for_each) {
  return StepFitting(cases, parts, for_each).run();
}

}  // namespace fabricast
