#include <fmt/format.h>

#include "models/io/report/columns.hpp"
#include "models/studies/shared/job_json.hpp"
#include "models/studies/upgrade/upgrade_text.hpp"

namespace fabricast {

namespace {

using namespace column;

Json change_or_null(std::optional<double> change) { return change ? Json(*change) : Json(); }
Json time_or_null(double us) { return us > 0 ? Json(us) : Json(); }

void add_key(const CallKey& key, std::vector<Json>& cells) {
  if (!key.algorithm) {
    cells.insert(cells.end(), {"none", "none", {}, {}, {}});
    return;
  }
  cells.insert(cells.end(), {to_text(*key.algorithm), to_text(key.protocol), key.channels,
                             key.threads, key.chunk_bytes});
}

ReportTable rows_table(const UpgradeResult& result) {
  ReportTable out("rows", {kTopology,
                           kCollective,
                           kNodes,
                           kRanks,
                           whole("first_bytes", "B"),
                           whole("last_bytes", "B"),
                           whole("calls"),
                           kSize,
                           text("before_algorithm"),
                           text("before_protocol"),
                           whole("before_nchannels"),
                           whole("before_nthreads"),
                           whole("before_chunk_bytes", "B"),
                           us("before_us"),
                           text("after_algorithm"),
                           text("after_protocol"),
                           whole("after_nchannels"),
                           whole("after_nthreads"),
                           whole("after_chunk_bytes", "B"),
                           us("after_us"),
                           number("change", "", ".4f"),
                           text("differs"),
                           text("since"),
                           text("stage"),
                           text("cause"),
                           text("rule"),
                           text("source"),
                           text("remedy"),
                           us("remedy_us")});
  for (const UpgradeChange& change : result.changes) {
    for (std::size_t i = 0; i < change.stretches.size(); ++i) {
      const UpgradeStretch& one = change.stretches[i];
      std::vector<Json> cells = {result.config.targets[change.target].name,
                                 to_text(change.collective),
                                 one.nodes,
                                 one.ranks,
                                 one.first.count,
                                 one.last.count,
                                 one.calls,
                                 one.size.count};
      add_key(one.before, cells);
      cells.push_back(time_or_null(one.before_us));
      add_key(one.after, cells);
      cells.push_back(time_or_null(one.after_us));
      const bool timed = one.before_us > 0 && one.after_us > 0;
      const bool remedied = change.remedy && i == change.most;
      cells.insert(
          cells.end(),
          {timed ? Json(one.change()) : Json(), change.difference.text(),
           to_text(change.cause.since), kUpgradeStageWords[change.cause.stage], change.cause.text,
           change.cause.rule, change.cause.source, remedied ? Json(change.remedy->set) : Json(),
           remedied ? Json(change.remedy->time_us) : Json()});
      out.add(std::move(cells));
    }
  }
  return out;
}

ReportTable targets_table(const UpgradeResult& result) {
  ReportTable out(
      "targets", {kTopology, whole("calls"), whole("choice"), whole("otherwise"), whole("estimate"),
                  number("largest_loss", "", ".4f"), number("largest_gain", "", ".4f")});
  for (std::size_t t = 0; t < result.summaries.size(); ++t) {
    const UpgradeSummary& one = result.summaries[t];
    out.add({result.config.targets[t].name, one.calls, one.choice, one.otherwise, one.estimate,
             change_or_null(one.largest_loss), change_or_null(one.largest_gain)});
  }
  return out;
}

/// Which release does what else.
ReportTable steps_table(const UpgradeResult& result) {
  ReportTable out("steps", {kTopology, kCollective, kNodes, kSize, kNccl, kAlgorithm, kProtocol,
                            kChannels, kThreads, whole("chunk_bytes", "B")});
  for (const UpgradeChange& change : result.changes) {
    const UpgradeStretch& at = change.stretches.front();
    for (const auto& [release, key] : change.steps) {
      std::vector<Json> cells = {result.config.targets[change.target].name,
                                 to_text(change.collective), at.nodes, at.size.count,
                                 to_text(release)};
      add_key(key, cells);
      out.add(std::move(cells));
    }
  }
  return out;
}

ReportTable variables_table(const UpgradeResult& result) {
  ReportTable out("variables", {text("variable"), text("kind"), text("since"), text("what"),
                                flag("is_set", "yes")});
  for (const UpgradeVariable& one : result.variables)
    out.add({one.name, one.kind, to_text(one.since), one.text, one.is_set});
  return out;
}

}  // namespace

Report upgrade_report(const UpgradeResult& result) {
  const UpgradeConfig& config = result.config;
  Report out;
  out.study = "upgrade";
  Json targets = Json::array(), collectives = Json::array(), sizes = Json::array(),
       releases = Json::array();
  for (const UpgradeTarget& target : config.targets) {
    targets.push_back(job_json(target.at(config.from), target.nodes, {}));
  }
  for (const Collective one : config.collectives) collectives.push_back(to_text(one));
  for (const Bytes one : config.sizes) sizes.push_back(one.count);
  for (const NcclVersion one : result.releases) releases.push_back(to_text(one));
  out.job["ask"] = {
      {"from", to_text(config.from)}, {"to", to_text(config.to)}, {"targets", targets},
      {"collectives", collectives},   {"sizes", sizes},           {"remedies", config.remedies}};
  out.notes = result.notes;
  out.tables.push_back(rows_table(result));
  out.tables.push_back(targets_table(result));
  out.tables.push_back(steps_table(result));
  out.tables.push_back(variables_table(result));
  int calls = 0, choice = 0, otherwise = 0;
  for (const UpgradeSummary& one : result.summaries) {
    calls += one.calls;
    choice += one.choice;
    otherwise += one.otherwise;
  }
  out.facts["releases"] = releases;
  out.facts["calls"] = calls;
  out.facts["choice"] = choice;
  out.facts["otherwise"] = otherwise;
  out.facts["without_times"] = result.calls_without_times();
  out.facts["largest_loss"] = change_or_null(result.largest_loss());
  return out;
}

}  // namespace fabricast
