#include "models/studies/scenario/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/studies/scenario/scenario_judge.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/site.hpp"

namespace fabricast {

namespace {

std::vector<ScenarioRow> rows_of(const BenchResult& result) {
  std::vector<ScenarioRow> out;
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      const CollectiveRun& run = row.decided.run;
      ScenarioRow& one = out.emplace_back();
      one.collective = row.collective;
      one.nodes = row.nodes;
      one.ranks = row.ranks;
      one.requested = row.requested;
      one.choice = "none";
      if (run.has_algorithm()) {
        one.choice = fmt::format("{} {}", row.algorithm(), to_text(run.protocol));
        if (!run.custom) one.algorithm = run.algorithm;
        one.protocol = run.protocol;
      }
      one.channels = run.channels;
      one.time_us = row.completes() ? microseconds_of(row.call_time()) : 0;
      one.busbw_GBps = row.busbw();
      one.block = &block;
      one.row = &row;
    }
  }
  return out;
}

std::vector<ScenarioRow> rows_of(const DecideResult& result) {
  std::vector<ScenarioRow> out;
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      ScenarioRow& one = out.emplace_back();
      one.collective = row.collective;
      one.nodes = block.communicator.hosts;
      one.ranks = block.communicator.ranks;
      one.requested = row.requested;
      one.choice = "none";
      one.algorithm = row.decision.algorithm;
      if (one.algorithm) {
        one.protocol = row.decision.protocol;
        one.choice = fmt::format("{} {}", to_text(*one.algorithm), to_text(one.protocol));
      }
      one.channels = row.decision.channels;
      one.time_us = row.decision.time_us;
      const double algbw =
          one.time_us > 0 ? static_cast<double>(row.size.count) / 1e3 / one.time_us : 0;
      one.busbw_GBps = algbw * busbw_factor(row.collective, one.ranks);
    }
  }
  return out;
}

ScenarioResult::Concurrent answer(const BenchConfig& config, const ConcurrentConfig& concurrent,
                                  const PartsCatalogue& parts,
                                  const std::function<void(double)>& progress) {
  const int nodes = config.nodes.empty() ? 0 : config.nodes.front();
  Site site = load_site(config, nodes, parts);
  ScenarioResult::Concurrent out{std::move(site.cluster), {}};
  if (out.cluster.node().trays() > 1) site.communicator.gpus_per_node = 0;  // it is of a tray
  out.result = run_concurrent({out.cluster, site.communicator, datatype_bytes(config.datatype)},
                              concurrent, parts.software, progress);
  return out;
}

/// The first case is before.
void answer_whatif(const Scenario& scenario, const PartsCatalogue& parts, ScenarioResult& out) {
  std::vector<NamedWork> works;
  for (const ScenarioCase& one : scenario.cases) {
    Work work = one.config;
    if (scenario.step) work = with_job(*scenario.step, job_of(work));
    works.push_back({one.name, std::move(work)});
  }
  if (works.size() == 2) {
    out.whatif = run_whatif(works[0].work, works[1].work, parts, in_turn);
  } else {
    out.setups = compare_all(works, parts, in_turn);
  }
}

}  // namespace

DecideConfig decide_config(const BenchConfig& config) {
  DecideConfig out;
  static_cast<Job&>(out) = config;
  out.nodes = config.nodes;
  out.collectives = config.collectives;
  out.sizes = config.sizes;
  return out;
}

std::vector<std::vector<ScenarioRow>> ScenarioResult::rows() const {
  std::vector<std::vector<ScenarioRow>> out;
  for (const BenchResult& one : results) out.push_back(rows_of(one));
  for (const DecideResult& one : decisions) out.push_back(rows_of(one));
  return out;
}

bool ScenarioResult::holds() const {
  return std::ranges::all_of(verdicts, &Verdict::holds) &&
         std::ranges::all_of(results, &BenchResult::completes);
}

ScenarioResult run_scenario(const Scenario& scenario, const PartsCatalogue& parts,
                            const std::function<void(double)>& progress) {
  ScenarioResult out;
  out.scenario = scenario;
  if (scenario.study == Study::whatif) {
    answer_whatif(scenario, parts, out);
    return out;
  }
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    std::function<void(double)> part;
    if (progress) {
      part = [&, i](double share) {
        progress((static_cast<double>(i) + share) / static_cast<double>(scenario.cases.size()));
      };
    }
    const BenchConfig& config = scenario.cases[i].config;
    if (scenario.study == Study::bench) {
      out.results.push_back(run_bench(config, parts, part));
    } else if (scenario.study == Study::concurrent) {
      out.concurrent.push_back(answer(config, scenario.cases[i].concurrent, parts, part));
    } else {
      out.decisions.push_back(run_decide(decide_config(config), parts));
    }
  }
  judge(out);
  return out;
}

}  // namespace fabricast
