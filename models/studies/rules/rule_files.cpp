#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/io/formats/text_file.hpp"
#include "models/io/imports/import_file.hpp"
#include "models/io/imports/nccl_tests_log.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/lint/lint.hpp"
#include "models/studies/hang/hang.hpp"
#include "models/studies/hang/read_call_trace.hpp"
#include "models/studies/judge/judge_log.hpp"
#include "models/studies/rules/rule_answers.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/site.hpp"
#include "text/words.hpp"

namespace fabricast::rule_answers {

namespace {

std::string text_of(const RuleCheck& check) {
  if (!check.text.empty()) return check.text;
  return read_text_file(check.file, "a path is relative to the folder of the rules");
}

/// For messages.
std::string file_of(const RuleCheck& check) {
  return check.text.empty() ? check.file : check.place.file + " (text)";
}

Cluster cluster_of(const RuleCheck& check, const PartsCatalogue& parts) {
  const BenchConfig& c = check.config;
  return load_cluster(c, c.nodes.empty() ? 0 : c.nodes.front(), parts);
}

std::string waits(const HangResult& result) {
  if (!result.hangs()) return "completes";
  std::string out = "hangs";
  if (!result.mismatches.empty()) out += ", calls that do not fit";
  if (!result.cycle.empty()) out += ", a cycle";
  const auto said =
      std::ranges::find_if(result.ended, [](const EndedRank& e) { return !e.why.empty(); });
  if (said != result.ended.end()) {
    out += fmt::format(", rank {} ended ({})", said->rank, said->why);
  } else if (!result.ended.empty()) {
    out += fmt::format(", rank {} never comes", result.ended.front().rank);
  }
  return out;
}

}  // namespace

CheckOutcome lint_findings(const RuleCheck& check, const PartsCatalogue& parts) {
  LintInput input;
  if (!check.file.empty()) input.files.push_back(read_env_file(check.file));
  for (const auto& [name, value] : check.config.environment.variables())
    input.files.push_back(env_option(name + "=" + value));
  input.version = check.config.version;
  input.sharp = check.config.sharp;
  const Cluster cluster = cluster_of(check, parts);
  input.cluster = &cluster;
  input.description = load_description(check.config.topology, parts);
  const LintResult result = lint(input, load_variables());
  std::string found;
  for (const Finding& finding : result.findings) {
    const std::string one = fmt::format("{} {}", finding.rule, lint_rule(finding.rule).name);
    if (found.find(one) == std::string::npos) found += (found.empty() ? "" : ", ") + one;
  }
  return only(point_of(check, found.empty() ? "none" : found));
}

CheckOutcome default_of(const RuleCheck& check) {
  const VariableCatalogue catalogue = load_variables();
  const Variable* variable = catalogue.find(check.name);
  if (variable == nullptr)
    throw Error(check.place, fmt::format("nobody reads {}", check.name),
                "nearest: " + catalogue.nearest_read(check.name));
  const std::string nothing =
      variable->reader == VariableReader::nobody
          ? "read by nobody"
          : fmt::format("automatic{}",
                        variable->default_text.empty() || variable->default_text == "automatic"
                            ? ""
                            : " (" + variable->default_text + ")");
  return only(point_of(check, variable->default_in(check.config.version).value_or(nothing)));
}

CheckOutcome imported(const RuleCheck& check) {
  const ImportedFile read = import_text(text_of(check), file_of(check));
  CheckOutcome out;
  for (const auto& [key, claim] : check.finds) {
    std::string found = key == "kind" ? read.kind : read.value(key);
    if (key == "note") {
      for (const std::string& remark : read.remarks) found += (found.empty() ? "" : "; ") + remark;
    }
    if (found.empty()) found = "nothing";
    const bool holds = claim.holds(found);
    out.points.push_back({{}, key, claim.text, std::move(found), {}, holds});
  }
  return out;
}

CheckOutcome hang(const RuleCheck& check) {
  return only(point_of(check, waits(find_hang(parse_call_trace(text_of(check), file_of(check))))));
}

CheckOutcome judged(const RuleCheck& check, const PartsCatalogue& parts) {
  const NcclTestsLog log = parse_nccl_tests(text_of(check), file_of(check));
  const BandTable bands = load_bands(check.config.parts);
  CheckOutcome out;
  for (const NcclTestsTable& table : log.tables) {
    if (judged_rows(table).empty()) continue;
    JudgeRequest request{check.config.topology,
                         check.config.fabric,
                         check.config.nodes.empty() ? 0 : check.config.nodes.front(),
                         check.config.gpus_per_node,
                         check.config.sharp,
                         {}};
    // The rule's collective counts where the rows leave it open.
    if (!table.collective && possible_runs(table).size() != 1)
      request.collective = check.config.collectives.front();
    JudgeConfig config = judge_config(table, file_of(check), request, parts);
    config.version = check.config.version;
    config.release_said = true;
    config.environment = check.config.environment;
    config.network = log.network;
    const JudgeResult result = judge_rows(config, expect_rows(config, parts, bands, in_turn));
    std::string found(to_text(result.verdict));
    if (result.verdict == JudgeVerdict::explained && !result.ranking.empty()) {
      for (const FitOfPrediction& fit : result.ranking.front().fits)
        found += ", " + result.causes[fit.which].cause.name;
    }
    out.points.push_back(point_of(check, found));
    out.points.back().at = to_text(config.collective);
  }
  if (out.points.empty()) out.not_simulated = "no row of nccl-tests is in the file";
  return out;
}

CheckOutcome part_figure(const RuleCheck& check, const PartsCatalogue& parts) {
  const Cluster cluster = cluster_of(check, parts);
  const NodeGraph& node = cluster.node();
  if (check.figure.word == "nvlink") {
    const GpuPart& gpu = node.gpus().front().part;
    if (gpu.nvlink_links == 0) throw Error(fmt::format("{} has no NVLink", gpu.name));
    // Both directions, as data sheets count.
    return only(point_of(
        check, 2e-9 * gpu.nvlink_links * static_cast<double>(gpu.nvlink_per_link.bytes_per_s), {},
        gpu.name));
  }
  if (node.nics().empty()) throw Error("the node has no NIC");
  const NicInfo& nic = node.nics().front();
  return only(
      point_of(check, static_cast<double>(nic.speed.bytes_per_s) * 1e-9, {}, nic.part.name));
}

CheckOutcome price(const RuleCheck& check) {
  const Prices prices = load_prices();
  const auto known = prices.gpus.find(check.name);
  if (known == prices.gpus.end()) {
    std::vector<std::string> names;
    for (const auto& [name, usd] : prices.gpus) names.push_back(name);
    throw Error(check.place, fmt::format("no price is known of \"{}\"", check.name),
                hint_nearest(check.name, names));
  }
  return only(point_of(check, known->second.value, {}, prices.as_of));
}

CheckOutcome retry(const RuleCheck& check) {
  std::vector<std::string> warnings;
  const Retry found = ib_retry(check.config.environment, check.config.version, warnings);
  const Duration time = check.figure.word == "timeout" ? found.timeout : found.patience();
  return only(point_of(check, microseconds_of(time), {}, fmt::format("{} retries", found.count)));
}

}  // namespace fabricast::rule_answers
