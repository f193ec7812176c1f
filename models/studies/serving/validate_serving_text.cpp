#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/io/report/columns.hpp"
#include "models/studies/serving/validate_serving.hpp"
#include "models/studies/shared/percentile.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

constexpr std::array<std::string_view, 3> kFigures = {"TTFT", "TPOT", "output tokens/s"};

double error(double predicted, double measured) {
  return std::abs(predicted - measured) / measured;
}

/// Errors of a figure of rows of a kind; bias is the median of predicted over measured.
struct Scores {
  std::string by, name, figure;
  std::vector<double> errors, ratios, unseen;
};

void add_row(std::vector<Scores>& out, std::string_view by, const std::string& name,
             const ServingPrediction& one, const ServingRow& row) {
  const auto add = [&](std::size_t figure, double ServingFigures::*member,
                       const std::optional<double>& measured) {
    if (!measured) return;
    const auto is_it = [&](const Scores& s) {
      return s.by == by && s.name == name && s.figure == kFigures[figure];
    };
    auto at = std::ranges::find_if(out, is_it);
    if (at == out.end())
      at =
          out.insert(out.end(), {std::string(by), name, std::string(kFigures[figure]), {}, {}, {}});
    at->errors.push_back(error(one.shipped.*member, *measured));
    at->ratios.push_back(one.shipped.*member / *measured);
    if (one.unseen) at->unseen.push_back(error((*one.unseen).*member, *measured));
  };
  add(0, &ServingFigures::first_token, row.first_token);
  add(1, &ServingFigures::token, row.token);
  add(2, &ServingFigures::output_per_s, row.output_per_s);
}

std::vector<Scores> scores_of(const ServingValidation& result) {
  static constexpr std::array<std::string_view, 6> kOrder = {"all",    "mode",   "model",
                                                             "system", "engine", "precision"};
  std::vector<Scores> out;
  for (const ServingPrediction& one : result.predictions) {
    const ServingRow& row = result.measured.rows[one.row];
    add_row(out, "all", "all", one, row);
    add_row(out, "mode", row.mode, one, row);
    add_row(out, "model", row.config.site.model.name, one, row);
    add_row(out, "system", row.system, one, row);
    add_row(out, "engine", row.framework, one, row);
    add_row(out, "precision", std::string(to_text(row.config.site.layout.precision)), one, row);
  }
  std::ranges::stable_sort(out, {}, [](const Scores& one) {
    return std::tuple(std::ranges::find(kOrder, one.by) - kOrder.begin(), one.name);
  });
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

std::string validate_serving_text(const ServingValidation& result) {
  const bool left_out = std::ranges::any_of(
      result.predictions, [](const ServingPrediction& one) { return one.unseen.has_value(); });
  TextTable table;
  std::vector<std::string> head = {
      "by", "", "figure", "rows", "median %", "p90 %", "predicted/measured"};
  if (left_out) head.insert(head.end(), {"model unseen: median %", "p90 %"});
  for (std::size_t column = 3; column < head.size(); ++column) table.align_right(column);
  table.add(head);
  for (const Scores& one : scores_of(result)) {
    std::vector<std::string> cells = {one.by,
                                      one.name,
                                      one.figure,
                                      fmt::format("{}", one.errors.size()),
                                      percent(percentile(one.errors, 0.5)),
                                      percent(percentile(one.errors, 0.9)),
                                      fmt::format("{:.2f}", percentile(one.ratios, 0.5))};
    if (left_out) {
      cells.push_back(percent(percentile(one.unseen, 0.5)));
      cells.push_back(percent(percentile(one.unseen, 0.9)));
    }
    table.add(std::move(cells));
  }
  std::string out = table.text();
  for (const auto& [why, count] : result.left_out)
    out += fmt::format("{} left out: {}\n", counted(count, "row"), why);
  if (!result.fitted.empty()) out += "\nA fit to all rows gives:\n";
  for (const auto& [name, value] : result.fitted) out += fmt::format("  {:<32} {}\n", name, value);
  return out;
}

Report validate_serving_report(const ServingValidation& result) {
  using namespace column;
  Report out;
  out.study = "validate serving";
  ReportTable scores(
      "scores",
      {text("by"), text("name"), text("figure"), whole("rows"), number("median_error", "", ".4f"),
       number("p90_error", "", ".4f"), number("median_ratio", "", ".4f"),
       number("unseen_median_error", "", ".4f"), number("unseen_p90_error", "", ".4f")});
  for (const Scores& one : scores_of(result)) {
    const bool unseen = !one.unseen.empty();
    scores.add({one.by, one.name, one.figure, one.errors.size(), percentile(one.errors, 0.5),
                percentile(one.errors, 0.9), percentile(one.ratios, 0.5),
                unseen ? Json(percentile(one.unseen, 0.5)) : Json(),
                unseen ? Json(percentile(one.unseen, 0.9)) : Json()});
  }
  ReportTable rows("rows", {text("id"),
                            text("model"),
                            text("system"),
                            text("engine"),
                            text("precision"),
                            text("mode"),
                            whole("tp"),
                            whole("ep"),
                            whole("dp"),
                            whole("prompt"),
                            whole("output"),
                            whole("concurrency"),
                            s("measured_ttft_s"),
                            s("ttft_s"),
                            s("measured_tpot_s"),
                            s("tpot_s"),
                            number("measured_output_tokens_per_s"),
                            number("output_tokens_per_s"),
                            s("unseen_ttft_s"),
                            s("unseen_tpot_s"),
                            s("gemm_s"),
                            s("attention_s"),
                            s("elementwise_s"),
                            s("tp_s"),
                            s("ep_s"),
                            s("host_s")});
  for (const ServingPrediction& one : result.predictions) {
    const ServingRow& row = result.measured.rows[one.row];
    const ServeConfig& c = row.config;
    const ServeTime& t = one.decode;
    rows.add({row.id,
              c.site.model.name,
              row.system,
              row.framework,
              to_text(c.site.layout.precision),
              row.mode,
              c.tensor,
              c.expert,
              c.copies(),
              c.prompt,
              c.output,
              c.load->concurrency,
              or_null(row.first_token),
              one.shipped.first_token,
              or_null(row.token),
              one.shipped.token,
              or_null(row.output_per_s),
              one.shipped.output_per_s,
              one.unseen ? Json(one.unseen->first_token) : Json(),
              one.unseen ? Json(one.unseen->token) : Json(),
              t.gemm,
              t.attention,
              t.elementwise,
              t.tensor,
              t.expert,
              t.host});
  }
  ReportTable left("left_out", {text("why"), whole("rows")});
  for (const auto& [why, count] : result.left_out) left.add({why, count});
  ReportTable fitted("fitted", {text("figure"), text("value")});
  for (const auto& [name, value] : result.fitted) fitted.add({name, value});
  out.tables = {std::move(scores), std::move(rows), std::move(left), std::move(fitted)};
  return out;
}

}  // namespace fabricast
