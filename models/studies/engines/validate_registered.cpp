#include "models/studies/engines/validate_registered.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/io/topologies/load.hpp"
#include "models/nccl/registered/registered_run.hpp"
#include "models/studies/engines/cost_fit.hpp"
#include "models/studies/errors/leave_out.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {
namespace {

/// Figures that these kernels alone depend on.
std::vector<CostParameter> own_parameters() {
  CostParameter start{"kernels.start_hops",
                      [](EngineCosts& costs, double factor) {
                        for (auto& [sm, gpu] : costs.gpus) gpu.start = scaled(gpu.start, factor);
                      },
                      [](const EngineCosts& costs) {
                        const PeerGpu& gpu = costs.gpus.begin()->second;
                        return fmt::format("{:.3g}", static_cast<double>(gpu.start.ps) /
                                                         static_cast<double>(gpu.hop.ps));
                      }};
  return {std::move(start), number_parameter("kernels.unrolled", &EngineCosts::unrolled, 100),
          number_parameter("kernels.round", &EngineCosts::round, 10),
          time_parameter("kernels.ll_read", &EngineCosts::ll_read),
          time_parameter("kernels.burst", &EngineCosts::burst)};
}

class KernelValidation {
 public:
  KernelValidation(ValidateRegisteredConfig config, const PartsCatalogue& parts,
                   const ForEach& for_each)
      : parts_(parts), for_each_(for_each) {
    out_.config = std::move(config);
  }

  ValidateRegisteredResult run() {
    const std::vector<RegisteredRow>& rows = out_.config.measured;
    for (std::size_t i = 0; i < rows.size(); ++i) add(i);
    std::vector<std::size_t> all(out_.config.measured.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::vector<double> times = predict(all, out_.config.costs);
    for (std::size_t i = 0; i < times.size(); ++i) out_.predictions[i].time_us = times[i];
    if (out_.config.leave_out) leave_out();
    if (out_.config.fit) {
      const EngineCosts costs = fit(all);
      for (const CostParameter& one : own_parameters()) out_.fitted[one.name] = one.text(costs);
    }
    return std::move(out_);
  }

 private:
  const RegisteredRow& row(std::size_t place) const { return out_.config.measured[place]; }

  void add(std::size_t number) {
    const RegisteredRow& one = row(number);
    const auto [known, is_new] = places_.try_emplace({one.topology, one.gpus}, clusters_.size());
    if (is_new) clusters_.push_back(cluster_of(one));
    cluster_of_.push_back(known->second);
    RegisteredPrediction prediction{number, one.blocks, 0, {}};
    if (one.blocks == 0) {
      const SymmetricTraits traits = traits_of(one.kernel);
      const Bytes count = traits.collective == Collective::all_reduce
                              ? one.size
                              : Bytes{std::max<std::int64_t>(1, one.size.count / one.gpus)};
      const int sm = clusters_[known->second].node().gpus().front().part.sm;
      prediction.blocks = estimate(one.kernel, sm, one.gpus, count, {}).blocks;
    }
    out_.predictions.push_back(prediction);
  }

  /// A server, or as many of an NVLink domain as it takes.
  Cluster cluster_of(const RegisteredRow& one) const {
    try {
      const Topology topology(one.topology, "", parts_);
      NodesRequest request;
      request.nodes = 1;
      const int each = static_cast<int>(topology.cluster(request).node().gpus().size());
      if (one.gpus > each) {
        request.nodes = (one.gpus + each - 1) / each;
        request.joins_domains = true;
      }
      Cluster out = topology.cluster(request);
      if (out.nodes() > 1)
        throw Error(one.place,
                    fmt::format("NVLink does not join {} GPUs of {}", one.gpus, one.topology),
                    "symmetric kernels stay within an NVLink domain");
      return out;
    } catch (const Error& error) {
      throw error.with(one.place);
    }
  }

  std::vector<double> predict(const std::vector<std::size_t>& places,
                              const EngineCosts& costs) const {
    std::vector<double> out(places.size());
    for_each_(places.size(), [&](std::size_t i) {
      const RegisteredRow& one = row(places[i]);
      const RegisteredChoice choice{
          RegisteredPath::symmetric, one.kernel, out_.predictions[places[i]].blocks, 0, {}, {}};
      out[i] = microseconds_of(
          simulate_registered(clusters_[cluster_of_[places[i]]], Members::first(1, one.gpus), costs,
                              parts_.software,
                              {choice, traits_of(one.kernel).collective, one.size, 0, 0})
              .time);
    });
    return out;
  }

  EngineCosts fit(const std::vector<std::size_t>& seen) const {
    return fit_costs(own_parameters(), out_.config.costs, [&](const EngineCosts& costs) {
      Vector out = predict(seen, costs);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::log(out[i] / row(seen[i]).time_us);
      return out;
    });
  }

  void leave_out() {
    const auto topology_of = [&](std::size_t i) { return row(i).topology; };
    for (const auto& [topology, seen, unseen] :
         leave_each_out(out_.config.measured.size(), topology_of)) {
      const std::vector<double> times = predict(unseen, fit(seen));
      for (std::size_t i = 0; i < unseen.size(); ++i)
        out_.predictions[unseen[i]].unseen_us = times[i];
    }
  }

  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  ValidateRegisteredResult out_;
  std::map<std::pair<std::string, int>, std::size_t> places_;  ///< by topology and GPUs
  std::vector<Cluster> clusters_;
  std::vector<std::size_t> cluster_of_;  ///< by row
};

}  // namespace

ValidateRegisteredResult run_validate_registered(ValidateRegisteredConfig config,
                                                 const PartsCatalogue& parts,
                                                 const ForEach& for_each) {
  return KernelValidation(std::move(config), parts, for_each).run();
}

}  // namespace fabricast
