#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/io/report/columns.hpp"
#include "models/studies/experts/validate_experts.hpp"
#include "models/studies/shared/median.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

std::string range_of(int tokens) {
  return tokens <= 32 ? "1..32" : tokens <= 512 ? "33..512" : "513 and more";
}
double error_of(const ExpertsPoint& point) {
  return std::abs(point.predicted_us - point.measured_us) / point.measured_us;
}
double bias_of(const ExpertsPoint& point) {
  return (point.predicted_us - point.measured_us) / point.measured_us;
}
/// 90 % of the values are at most this.
double percentile_90(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[(values.size() * 9 + 9) / 10 - 1];
}

struct Score {
  std::string by, group;
  std::size_t points = 0;
  double median_error = 0, p90_error = 0, median_bias = 0;
  std::optional<double> left_out_median, left_out_p90;
};

std::vector<Score> scores_of(const ExpertsValidation& validation) {
  using Group = std::string (*)(const ExpertsPoint&);
  struct By {
    std::string_view name;
    Group group;
  };
  constexpr By all[] = {
      {"all", [](const ExpertsPoint&) { return std::string("all"); }},
      {"system", [](const ExpertsPoint& p) { return p.system; }},
      {"kernels", [](const ExpertsPoint& p) { return std::string(kEpModeWords[p.mode]); }},
      {"kernels, nodes",
       [](const ExpertsPoint& p) { return fmt::format("{} {}", kEpModeWords[p.mode], p.nodes); }},
      {"kernels, phase",
       [](const ExpertsPoint& p) {
         return fmt::format("{} {}", kEpModeWords[p.mode],
                            p.notifies_alone ? "prepare" : kEpPhaseWords[p.phase]);
       }},
      {"tokens", [](const ExpertsPoint& p) { return range_of(p.call.tokens); }},
      {"system, kernels, tokens",
       [](const ExpertsPoint& p) {
         return fmt::format("{} {} {}", p.system, kEpModeWords[p.mode], range_of(p.call.tokens));
       }},
  };
  std::vector<Score> out;
  for (const By& by : all) {
    std::map<std::string, std::vector<const ExpertsPoint*>> groups;
    for (const ExpertsPoint& point : validation.points) groups[by.group(point)].push_back(&point);
    for (const auto& [name, points] : groups) {
      std::vector<double> errors, biases, left_out;
      for (const ExpertsPoint* const point : points) {
        errors.push_back(error_of(*point));
        biases.push_back(bias_of(*point));
        if (point->left_out_us)
          left_out.push_back(std::abs(*point->left_out_us / point->measured_us - 1));
      }
      out.push_back({std::string(by.name),
                     name,
                     points.size(),
                     median(errors),
                     percentile_90(errors),
                     median(biases),
                     {},
                     {}});
      if (left_out.empty()) continue;
      out.back().left_out_median = median(left_out);
      out.back().left_out_p90 = percentile_90(left_out);
    }
  }
  return out;
}

bool has_left_out(const ExpertsValidation& validation) {
  return std::ranges::any_of(validation.points,
                             [](const ExpertsPoint& p) { return p.left_out_us.has_value(); });
}

}  // namespace

std::string experts_validation_text(const ExpertsValidation& validation) {
  TextTable table("  ");
  for (const std::size_t column : {2U, 3U, 4U, 5U, 6U, 7U}) table.align_right(column);
  const bool crosses = has_left_out(validation);
  std::vector<std::string> head = {"by",           "group",           "points",
                                   "median error", "90th percentile", "median bias"};
  if (crosses) head.insert(head.end(), {"left out: median", "90th percentile"});
  table.add(head);
  const auto percent = [](std::optional<double> share) {
    return share ? fmt::format("{:.1f} %", 100 * *share) : std::string("-");
  };
  std::string before;
  for (const Score& score : scores_of(validation)) {
    std::vector<std::string> cells = {
        score.by == before ? "" : score.by, score.group,
        fmt::format("{}", score.points),    percent(score.median_error),
        percent(score.p90_error),           fmt::format("{:+.1f} %", 100 * score.median_bias)};
    if (crosses)
      cells.insert(cells.end(), {percent(score.left_out_median), percent(score.left_out_p90)});
    table.add(cells);
    before = score.by;
  }
  std::string out =
      "measured dispatch and combine beside predictions; error = |predicted - "
      "measured| / measured\n\n" +
      table.text();
  if (validation.rows_left_out > 0) {
    out += fmt::format("\n{} rows left out:", validation.rows_left_out);
    for (const std::string& why : validation.left_out) out += "\n  " + why;
    out += "\n";
  }
  return out;
}

Report experts_validation_report(const ExpertsValidation& validation) {
  using namespace column;
  Report out;
  out.study = "validate experts";
  ReportTable rows("rows", {text("system"), kTopology, text("ep_mode"), text("phase"), kNodes,
                            kRanks, whole("tokens"), whole("hidden"), whole("top_k"),
                            whole("experts"), whole("sms"), us("measured_us"), us("predicted_us"),
                            number("error", {}, ".4f"), us("left_out_us")});
  for (const ExpertsPoint& p : validation.points)
    rows.add({p.system, p.topology, kEpModeWords[p.mode],
              p.notifies_alone ? "prepare" : std::string(kEpPhaseWords[p.phase]), p.nodes,
              p.nodes * p.gpus_per_node, p.call.tokens, p.call.hidden, p.call.choice.top_k,
              p.call.choice.experts, takes_sms(p.mode) ? Json(p.call.sms) : Json(), p.measured_us,
              p.predicted_us, error_of(p), p.left_out_us ? Json(*p.left_out_us) : Json()});
  ReportTable scores(
      "scores",
      {text("by"), text("group"), whole("points"), number("median_error", {}, ".4f"),
       number("p90_error", {}, ".4f"), number("median_bias", {}, ".4f"),
       number("left_out_median_error", {}, ".4f"), number("left_out_p90_error", {}, ".4f")});
  for (const Score& score : scores_of(validation))
    scores.add({score.by, score.group, score.points, score.median_error, score.p90_error,
                score.median_bias, score.left_out_median ? Json(*score.left_out_median) : Json(),
                score.left_out_p90 ? Json(*score.left_out_p90) : Json()});
  out.tables = {std::move(rows), std::move(scores)};
  out.notes = validation.left_out;
  return out;
}

}  // namespace fabricast
