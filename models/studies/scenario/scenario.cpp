#include "models/studies/scenario/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/io/topologies/calibrated.hpp"
#include "models/studies/scenario/scenario_judge.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/site.hpp"

namespace fabricast {

namespace {

std::vector<ScenarioRow> rows_of(const BenchResult& result, const BandTable& bands) {
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
      if (row.completes()) one.band = time_band(result, block, row, bands);
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

/// What a case comes to.
struct Answerer {
  const PartsCatalogue& parts;
  const std::function<void(double)>& progress;
  const ForEach& for_each;

  CaseAnswer operator()(const BenchConfig& config) const {
    return run_bench(config, parts, {progress}, for_each);
  }
  CaseAnswer operator()(const DecideConfig& config) const { return run_decide(config, parts); }
  CaseAnswer operator()(const ConcurrentCase& config) const {
    Site site = load_site(config, config.nodes, parts);
    ConcurrentAnswer out{std::move(site.cluster), {}};
    out.result = run_concurrent({out.cluster, site.communicator, datatype_bytes(config.datatype)},
                                config.asked, parts.software, progress);
    return out;
  }
  CaseAnswer operator()(const Work&) const { throw std::logic_error("setups are compared"); }
};

/// The first case is before.
void compare_setups(const PartsCatalogue& parts, const ForEach& for_each, ScenarioResult& out) {
  std::vector<NamedWork> works;
  for (const ScenarioCase& one : out.scenario.cases)
    works.push_back({one.name, std::get<Work>(one.ask)});
  if (works.size() == 2) {
    out.compared = run_whatif(works[0].work, works[1].work, parts, out.bands, for_each);
  } else {
    out.compared = compare_all(works, parts, out.bands, for_each);
  }
}

}  // namespace

const Job& ScenarioCase::job() const {
  const auto job_in = [](const auto& asked) -> const Job& { return asked; };
  if (const Work* const work = std::get_if<Work>(&ask)) return std::visit(job_in, *work);
  if (const auto* const simulated = std::get_if<BenchConfig>(&ask)) return *simulated;
  if (const auto* const decided = std::get_if<DecideConfig>(&ask)) return *decided;
  return std::get<ConcurrentCase>(ask);
}

std::vector<int> ScenarioCase::nodes() const {
  if (const Work* const work = std::get_if<Work>(&ask)) return nodes_of(*work);
  if (const auto* const simulated = std::get_if<BenchConfig>(&ask)) return simulated->nodes;
  if (const auto* const decided = std::get_if<DecideConfig>(&ask)) return decided->nodes;
  const int nodes = std::get<ConcurrentCase>(ask).nodes;
  return nodes > 0 ? std::vector{nodes} : std::vector<int>();
}

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
  for (const CaseAnswer& one : answers) {
    if (const auto* simulated = std::get_if<BenchResult>(&one))
      out.push_back(rows_of(*simulated, bands));
    if (const auto* decided = std::get_if<DecideResult>(&one)) out.push_back(rows_of(*decided));
  }
  return out;
}

bool ScenarioResult::completes() const {
  return std::ranges::all_of(answers, [](const CaseAnswer& one) {
    const auto* const simulated = std::get_if<BenchResult>(&one);
    return simulated == nullptr || simulated->completes();
  });
}

bool ScenarioResult::holds() const {
  return std::ranges::all_of(verdicts, &Verdict::holds) && completes();
}

ScenarioResult run_scenario(const Scenario& scenario, const PartsCatalogue& parts,
                            const std::function<void(double)>& progress, const ForEach& for_each) {
  ScenarioResult out;
  out.scenario = scenario;
  out.bands = load_bands(scenario.parts);
  if (scenario.study == Study::whatif) {
    compare_setups(parts, for_each, out);
    return out;
  }
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    std::function<void(double)> part;
    if (progress) {
      part = [&, i](double share) {
        progress((static_cast<double>(i) + share) / static_cast<double>(scenario.cases.size()));
      };
    }
    const ScenarioCase& one = scenario.cases[i];
    out.answers.push_back(placed(one.place, [&] {
      return std::visit(Answerer{parts, part, for_each}, one.ask);
    }));
  }
  judge(out);
  return out;
}

}  // namespace fabricast
