#include "models/studies/training/validate_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "models/io/topologies/load.hpp"

namespace fabricast {

namespace {

/// Of which cases share their collectives: jobs of any size share what they run on, but where
/// NVLink makes larger nodes of some.
using MachineKey = std::tuple<std::string, std::string, int, std::size_t>;

MachineKey machine_of(const StepConfig& config, const PartsCatalogue& parts) {
  const Site site = load_site(config, parts);
  return {config.topology, std::string(config.environment.get("NCCL_IB_HCA").value_or("")),
          config.gpus_per_node, site.cluster.node().gpus().size()};
}

double predicted_serving(const StepCase& one, const GpuCompute& gpu, CollectiveTimes& times) {
  const ServeResult result = run_serve(one.serving, gpu, times);
  if (one.asks == StepCase::Asks::prompt) return result.prefill.total();
  return one.asks == StepCase::Asks::token ? result.decode.total() : result.request();
}

/// A prediction, or why there is none.
struct Outcome {
  std::optional<StepPrediction> row;
  std::string refused;
};

class Cases {
 public:
  Cases(const StepCases& cases, const PartsCatalogue& parts, const StepFits& fits,
        const StepVariants& variants)
      : cases_(cases.cases),
        parts_(parts),
        fits_(fits),
        variants_(variants),
        outcomes_(cases_.size()) {}

  std::vector<Outcome> run(const ForEach& for_each) {
    std::vector<std::optional<MachineKey>> keys(cases_.size());
    for_each(cases_.size(), [&](std::size_t i) {
      tried(i, [&] {
        if (!compute_.contains(cases_[i].config.title))
          throw Error(fmt::format("what a {} computes is not known", cases_[i].config.title));
        keys[i] = machine_of(cases_[i].config, parts_);
      });
    });
    std::map<MachineKey, std::vector<std::size_t>> by_machine;
    for (std::size_t i = 0; i < cases_.size(); ++i)
      if (keys[i]) by_machine[*keys[i]].push_back(i);
    std::vector<std::vector<std::size_t>> machines;
    for (auto& [key, cases] : by_machine) machines.push_back(std::move(cases));
    std::ranges::stable_sort(machines, std::greater{}, &std::vector<std::size_t>::size);
    for_each(machines.size(), [&](std::size_t machine) { run_machine(machines[machine]); });
    return std::move(outcomes_);
  }

 private:
  template <class Do>
  void tried(std::size_t i, const Do& todo) {
    try {
      todo();
    } catch (const Error& error) {
      outcomes_[i].refused = error.reason();
    }
  }

  void run_machine(const std::vector<std::size_t>& cases) {
    const Site site = load_site(cases_[cases.front()].config, parts_);
    CollectiveTimes times(site.cluster, parts_.software, site.communicator);
    for (const std::size_t i : cases)
      tried(i, [&] { outcomes_[i].row = predicted(cases_[i], times); });
  }

  StepPrediction predicted(const StepCase& one, CollectiveTimes& times) const {
    StepPrediction row;
    row.id = one.id;
    row.group = one.group;
    row.asks = one.asks;
    row.measured = one.measured;
    row.weak = one.weak;
    if (one.asks != StepCase::Asks::step) {
      // Nothing of it is fitted to steps.
      row.predicted = row.left_out = predicted_serving(one, compute_.at(one.config.title), times);
      return row;
    }
    row.result = result(one, fits_.all.factors, times);
    row.predicted = seconds(row.result.step.time);
    const StepFit& unseen = fits_.unseen(one.group);
    row.left_out = seconds(result(one, unseen.factors, times).step.time);
    row.unseen =
        find_band(unseen, compute_.at(one.config.title), frameworks_.at(one.config.framework),
                  one.config.layout.precision, one.config.model.experts.has_value());
    if (!variants_) return row;
    for (const StepFactors& factors : variants_(one))
      row.variants.push_back(seconds(result(one, factors, times).step.time));
    return row;
  }

  StepResult result(const StepCase& one, const StepFactors& factors, CollectiveTimes& times) const {
    Framework framework = with_factors(frameworks_.at(one.config.framework), factors);
    if (one.dispatch_by_nccl) framework.direct_dispatch = false;
    return run_step(one.config, framework, with_factors(compute_.at(one.config.title), factors),
                    times);
  }

  const std::vector<StepCase>& cases_;
  const PartsCatalogue& parts_;
  const StepFits& fits_;
  const StepVariants& variants_;
  FrameworkCatalogue frameworks_ = unfitted_frameworks();
  ComputeCatalogue compute_ = unfitted_compute();
  std::vector<Outcome> outcomes_;
};

}  // namespace

StepValidation validate_steps(const StepCases& cases, const PartsCatalogue& parts,
                              const StepFits& fits, const ForEach& for_each,
                              const StepVariants& variants) {
  StepValidation out;
  out.left_out = cases.left_out;
  std::vector<Outcome> outcomes = Cases(cases, parts, fits, variants).run(for_each);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].row)
      out.rows.push_back(std::move(*outcomes[i].row));
    else
      out.left_out.push_back({cases.cases[i].id, outcomes[i].refused});
  }
  return out;
}

}  // namespace fabricast
