#include <fmt/format.h>

#include <array>

#include "models/io/report/columns.hpp"
#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/bench/bench_engine_text.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

/// Nothing where there is no figure.
Json figure(const BenchRow& row, double value) { return row.completes() ? Json(value) : Json(); }

/// With what tells rows apart, in tables beside the first.
std::vector<ReportColumn> with_key(std::vector<ReportColumn> columns) {
  using namespace column;
  columns.insert(columns.begin(), {kCollective, kSize, kNodes});
  return columns;
}

std::vector<Json> with_key(const BenchRow& row, std::vector<Json> cells) {
  const std::array key = {Json(to_text(row.collective)), Json(row.requested.count),
                          Json(row.nodes)};
  cells.insert(cells.begin(), key.begin(), key.end());
  return cells;
}

ReportTable rows_table(const BenchResult& result, const BandTable& bands) {
  using namespace column;
  std::vector<ReportColumn> columns = {kCollective, kSize,     kNodes,    kRanks,
                                       kAlgorithm,  kProtocol, kChannels, kTunedChannels,
                                       kThreads,    kTime,     kAlgbw,    kBusbw};
  const bool banded = !bands.bands.empty();
  if (banded) columns.insert(columns.end(), {kLower, kUpper});
  columns.push_back(flag("completes", "yes"));
  ReportTable out("rows", std::move(columns));
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      const CollectiveRun& run = row.decided.run;
      std::vector<Json> cells = {to_text(row.collective),
                                 row.requested.count,
                                 row.nodes,
                                 row.ranks,
                                 row.algorithm(),
                                 row.protocol(),
                                 row.working_channels(),
                                 row.is_peer_kernel() ? row.working_channels() : run.channels,
                                 row.is_peer_kernel() ? kEngineThreads : run.threads,
                                 figure(row, microseconds_of(row.call_time())),
                                 figure(row, row.algbw()),
                                 figure(row, row.busbw())};
      if (banded) {
        const auto band = time_band(result, block, row, bands);
        cells.push_back(band ? Json(band->lower_us) : Json());
        cells.push_back(band ? Json(band->upper_us) : Json());
      }
      cells.push_back(row.completes());
      out.add(std::move(cells));
    }
  }
  return out;
}

/// How each row came about: what NCCL thought, what was simulated, and what it was compared with.
ReportTable runs_table(const BenchResult& result, const BandTable& bands) {
  using namespace column;
  ReportTable out("runs", with_key({whole("count"), text("network"), text("routing"), kBandBasis,
                                    us("nccl_predicted_us"), us("one_shot_us"), us("launch_us"),
                                    whole("calls_in_group"), whole("events"),
                                    whole("events_skipped"), whole("nodes_simulated"),
                                    whole("rails_folded"), whole("channels_simulated"),
                                    text("why_not_folded"), whole("slices"), text("digest")}));
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      const SimulationResult& ran = row.result;
      const auto band = time_band(result, block, row, bands);
      out.add(with_key(
          row, {row.count, to_text(block.network.rung), to_text(block.network.routing),
                band ? Json(to_text(band->known)) : Json(), row.decided.decision.time_us,
                figure(row, microseconds_of(ran.time) / row.decided.run.calls),
                microseconds_of(ran.launch), row.decided.run.calls, ran.events, ran.events_skipped,
                ran.nodes_simulated, ran.rails_folded, ran.channels_simulated, ran.why_not_folded,
                ran.slices, fmt::format("{:016x}", ran.digest)}));
    }
  }
  return out;
}

/// Rows whose time lies between others' that were simulated.
ReportTable bounds_table(const BenchResult& result) {
  using namespace column;
  ReportTable out("bounds", with_key({us("at_least_us"), us("at_most_us"), whole("events_whole"),
                                      text("simulated_instead")}));
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      if (!row.bounds) continue;
      out.add(with_key(row, {microseconds_of(row.bounds->lower), microseconds_of(row.bounds->upper),
                             row.bounds->events, row.bounds->how}));
    }
  }
  return out;
}

ReportTable groups_table(const BenchResult& result) {
  using namespace column;
  ReportTable out("groups", with_key({whole("groups"), whole("slowest_group"),
                                      us("fastest_time_us"), us("alone_time_us")}));
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      if (!row.split) continue;
      out.add(
          with_key(row, {row.split->groups, row.split->slowest, microseconds_of(row.split->fastest),
                         microseconds_of(row.split->alone)}));
    }
  }
  return out;
}

