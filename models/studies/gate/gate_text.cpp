#include "models/studies/gate/gate_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/base/add_once.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// More numbers of nodes and collectives have one line of faults each.
constexpr std::size_t kBlocksWithTables = 2;
/// A link that is busy for less of the time limits nothing by its rate.
constexpr double kLimits = 0.5;

constexpr std::string_view kTold =
    "yes: 9 of 10 such runs fail; often: the expected one does; no: it passes; unseen: it takes no "
    "longer";

std::string limit_text(const JudgeRow& row) {
  if (row.busiest.empty()) return "none crossed";
  if (row.utilisation < kLimits)
    return fmt::format("latency; no link is busy above {:.0f} %", 100 * row.utilisation);
  return fmt::format("{} {:.0f} %", row.busiest, 100 * row.utilisation);
}

std::string floors_text(const GateResult& result) {
  TextTable table("  ");
  for (const std::size_t column : {0u, 2u, 3u, 4u, 5u, 6u}) table.align_right(column);
  table.add({"nodes", "collective", "size", "expected us", "at most", "busbw GB/s", "floor",
             "choice", "limited by (busy)"});
  for (const GateBlock& block : result.blocks) {
    for (std::size_t i = 0; i < block.expected.rows.size(); ++i) {
      const JudgeRow& row = block.expected.rows[i];
      const double floor = block.floor_us(i);
      table.add(
          {std::to_string(block.expected.nodes), std::string(to_text(block.collective)),
           to_text(row.size), fmt::format("{:.1f}", row.expected_us), fmt::format("{:.1f}", floor),
           fmt::format("{:.2f}", block.busbw_GBps(i, row.expected_us)),
           fmt::format("{:.2f}", block.busbw_GBps(i, floor)), choice_text(row), limit_text(row)});
    }
  }
  return table.text();
}

/// What measured runs the floors rest on: a line for each range of sizes and nearness.
std::string basis_text(const GateResult& result) {
  std::vector<std::string> lines;
  for (const GateBlock& block : result.blocks) {
    for (const JudgeRow& row : block.expected.rows) {
      std::string line =
          fmt::format("  {:<13} {:+.0f} % time  {}: {}", kSizeRangeNames[size_range(row.size)],
                      100 * (row.band.upper - 1), to_text(row.band.known), row.band.basis);
      add_once(lines, std::move(line));
    }
  }
  return fmt::format(
      "\nOf measured runs that no fit had seen {} % are no slower than this, beside the expected "
      "time:\n{}\n",
      per_cent(result.config.healthy_share), fmt::join(lines, "\n"));
}

std::string fault_cell(const GateBlock& block, std::size_t fault, std::size_t row) {
  const double time_us = block.expected.causes[fault].times_us[row];
  return fmt::format("{:.2f} {}", block.floor_us(row) / time_us,
                     to_text(block.separation(fault, row)));
}

std::string faults_text(const GateBlock& block, const std::string& topology) {
  const std::size_t rows = block.expected.rows.size();
  TextTable table("  ");
  std::vector<std::string> head = {"fault", ""};
  for (const JudgeRow& row : block.expected.rows) head.push_back(to_text(row.size));
  for (std::size_t row = 0; row < rows; ++row) table.align_right(2 + row);
  table.add(std::move(head));
  std::string refused;
  for (std::size_t i = 1; i < block.expected.causes.size(); ++i) {
    const SimulatedSuspect& fault = block.expected.causes[i];
    if (!block.is_simulated(i)) {
      refused += fmt::format("  {}: not simulated: {}\n", fault.cause.name, fault.refused);
      continue;
    }
    std::vector<std::string> cells = {fault.cause.name, fault.cause.title};
    for (std::size_t row = 0; row < rows; ++row) cells.push_back(fault_cell(block, i, row));
    table.add(std::move(cells));
  }
  return fmt::format(
             "\nFaults, {}: simulated bus bandwidth over the floor, and whether the floor tells\n"
             "them from a healthy machine ({}):\n",
             what_text(block.collective, block.expected.nodes, topology, block.expected.ranks),
             kTold) +
         table.text() + refused;
}

std::string told_text(const GateResult& result) {
  TextTable table("  ");
  table.align_right(0);
  table.align_right(2);
  table.add({"nodes", "collective", "size", "yes", "often", "no", "unseen"});
  for (const GateBlock& block : result.blocks) {
    for (std::size_t row = 0; row < block.expected.rows.size(); ++row) {
      std::vector<std::string> cells = {std::to_string(block.expected.nodes),
                                        std::string(to_text(block.collective)),
                                        to_text(block.expected.rows[row].size)};
      for (const Separation told :
           {Separation::yes, Separation::often, Separation::no, Separation::unseen}) {
        const std::vector<std::string> names = block.faults(row, told);
        cells.push_back(names.empty() ? "-" : fmt::format("{}", fmt::join(names, " ")));
      }
      table.add(std::move(cells));
    }
  }
  return fmt::format("\nFaults that a floor tells from a healthy machine ({}):\n", kTold) +
         table.text();
}

