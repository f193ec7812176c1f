#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/io/report/columns.hpp"
#include "models/studies/gate/gate_text.hpp"
#include "models/studies/shared/job_json.hpp"

namespace fabricast {

namespace {

using namespace column;

constexpr ReportColumn kExpected = us("expected_us");
constexpr ReportColumn kAtMost = us("at_most_us");
constexpr ReportColumn kExpectedBusbw = number("expected_busbw_GBps", "GB/s", ".4f");
constexpr ReportColumn kFloorBusbw = number("floor_busbw_GBps", "GB/s", ".4f");

std::string names_of(const GateBlock& block, std::size_t row, Separation wanted) {
  return fmt::format("{}", fmt::join(block.faults(row, wanted), " "));
}

ReportTable floors_table(const GateResult& result) {
  ReportTable out("rows", {kTopology, kNodes, kRanks, kCollective, kSize, kExpected, kAtMost,
                           kExpectedBusbw, kFloorBusbw, kBandBasis, kAlgorithm, kProtocol,
                           kChannels, text("busiest_link"), number("utilisation", {}, ".4f"),
                           text("told"), text("often_told"), text("not_told"), text("unseen")});
  for (const GateBlock& block : result.blocks) {
    for (std::size_t i = 0; i < block.expected.rows.size(); ++i) {
      const JudgeRow& row = block.expected.rows[i];
      const double floor = block.floor_us(i);
      out.add({result.config.topology, block.expected.nodes, block.expected.ranks,
               to_text(block.collective), row.size.count, row.expected_us, floor,
               block.busbw_GBps(i, row.expected_us), block.busbw_GBps(i, floor),
               to_text(row.band.known), row.algorithm, row.protocol, row.channels, row.busiest,
               row.utilisation, names_of(block, i, Separation::yes),
               names_of(block, i, Separation::often), names_of(block, i, Separation::no),
               names_of(block, i, Separation::unseen)});
    }
  }
  return out;
}

ReportTable faults_table(const GateResult& result) {
  ReportTable out("faults",
                  {kNodes, kCollective, kSize, text("cause"), text("title"), text("check"), kTime,
                   kBusbw, number("of_floor", {}, ".4f"), text("told"), text("refused")});
  for (const GateBlock& block : result.blocks) {
    const ExpectedRows& expected = block.expected;
    for (std::size_t i = 1; i < expected.causes.size(); ++i) {
      const Suspect& cause = expected.causes[i].cause;
      for (std::size_t row = 0; row < expected.rows.size(); ++row) {
        std::vector<Json> cells = {expected.nodes,
                                   to_text(block.collective),
                                   expected.rows[row].size.count,
                                   cause.name,
                                   cause.title,
                                   cause.check};
        if (block.is_simulated(i)) {
          const double time_us = expected.causes[i].times_us[row];
          for (Json cell : std::initializer_list<Json>{time_us, block.busbw_GBps(row, time_us),
                                                       block.floor_us(row) / time_us,
                                                       to_text(block.separation(i, row)), Json()})
            cells.push_back(std::move(cell));
        } else {
          cells.resize(cells.size() + 4);
          cells.emplace_back(expected.causes[i].refused);
        }
        out.add(std::move(cells));
      }
    }
  }
  return out;
}

ReportTable checked_rows(const std::vector<JudgedTable>& tables) {
  ReportTable out(
      "rows", {text("source"), kCollective, kNodes, kRanks, kSize, kTime, kExpected, kAtMost,
               kBusbw, kFloorBusbw, flag("passes"), kBandBasis, kAlgorithm, kProtocol, kChannels});
  for (const JudgedTable& table : tables) {
    const JudgeResult& result = table.result;
    for (const JudgeRow& row : result.rows) {
      const double floor = row.limit_us();
      out.add({table.source, to_text(result.config.collective), result.nodes, result.ranks,
               row.size.count, row.measured_us, row.expected_us, floor,
               busbw_of(result, row.size, row.measured_us), busbw_of(result, row.size, floor),
               row.verdict != RowVerdict::below, to_text(row.band.known), row.algorithm,
               row.protocol, row.channels});
    }
  }
  return out;
}

ReportTable checked_tables(const std::vector<JudgedTable>& tables) {
  ReportTable out("tables",
                  {text("source"), kCollective, kTopology, kNodes, kRanks, kNccl, flag("passes"),
                   text("verdict"), whole("rows"), whole("slow_rows"),
                   whole("rows_with_wrong_values"), text("cause"), text("title"), text("check")});
  for (const JudgedTable& table : tables) {
    const JudgeResult& result = table.result;
    std::vector<Json> cells = {table.source,
                               to_text(result.config.collective),
                               result.config.topology,
                               result.nodes,
                               result.ranks,
                               to_text(result.config.version),
                               passes(result.verdict),
                               to_text(result.verdict),
                               result.rows.size(),
                               result.count(RowVerdict::below),
                               result.config.wrong_rows};
    if (passes(result.verdict) || result.ranking.empty()) {
      cells.resize(cells.size() + 3);
    } else {
      const Suspect& cause = result.causes[result.ranking.front().fits.front().which].cause;
      for (const std::string* word : {&cause.name, &cause.title, &cause.check})
        cells.emplace_back(*word);
    }
    out.add(std::move(cells));
  }
  return out;
}

}  // namespace

Report gate_report(const GateResult& result) {
  Report out;
  out.study = "gate";
  Json collectives = Json::array(), sizes = Json::array();
  for (const Collective collective : result.config.collectives)
    collectives.push_back(to_text(collective));
  for (const Bytes size : result.config.sizes) sizes.push_back(size.count);
  out.job = job_json(result.config, result.nodes(),
                     {{"collectives", std::move(collectives)},
                      {"sizes", std::move(sizes)},
                      {"datatype", result.config.datatype},
                      {"healthy_share", result.config.healthy_share}});
  out.notes = result.notes;
  out.tables = {floors_table(result), faults_table(result)};
  return out;
}

Report gate_check_report(const std::vector<JudgedTable>& tables) {
  Report out;
  out.study = "gate";
  const JudgeResult& first = tables.front().result;
  Json logs = Json::array();
  for (const JudgedTable& table : tables) {
    logs.push_back(table.source);
    for (const std::string& note : table.result.notes)
      out.notes.push_back(table.source + ": " + note);
  }
  out.job = job_json(first.config, {first.nodes},
                     {{"logs", std::move(logs)}, {"healthy_share", *first.config.healthy_share}});
  out.tables = {checked_rows(tables), checked_tables(tables)};
  out.facts = {{"passes", all_pass(tables)}};
  return out;
}

}  // namespace fabricast