ReportTable faults_table(const BenchResult& result) {
  using namespace column;
  ReportTable out("faults",
                  with_key({us("healthy_time_us"), whole("messages_lost"), whole("retries_most")}));
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      if (!row.healthy) continue;
      const Losses& losses = row.result.losses;
      out.add(with_key(row, {microseconds_of(*row.healthy), losses.lost, losses.retries_most}));
    }
  }
  return out;
}

ReportTable engine_table(const BenchResult& result) {
  using namespace column;
  ReportTable out("engine", with_key({text("kernel"), text("why")}));
  for (const BenchBlock& block : result.blocks)
    for (const BenchRow& row : block.rows)
      out.add(with_key(row, {kEngineKernelWords[row.engine->kernel], row.engine->why}));
  return out;
}

ReportTable registered_table(const BenchResult& result) {
  using namespace column;
  ReportTable out("registered", with_key({text("path"), us("nccl_predicted_us"), text("why")}));
  for (const BenchBlock& block : result.blocks)
    for (const BenchRow& row : block.rows)
      out.add(with_key(row, {kRegisteredPathWords[row.registered->path],
                             row.registered->nccl_us > 0 ? Json(row.registered->nccl_us) : Json(),
                             row.registered->why}));
  return out;
}

ReportTable causes_table(const BenchResult& result) {
  using namespace column;
  ReportTable out("critical_path",
                  with_key({us("latency_us"), us("link_us"), us("worker_us"), us("slots_us")}));
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      std::vector<Json> cells;
      for (const Cause cause : {Cause::latency, Cause::link, Cause::worker, Cause::slots})
        cells.emplace_back(microseconds_of(row.result.causes[static_cast<std::size_t>(cause)]));
      out.add(with_key(row, std::move(cells)));
    }
  }
  return out;
}

ReportTable links_table(const BenchResult& result) {
  using namespace column;
  ReportTable out("links", with_key({text("link"), whole("copies"), whole("carried_bytes", "B"),
                                     number("utilisation")}));
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      for (const LinkLoad& load : row.result.links)
        out.add(with_key(row, {block.cluster.link_name(load.link), load.copies, load.carried.count,
                               load.utilisation}));
    }
  }
  return out;
}

Json ask_json(const BenchConfig& config) {
  Json collectives = Json::array(), sizes = Json::array(), background = Json::array(),
       faults = Json::array();
  for (const Collective one : config.collectives) collectives.push_back(to_text(one));
  for (const Bytes one : config.sizes) sizes.push_back(one.count);
  for (const BackgroundSpec& one : config.network.background) background.push_back(one.text);
  for (const FaultSpec& one : config.faults) faults.push_back(one.text);
  Json out = {{"collectives", std::move(collectives)},
              {"sizes_bytes", std::move(sizes)},
              {"datatype", config.datatype},
              {"op", config.op},
              {"root", config.root},
              {"calls", config.calls},
              {"gpus_per_process", config.gpus_per_process},
              {"gpus_per_thread", config.gpus_per_thread},
              {"cuda_graph", config.cuda_graph},
              {"one_shot", config.one_shot},
              {"network", to_text(config.network.rung)},
              {"routing", config.network.routing ? Json(to_text(*config.network.routing)) : Json()},
              {"background", std::move(background)},
              {"split", config.split ? Json(config.split->text) : Json()},
              {"faults", std::move(faults)},
              {"custom", config.custom != nullptr ? Json(config.custom->name) : Json()}};
  if (config.engine) out["engine"] = to_text(config.engine->release);
  if (config.registered) out["registered"] = kRegistrationWords[config.registered->asked];
  return out;
}

}  // namespace

Report bench_report(const BenchResult& result, const BandTable& bands) {
  const BenchConfig& config = result.config;
  Report out;
  out.study = "bench";
  out.job = job_json(config, config.nodes, ask_json(config));
  out.seed = config.network.seed;
  out.digest = bench_digest(result);
  out.notes = result.notes;
  out.tables = {rows_table(result, bands), runs_table(result, bands)};
  if (ReportTable bounds = bounds_table(result); !bounds.rows().empty())
    out.tables.push_back(std::move(bounds));
  if (config.split) out.tables.push_back(groups_table(result));
  if (!config.faults.empty()) out.tables.push_back(faults_table(result));
  if (config.engine) out.tables.push_back(engine_table(result));
  if (config.registered) out.tables.push_back(registered_table(result));
  if (config.explain) {
    out.tables.push_back(causes_table(result));
    out.tables.push_back(links_table(result));
  }
  // Groups of a split run at the same time: nothing is remembered.
  const MemoCounts& counts = result.simulations;
  if (counts.asked > 0)
    out.facts["simulations"] = {{"asked", counts.asked}, {"simulated", counts.simulated}};
  return out;
}

}  // namespace fabricast
