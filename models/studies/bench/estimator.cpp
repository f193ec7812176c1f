#include "models/studies/bench/estimator.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/bench/bench_call.hpp"
#include "models/studies/bench/bench_engine_text.hpp"
#include "models/studies/bench/fewer_nodes.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

BenchConfig checked(BenchConfig config) {
  if (config.nodes.size() > 1)
    throw Error("an estimator has one number of nodes", "make one for each");
  if (config.split || split_of(config.environment))
    throw Error("an estimator has no groups that run at the same time", "ask bench --split");
  if (!config.faults.empty()) throw Error("an estimator has no faults", "ask bench --fault");
  if (config.trace) throw Error("an estimator has no trace", "ask bench --trace");
  config.explain = config.explain_fold = false;
  return config;
}

}  // namespace

/// Machines, and NCCL on them.
struct CallEstimator::Place {
  Place(const BenchConfig& config, const Topology& topology, int nodes)
      : Place(config, topology, nodes_of(config, nodes, config.network.routing)) {}

  const BenchBlock& block() const { return result.blocks.front(); }

  NodesRequest asked;
  BenchResult result;  ///< of one block and no rows
  Communicator communicator;

 private:
  Place(const BenchConfig& config, const Topology& topology, const NodesRequest& on)
      : Place(config, on, site_of(topology, config, on)) {}
  Place(const BenchConfig& config, const NodesRequest& on, Site site)
      : asked(on),
        result{config,
               {BenchBlock{site.cluster.hosts(), std::move(site.cluster), {}, {}, {}}},
               {},
               {}},
        communicator(make_communicator(block().cluster, site.communicator)) {
    check_root(config, communicator.ranks);
    check_processes(config, communicator.ranks / communicator.hosts);
    for (const std::string& warning : communicator.warnings) add_once(result.notes, warning);
    result.blocks.front().network = plan_network(config.network, block().cluster,
                                                 config.environment, config.version, result.notes);
  }
};

CallEstimator::CallEstimator(const BenchConfig& config, const PartsCatalogue& parts,
                             const BandTable& bands)
    : parts_(parts),
      bands_(bands),
      config_(checked(config)),
      topology_(topology_of(config_, parts)),
      whole_(open(config_.nodes.empty() ? 0 : config_.nodes.front(), config_.gpus_per_node)) {}

CallEstimator::~CallEstimator() = default;

int CallEstimator::ranks() const { return whole_->communicator.ranks; }

const std::vector<std::string>& CallEstimator::notes() const { return whole_->result.notes; }

std::unique_ptr<const CallEstimator::Place> CallEstimator::open(int nodes,
                                                                int gpus_per_node) const {
  BenchConfig config = config_;
  config.gpus_per_node = gpus_per_node;
  return std::make_unique<const Place>(config, topology_, nodes);
}

/// REQUIRES: mutex_ is held.
const CallEstimator::Place& CallEstimator::place_of(int ranks) const {
  const Communicator& all = whole_->communicator;
  if (ranks == 0 || ranks == all.ranks) return *whole_;
  const int per_host = all.ranks / all.hosts;
  const bool is_whole_nodes = ranks > 0 && ranks % per_host == 0;
  if (ranks < 1 || ranks > all.ranks || (ranks > per_host && !is_whole_nodes))
    throw Error(fmt::format("{} ranks are not whole nodes of {} GPUs, at most {} of them", ranks,
                            per_host, all.hosts),
                "or fewer GPUs of one node; another estimator has another site");
  std::unique_ptr<const Place>& place = smaller_[ranks];
  if (!place)
    place = is_whole_nodes ? open(ranks / per_host, config_.gpus_per_node) : open(1, ranks);
  return *place;
}

CallEstimate CallEstimator::found(const Place& place, Collective collective, Bytes size,
                                  std::string_view datatype,
                                  const std::function<void()>& poll) const {
  const BenchBlock& block = place.block();
  BenchConfig config = place.result.config;
  config.datatype = datatype;
  std::optional<BenchRow> row;
  {
    const std::lock_guard lock(mutex_);
    row = decided_row(config, block.cluster, parts_.software, place.communicator, collective, size);
  }
  if (!row)
    throw Error(fmt::format("{} of {} over {} ranks rounds down to no element", to_text(collective),
                            to_text(size), place.communicator.ranks),
                "ask for more bytes");
  if (row->is_peer_kernel()) {
    const Duration time = kernel_times(config, block.cluster, parts_.software, *row).alone.time;
    const double us = microseconds_of(time);
    return {time,          us, us, row->algorithm(), row->protocol(), row->working_channels(),
            kEngineThreads};
  }
  const CollectiveRun& run = row->decided.run;
  const Symmetry symmetry = find_symmetry(block.cluster, run);
  SimulationOptions options = options_of(config, block.network);
  if (poll) options.progress = [&poll](double) { poll(); };
  check_size(block.cluster, symmetry, options, *row);
  RunTimes times = times_of(
      config, block.cluster, parts_.software, run, symmetry, options,
      on_fewer_nodes(config, parts_.software, topology_, place.asked, block.cluster, *row));
  row->result = std::move(times.alone);
  row->in_a_row = times.in_a_row;
  row->bounds = std::move(times.bounds);
  const double time_us = microseconds_of(row->call_time());
  const auto band = time_band(place.result, block, *row, bands_);
  return {row->call_time(), band ? band->lower_us : time_us, band ? band->upper_us : time_us,
          row->algorithm(), to_text(run.protocol),           row->working_channels(),
          run.threads};
}

CallEstimate CallEstimator::estimate(Collective collective, Bytes size, std::string_view datatype,
                                     int ranks, const std::function<void()>& poll) const {
  check_message(size);
  const Key key{ranks, collective, size.count, datatype_bytes(std::string(datatype))};
  const Place* place = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    place = &place_of(ranks);
  }
  const CallEstimate out = found(*place, collective, size, datatype, poll);
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, out).first->second;
}

}  // namespace fabricast
