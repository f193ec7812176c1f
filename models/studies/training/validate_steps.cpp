#include "models/studies/training/validate_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "models/io/topologies/load.hpp"

namespace fabricast {

namespace {

/// Collectives of one kind of machine, shared by its cases.
class Machines {
 public:
  explicit Machines(const PartsCatalogue& parts) : parts_(parts) {}

  CollectiveTimes& of(const StepConfig& config) {
    // Jobs of any size share what they run on, but where NVLink makes larger nodes of some.
    Site site = load_site(config, parts_);
    const std::string hcas(config.environment.get("NCCL_IB_HCA").value_or(""));
    const Key key{config.topology, hcas, config.gpus_per_node, site.cluster.node().gpus().size()};
    auto found = known_.find(key);
    if (found == known_.end()) {
      found = known_.emplace(key, std::make_unique<Shared>(std::move(site))).first;
      Shared& made = *found->second;
      made.times.emplace(made.site.cluster, parts_.software, made.site.communicator);
    }
    return *found->second->times;
  }

 private:
  using Key = std::tuple<std::string, std::string, int, std::size_t>;
  struct Shared {
    explicit Shared(Site loaded) : site(std::move(loaded)) {}
    Site site;
    std::optional<CollectiveTimes> times;
  };
  const PartsCatalogue& parts_;
  std::map<Key, std::unique_ptr<Shared>> known_;
};

double predicted_serving(const StepCase& one, const GpuCompute& gpu, CollectiveTimes& times) {
  const ServeResult result = run_serve(one.serving, gpu, times);
  if (one.asks == StepCase::Asks::prompt) return result.prefill.total();
  return one.asks == StepCase::Asks::token ? result.decode.total() : result.request();
}

}  // namespace

StepValidation validate_steps(const StepCases& cases, const PartsCatalogue& parts,
                              const FrameworkCatalogue& frameworks, const ComputeCatalogue& compute,
                              const std::function<void(double)>& progress) {
  StepValidation out;
  out.left_out = cases.left_out;
  Machines machines(parts);
  std::size_t done = 0;
  for (const StepCase& one : cases.cases) {
    const auto gpu = compute.find(one.config.title);
    try {
      if (gpu == compute.end())
        throw Error(fmt::format("what a {} computes is not known", one.config.title));
      StepPrediction row{one.id, one.group, one.asks, one.measured, 0, {}};
      if (one.asks != StepCase::Asks::step) {
        row.predicted = predicted_serving(one, gpu->second, machines.of(one.config));
        out.rows.push_back(std::move(row));
        continue;
      }
      row.result = run_step(one.config, frameworks.at(one.config.framework), gpu->second,
                            machines.of(one.config));
      row.predicted = seconds(row.result.step.time);
      out.rows.push_back(std::move(row));
    } catch (const Error& error) {
      out.left_out.push_back({one.id, error.what()});
    }
    if (progress) progress(static_cast<double>(++done) / static_cast<double>(cases.cases.size()));
  }
  return out;
}

}  // namespace fabricast
