#include <fmt/format.h>

#include <optional>

#include "models/io/report/columns.hpp"
#include "models/studies/errors/error_groups.hpp"
#include "models/studies/serving/validate_serving.hpp"

namespace fabricast {
namespace {

void add_row(ErrorGroups& out, std::string_view by, const std::string& name,
             const ServingPrediction& one, const ServingRow& row) {
  const auto add = [&](std::string_view figure, double ServingFigures::*member,
                       const std::optional<double>& measured) {
    if (!measured) return;
    std::optional<double> unseen;
    if (one.unseen) unseen = (*one.unseen).*member;
    out.add(figure, by, name, {*measured, one.shipped.*member, {unseen}});
  };
  add("TTFT", &ServingFigures::first_token, row.first_token);
  add("TPOT", &ServingFigures::token, row.token);
  add("output tokens/s", &ServingFigures::output_per_s, row.output_per_s);
}

ErrorGroups groups(const ServingValidation& result) {
  ErrorGroups out(std::vector<Unseen>{{"model"}}, result.cross_validated);
  for (const ServingPrediction& one : result.predictions) {
    const ServingRow& row = result.measured.rows[one.row];
    add_row(out, "all", "all", one, row);
    add_row(out, "mode", row.mode, one, row);
    add_row(out, "model", row.config.site.model.name, one, row);
    add_row(out, "system", row.system, one, row);
    add_row(out, "engine", row.framework, one, row);
    add_row(out, "build", row.build, one, row);
    add_row(out, "precision", std::string(to_text(row.config.site.layout.precision)), one, row);
  }
  return out;
}

std::vector<ReportColumn> row_columns() {
  using namespace column;
  return {text("id"),
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
          number("unseen_output_tokens_per_s"),
          s("gemm_s"),
          s("attention_s"),
          s("elementwise_s"),
          s("tp_s"),
          s("ep_s"),
          s("host_s")};
}

std::vector<Json> row_cells(const ServingPrediction& one, const ServingRow& row) {
  const ServeConfig& c = row.config;
  const ServeTime& t = one.decode;
  return {row.id,
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
          one.unseen ? Json(one.unseen->output_per_s) : Json(),
          t.gemm,
          t.attention,
          t.elementwise,
          t.tensor,
          t.expert,
          t.host};
}

}  // namespace

std::string validate_serving_text(const ServingValidation& result) {
  return groups(result).text([](std::string_view figure) { return std::string(figure); }) +
         below_scores(result.left_out, result.fitted);
}

Report validate_serving_report(const ServingValidation& result) {
  using namespace column;
  Report out;
  out.study = "validate serving";
  ReportTable rows("rows", row_columns());
  for (const ServingPrediction& one : result.predictions)
    rows.add(row_cells(one, result.measured.rows[one.row]));
  ReportTable left("left_out", {text("why"), whole("rows")});
  for (const auto& [why, count] : result.left_out) left.add({why, count});
  ReportTable fitted("fitted", {text("figure"), text("value")});
  for (const auto& [name, value] : result.fitted) fitted.add({name, value});
  out.tables = {groups(result).scores("figure"), std::move(rows), std::move(left),
                std::move(fitted)};
  return out;
}

}  // namespace fabricast