/// What the names of faults mean.
std::string titles_text(const GateResult& result) {
  std::vector<std::pair<std::string, std::string>> titles;
  for (const GateBlock& block : result.blocks)
    for (const SimulatedSuspect& fault : block.expected.causes)
      if (!fault.cause.name.empty() &&
          std::ranges::none_of(titles, [&](const auto& t) { return t.first == fault.cause.name; }))
        titles.emplace_back(fault.cause.name, fault.cause.title);
  std::string out;
  for (const auto& [name, title] : titles) out += fmt::format("  {:<15} {}\n", name, title);
  return out;
}

std::string check_text(const JudgedTable& table) {
  const JudgeResult& result = table.result;
  const bool pass = passes(result.verdict);
  std::string out = fmt::format(
      "{}  {}: {}, NCCL {}\n", pass ? "PASS" : "FAIL", table.source,
      what_text(result.config.collective, result.nodes, result.config.topology, result.ranks),
      to_text(result.config.version));
  TextTable rows("  ");
  for (std::size_t column = 0; column < 5; ++column) rows.align_right(column);
  rows.add({"size", "time us", "at most", "busbw GB/s", "floor", ""});
  for (const JudgeRow& row : result.rows) {
    const double limit = row.limit_us();
    rows.add({to_text(row.size), fmt::format("{:.1f}", row.measured_us),
              fmt::format("{:.1f}", limit),
              fmt::format("{:.2f}", busbw_of(result, row.size, row.measured_us)),
              fmt::format("{:.2f}", busbw_of(result, row.size, limit)),
              row.verdict == RowVerdict::below ? "slow" : "ok"});
  }
  out += rows.text();
  out += fmt::format("  {} of {} slower than the floor; one in ten may be\n",
                     result.count(RowVerdict::below), counted(std::ssize(result.rows), "row"));
  if (is_of_log(result.verdict))
    out += fmt::format(
        "  {}: it does not pass, whatever the times are\n",
        result.verdict == JudgeVerdict::run_failed ? "the run failed" : "the log has wrong values");
  if (!pass && !result.ranking.empty()) {
    const Suspect& cause = result.causes[result.ranking.front().fits.front().which].cause;
    out +=
        fmt::format("  {}: {} [{}]\n  look at: {}\n",
                    result.of_times == JudgeVerdict::explained ? "first suspect"
                                                               : "nearest, though it explains too "
                                                                 "few rows",
                    cause.title, cause.name, cause.check);
  }
  for (const std::string& note : result.notes) out += fmt::format("  note: {}\n", note);
  return out;
}

}  // namespace

std::string what_text(Collective collective, int nodes, const std::string& topology, int ranks) {
  return fmt::format("{} on {} x {}, {}", to_text(collective), nodes, topology,
                     counted(ranks, "rank"));
}

std::string choice_text(const JudgeRow& row) {
  return row.algorithm == "none"
             ? std::string(row.protocol)
             : fmt::format("{} {} x{}", row.algorithm, row.protocol, row.channels);
}

std::string per_cent(double share) { return fmt::format("{:.4g}", 100 * share); }

std::string gate_text(const GateResult& result) {
  std::string out =
      fmt::format("fabricast gate: {}, NCCL {}: floors that {} % of healthy runs reach\n\n",
                  result.config.topology, to_text(result.config.version),
                  per_cent(result.config.healthy_share));
  out += floors_text(result) + basis_text(result);
  if (result.blocks.size() <= kBlocksWithTables) {
    for (const GateBlock& block : result.blocks) out += faults_text(block, result.config.topology);
  } else {
    out += told_text(result) + titles_text(result);
  }
  for (const std::string& note : result.notes) out += fmt::format("note: {}\n", note);
  return out;
}

std::string gate_check_text(const std::vector<JudgedTable>& tables) {
  std::string out = fmt::format("fabricast gate --check: floors that {} % of healthy runs reach\n",
                                per_cent(*tables.front().result.config.healthy_share));
  for (const JudgedTable& table : tables) out += "\n" + check_text(table);
  return out;
}

bool all_pass(const std::vector<JudgedTable>& tables) {
  return std::ranges::all_of(tables,
                             [](const JudgedTable& table) { return passes(table.result.verdict); });
}

}  // namespace fabricast
