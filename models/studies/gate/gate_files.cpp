#include "models/studies/gate/gate_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "models/io/report/junit.hpp"
#include "models/studies/gate/gate_text.hpp"
#include "text/quoting.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// A line of a comment stays one line.
std::string commented(const std::string& text) {
  std::string out = text;
  std::ranges::replace(out, '\n', ' ');
  std::ranges::replace(out, '\r', ' ');
  return "# " + out + "\n";
}

/// NVLink joins the nodes: a fault of theirs is that it does not.
bool joins_nodes(const GateBlock& block) {
  return std::ranges::any_of(block.expected.causes,
                             [](const auto& one) { return one.cause.name == "mnnvl-off"; });
}

}  // namespace

std::string gate_command(const GateResult& result) {
  const GateConfig& config = result.config;
  std::string out = "fabricast gate";
  const auto add = [&](const char* option, const std::string& value) {
    out += fmt::format(" {} {}", option, shell_word(value));
  };
  std::vector<std::string_view> collectives;
  for (const Collective one : config.collectives) collectives.push_back(to_text(one));
  std::vector<std::string> sizes;
  for (const Bytes size : config.sizes) sizes.push_back(fmt::format("{}B", size.count));
  out += " " + shell_word(config.topology);
  add("--nodes", fmt::format("{}", fmt::join(result.nodes(), ",")));
  if (config.gpus_per_node > 0) add("--gpus-per-node", std::to_string(config.gpus_per_node));
  add("--collective", fmt::format("{}", fmt::join(collectives, ",")));
  add("--sizes", fmt::format("{}", fmt::join(sizes, ",")));
  add("--nccl", to_text(config.version));
  add("--probability", per_cent(config.healthy_share) + "%");
  if (!config.fabric.empty()) add("--fabric", config.fabric);
  if (config.sharp) out += " --sharp";
  if (!config.parts.empty()) add("--parts", config.parts);
  for (const auto& [name, value] : config.environment.variables())
    add("--env", fmt::format("{}={}", name, value));
  return out;
}

std::string gate_aicr(const GateResult& result) {
  const auto is_wanted = [](const GateBlock& block) {
    return block.collective == Collective::all_reduce;
  };
  const auto wanted = std::ranges::count_if(result.blocks, is_wanted);
  if (wanted == 0)
    throw Error("AICR's constraint is one of all_reduce, which is not asked for",
                "--collective all_reduce");
  if (wanted > 1)
    throw Error("AICR's constraint is one figure: of one number of nodes", "--nodes 2");
  const GateBlock& block = *std::ranges::find_if(result.blocks, is_wanted);
  const auto largest = std::ranges::max_element(block.expected.rows, {}, &JudgeRow::size);
  const auto row = static_cast<std::size_t>(largest - block.expected.rows.begin());
  const double floor = block.busbw_GBps(row, block.floor_us(row));
  const char* const name = joins_nodes(block) ? "nccl-all-reduce-bw-nvls" : "nccl-all-reduce-bw";
  return commented("Made by: " + gate_command(result)) +
         fmt::format(
             "# {} on {} nodes, {} ranks: {:.1f} GB/s busbw expected, {:.1f} is the floor.\n"
             "# AICR's validator lets {:.0f} % of a value pass "
             "(validators/performance/nccl_all_reduce_bw_constraint.go),\n"
             "# so the value is the floor over that, rounded down. Merge it into the overlay of "
             "the "
             "machine type.\n"
             "spec:\n"
             "  validation:\n"
             "    performance:\n"
             "      checks:\n"
             "        - {}\n"
             "      constraints:\n"
             "        - name: {}\n"
             "          value: \">= {:.0f}\"\n",
             to_text(largest->size), block.expected.nodes, block.expected.ranks,
             block.busbw_GBps(row, largest->expected_us), floor, 100 * kAicrTolerance, name, name,
             std::floor(floor / kAicrTolerance));
}

