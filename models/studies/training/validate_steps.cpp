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
  Cases(const StepCases& cases, const PartsCatalogue& parts, const FrameworkCatalogue& frameworks,
        const ComputeCatalogue& compute)
      : cases_(cases.cases),
        parts_(parts),
        frameworks_(frameworks),
        compute_(compute),
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
      outcomes_[i].refused = error.what();
    }
  }

  void run_machine(const std::vector<std::size_t>& cases) {
    const Site site = load_site(cases_[cases.front()].config, parts_);
    CollectiveTimes times(site.cluster, parts_.software, site.communicator);
    for (const std::size_t i : cases)
      tried(i, [&] { outcomes_[i].row = predicted(cases_[i], times); });
  }

  StepPrediction predicted(const StepCase& one, CollectiveTimes& times) const {
    const GpuCompute& gpu = compute_.at(one.config.title);
    StepPrediction row{one.id, one.group, one.asks, one.measured, 0, {}};
    if (one.asks != StepCase::Asks::step) {
      row.predicted = predicted_serving(one, gpu, times);
      return row;
    }
    row.result = run_step(one.config, frameworks_.at(one.config.framework), gpu, times);
    row.predicted = seconds(row.result.step.time);
    return row;
  }

  const std::vector<StepCase>& cases_;
  const PartsCatalogue& parts_;
  const FrameworkCatalogue& frameworks_;
  const ComputeCatalogue& compute_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

StepValidation validate_steps(const StepCases& cases, const PartsCatalogue& parts,
                              const FrameworkCatalogue& frameworks, const ComputeCatalogue& compute,
                              const ForEach& for_each) {
  StepValidation out;
  out.left_out = cases.left_out;
  std::vector<Outcome> outcomes = Cases(cases, parts, frameworks, compute).run(for_each);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].row)
      out.rows.push_back(std::move(*outcomes[i].row));
    else
      out.left_out.push_back({cases.cases[i].id, outcomes[i].refused});
  }
  return out;
}

}  // namespace fabricast
