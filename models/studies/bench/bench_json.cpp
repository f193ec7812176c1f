#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

/// Nothing where there is no figure.
Json figure(const BenchRow& row, double value) { return row.completes() ? Json(value) : Json(); }

Json row_json(const BenchBlock& block, const BenchRow& row, bool explained) {
  const CollectiveRun& run = row.decided.run;
  Json out = {{"collective", to_text(row.collective)},
              {"size_bytes", row.requested.count},
              {"count", row.count},
              {"nodes", row.nodes},
              {"ranks", row.ranks},
              {"network", to_text(block.network.rung)},
              {"routing", to_text(block.network.routing)},
              {"algorithm", row.algorithm()},
              {"protocol", to_text(run.protocol)},
              {"nchannels", row.working_channels()},
              {"nchannels_tuner", run.channels},
              {"nthreads", run.threads},
              {"nccl_predicted_us", row.decided.decision.time_us},
              {"completes", row.completes()},
              {"time_us", figure(row, microseconds_of(row.call_time()))},
              {"algbw_GBps", figure(row, row.algbw())},
              {"busbw_GBps", figure(row, row.busbw())},
              {"launch_us", microseconds_of(row.result.launch)},
              {"events", row.result.events},
              {"events_skipped", row.result.events_skipped},
              {"nodes_simulated", row.result.nodes_simulated},
              {"rails_folded", row.result.rails_folded},
              {"channels_simulated", row.result.channels_simulated},
              {"why_not_folded", row.result.why_not_folded},
              {"slices", row.result.slices},
              {"digest", fmt::format("{:016x}", row.result.digest)}};
  if (run.calls > 1) out["calls_in_group"] = run.calls;
  if (row.split) {
    out["groups"] = row.split->groups;
    out["slowest_group"] = row.split->slowest;
    out["fastest_time_us"] = microseconds_of(row.split->fastest);
    out["alone_time_us"] = microseconds_of(row.split->alone);
  }
  if (row.healthy) {
    const Losses& losses = row.result.losses;
    out["healthy_time_us"] = microseconds_of(*row.healthy);
    out["messages_lost"] = losses.lost;
    out["retries_most"] = losses.retries_most;
  }
  if (!explained) return out;
  const auto cause = [&](Cause c) {
    return microseconds_of(row.result.causes[static_cast<std::size_t>(c)]);
  };
  out["critical_path"] = {{"latency_us", cause(Cause::latency)},
                          {"link_us", cause(Cause::link)},
                          {"worker_us", cause(Cause::worker)},
                          {"slots_us", cause(Cause::slots)}};
  Json links = Json::array();
  for (const LinkLoad& load : row.result.links) {
    links.push_back({{"link", block.cluster.link_name(load.link)},
                     {"copies", load.copies},
                     {"carried_bytes", load.carried.count},
                     {"utilisation", load.utilisation}});
  }
  out["links"] = links;
  return out;
}

void add_band(Json& out, const std::optional<TimeBand>& band) {
  if (!band) return;
  out["lower_us"] = band->lower_us;
  out["upper_us"] = band->upper_us;
  out["band_basis"] = band->basis;
}

}  // namespace

std::string bench_json(const BenchResult& result, const BandTable& bands) {
  const BenchConfig& config = result.config;
  Json environment = Json::object();
  for (const auto& [name, value] : config.environment.variables()) environment[name] = value;
  Json rows = Json::array();
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      rows.push_back(row_json(block, row, config.explain));
      add_band(rows.back(), time_band(result, block, row, bands));
    }
  }
  Json out = {{"study", "bench"},
              {"topology", config.topology},
              {"fabric", config.fabric},
              {"nccl", to_text(config.version)},
              {"environment", environment},
              {"datatype", config.datatype},
              {"gpus_per_process", config.gpus_per_process},
              {"digest", fmt::format("{:016x}", bench_digest(result))},
              {"notes", result.notes},
              {"rows", rows}};
  // Groups of a split run at the same time: nothing is remembered.
  const MemoCounts& counts = result.simulations;
  if (counts.asked > 0)
    out["simulations"] = {{"asked", counts.asked}, {"simulated", counts.simulated}};
  if (!config.network.background.empty()) {
    Json background = Json::array();
    for (const BackgroundSpec& spec : config.network.background) background.push_back(spec.text);
    out["background"] = background;
  }
  if (config.split) out["split"] = config.split->text;
  if (!config.faults.empty()) {
    Json faults = Json::array();
    for (const FaultSpec& fault : config.faults) faults.push_back(fault.text);
    out["faults"] = faults;
  }
  return json_document(out);
}

}  // namespace fabricast