std::string inspector_size(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}-{}{}", bytes, bytes + 1, kUnits[unit]);
}

std::string gate_alerts(const GateResult& result) {
  std::string rules;
  for (const GateBlock& block : result.blocks) {
    if (!is_tuned(block.collective)) continue;  // Inspector has no bandwidth of groups of sends
    const bool of_one_rank = block.collective == Collective::all_gather ||
                             block.collective == Collective::reduce_scatter;
    for (std::size_t row = 0; row < block.expected.rows.size(); ++row) {
      const JudgeRow& there = block.expected.rows[row];
      const std::int64_t counted_bytes =
          of_one_rank ? there.size.count / block.expected.ranks : there.size.count;
      const std::string nodes =
          joins_nodes(block) ? "" : fmt::format(",n_nodes=\"{}\"", block.expected.nodes);
      rules += fmt::format(
          "      - alert: NcclBelowFloor\n"
          "        expr: >-\n"
          "          "
          "nccl_bus_bandwidth_gbs{{collective=\"{}\",nranks=\"{}\"{},message_size=\"{}\"}}"
          " < {:.6g}\n"
          "        for: 5m\n"
          "        labels:\n"
          "          severity: warning\n"
          "        annotations:\n"
          "          summary: \"{} of {} on {{{{ $labels.nranks }}}} ranks is below its floor on "
          "{{{{ $labels.node }}}}\"\n"
          "          description: \"{{{{ $value }}}} GB/s busbw; {:.4g} is expected, and {} % of "
          "healthy runs reach {:.4g}\"\n",
          nccl_name(block.collective), block.expected.ranks, nodes, inspector_size(counted_bytes),
          block.busbw_GBps(row, block.floor_us(row)), to_text(block.collective),
          to_text(there.size), block.busbw_GBps(row, there.expected_us),
          per_cent(result.config.healthy_share), block.busbw_GBps(row, block.floor_us(row)));
    }
  }
  if (rules.empty())
    throw Error("NCCL Inspector exports no bandwidth of what is asked for",
                "--collective all_reduce, all_gather, reduce_scatter, broadcast or reduce");
  return commented("Made by: " + gate_command(result)) +
         "# Of NCCL Inspector's Prometheus mode. A label of sizes is a range: the floor is that of "
         "its low end\n"
         "# if that was asked for, and Inspector's own clock is that of kernels, without the "
         "launch.\n"
         "groups:\n"
         "  - name: fabricast-gate\n"
         "    rules:\n" +
         rules;
}

namespace {

JunitSuite suite_of(const JudgedTable& table) {
  const JudgeResult& result = table.result;
  const bool pass = passes(result.verdict);
  const std::string what =
      what_text(result.config.collective, result.nodes, result.config.topology, result.ranks);
  JunitSuite out{table.source, {{what, "verdict"}}};
  if (!pass)
    out.cases.front().failure =
        fmt::format("{}: {} of {} rows are slower than their floor", to_text(result.verdict),
                    result.count(RowVerdict::below), result.rows.size());
  for (const JudgeRow& row : result.rows) {
    JunitCase& one = out.cases.emplace_back();
    one.class_name = what;
    one.name = to_text(row.size);
    one.seconds = row.measured_us / 1e6;
    if (row.verdict != RowVerdict::below) continue;
    const double limit = row.limit_us();
    const std::string message =
        fmt::format("{:.2f} GB/s busbw, the floor is {:.2f}: {:.1f} us, at most {:.1f}",
                    busbw_of(result, row.size, row.measured_us), busbw_of(result, row.size, limit),
                    row.measured_us, limit);
    if (pass) {
      one.said = message + "; one row in ten may be";
    } else {
      one.failure = message;
    }
  }
  return out;
}

}  // namespace

std::string gate_junit(const std::vector<JudgedTable>& tables) {
  std::vector<JunitSuite> suites;
  for (const JudgedTable& table : tables) suites.push_back(suite_of(table));
  return junit_xml(suites);
}

}  // namespace fabricast
