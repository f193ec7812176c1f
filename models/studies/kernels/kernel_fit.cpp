#include "models/studies/kernels/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/kernels/kernel_time.hpp"
#include "models/studies/accuracy/robust_fit.hpp"

namespace fabricast {
namespace {

constexpr double kHuber = 0.08, kNoise = 0.08, kWidth = 1;
constexpr double kStep = 1e-3;
constexpr double kMicro = 1e6;
constexpr int kStarts = 2;  // a fit begins anew where the last one ended

template <class Costs>
class SetFit {
 public:
  SetFit(std::span<const KernelRow* const> rows, const Costs& start) : rows_(rows), start_(start) {}

  Costs run() {
    for (int i = 0; i < kStarts; ++i) {
      FitProblem problem;
      for (const auto& field : fields_of(start_)) {
        const double at = start_.*field.value;
        problem.parameters.push_back(
            {std::log(field.least / at), std::log(field.most / at), kWidth});
      }
      problem.weights.assign(rows_.size(), 1);
      problem.noise = kNoise;
      problem.huber = kHuber;
      problem.residuals = [this](const Vector& x) { return residuals(x); };
      problem.slopes = [this](const Vector& x, const Vector& at) { return slopes(x, at); };
      const Vector zero(problem.parameters.size());
      const Vector at = residuals(zero);
      start_ = moved(robust_fit(problem, at, slopes(zero, at)).x);
    }
    return start_;
  }

 private:
  Costs moved(const Vector& x) const {
    Costs out = start_;
    const auto fields = fields_of(start_);
    for (std::size_t i = 0; i < x.size(); ++i)
      out.*fields[i].value =
          std::clamp(start_.*fields[i].value * std::exp(x[i]), fields[i].least, fields[i].most);
    return out;
  }

  Vector residuals(const Vector& x) const {
    const KernelCosts costs = moved(x);
    Vector out;
    out.reserve(rows_.size());
    for (const KernelRow* row : rows_)
      out.push_back(std::log(predicted_us(*row, costs) / row->time_us));
    return out;
  }

  Slopes slopes(const Vector& x, const Vector& at) const {
    Vector steps;
    for (const auto& field : fields_of(start_)) {
      // Away from the upper bound, so that something moves.
      const double room = std::log(field.most / (start_.*field.value)) - x[steps.size()];
      steps.push_back(room > kStep ? kStep : -kStep);
    }
    return difference_slopes([this](const Vector& moved) { return residuals(moved); }, x, at,
                             steps);
  }

  std::span<const KernelRow* const> rows_;
  Costs start_;
};

}  // namespace

double predicted_us(const KernelRow& row, const KernelCosts& costs) {
  return kMicro * kernel_time(row.gpu, row.work, costs);
}

KernelCosts fit_kernel(std::span<const KernelRow* const> rows) {
  return std::visit([&](const auto& start) -> KernelCosts { return SetFit(rows, start).run(); },
                    start_costs(rows.front()->name.family));
}

KernelCatalogue fit_kernels(std::span<const KernelRow* const> rows, const ForEach& for_each) {
  std::map<KernelName, std::vector<const KernelRow*>> by_name;
  for (const KernelRow* row : rows) by_name[row->name].push_back(row);
  std::erase_if(by_name, [](const auto& one) { return one.second.size() < kLeastRows; });
  std::vector<std::pair<KernelName, std::vector<const KernelRow*>>> sets(by_name.begin(),
                                                                         by_name.end());
  KernelCatalogue out;
  out.sets.resize(sets.size());
  for_each(sets.size(), [&](std::size_t i) {
    const auto& [name, members] = sets[i];
    out.sets[i] = {name, fit_kernel(members), static_cast<int>(members.size())};
  });
  return out;
}

}  // namespace fabricast
