#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "models/io/report/columns.hpp"
#include "models/studies/kernels/validate_kernels.hpp"
#include "models/studies/shared/percentile.hpp"
#include "text/counted.hpp"

namespace fabricast {
namespace {

/// Errors of one way to predict.
struct Errors {
  std::vector<double> all;
  void add(double predicted, double measured) {
    all.push_back(std::abs(predicted - measured) / measured);
  }
  double median() const { return percentile(all, 0.5); }
  double p90() const { return percentile(all, 0.9); }
};

/// Rows of a kind, as shipped and by fits without their shape or GPU.
struct Group {
  std::string family, by, name;
  Errors shipped, shapes, gpus;
};

constexpr std::array<std::string_view, 4> kOrder = {"all", "dtype", "GPU", "library"};

std::vector<Group> groups(const ValidateKernelsResult& result) {
  std::map<std::tuple<std::string, std::size_t, std::string>, Group> by_key;
  for (const KernelPrediction& one : result.predictions) {
    const KernelRow& row = result.config.measured.rows[one.row];
    const std::string family(kKernelFamilyWords[row.name.family]);
    const std::array<std::string, 4> names = {"all", row.name.dtype, row.gpu.name,
                                              row.name.library};
    for (std::size_t by = 0; by < names.size(); ++by) {
      Group& group = by_key[{family, by, names[by]}];
      group.family = family, group.by = kOrder[by], group.name = names[by];
      group.shipped.add(one.time_us, row.time_us);
      if (one.shape_us) group.shapes.add(*one.shape_us, row.time_us);
      if (one.gpu_us) group.gpus.add(*one.gpu_us, row.time_us);
    }
  }
  std::vector<Group> out;
  for (auto& [key, group] : by_key) out.push_back(std::move(group));
  return out;
}

std::string cell(const Errors& errors, double value) {
  return errors.all.empty() ? "-" : fmt::format("{:.1f}", 100 * value);
}

std::string cells(const Errors& errors) {
  return fmt::format(" {:>8} {:>6}", cell(errors, errors.median()), cell(errors, errors.p90()));
}

}  // namespace

std::string validate_kernels_text(const ValidateKernelsResult& result) {
  const bool left_out = result.config.leave_out;
  std::string out, family, by;
  for (const Group& group : groups(result)) {
    if (group.family != family) {
      out += fmt::format("{}{}: errors in %\n  {:<28} {:>6}  as shipped    {}\n",
                         out.empty() ? "" : "\n", group.family, "", "rows",
                         left_out ? "without shape  without GPU" : "");
      while (out.ends_with(" \n")) out.erase(out.size() - 2, 1);
      out += fmt::format("  {:<28} {:>6}   median    p90{}\n", "", "",
                         left_out ? "   median    p90   median    p90" : "");
    }
    if ((group.by != by || group.family != family) && group.by != "all")
      out += fmt::format("by {}\n", group.by);
    family = group.family, by = group.by;
    out +=
        fmt::format("  {:<28} {:>6}{}", group.name, group.shipped.all.size(), cells(group.shipped));
    if (left_out) out += cells(group.shapes) + cells(group.gpus);
    out += '\n';
  }
  int relatives = 0;
  for (const KernelPrediction& one : result.predictions) relatives += one.measured ? 0 : 1;
  if (relatives > 0)
    out += fmt::format("{} predicted from relatives: their own kernel is not in the catalogue.\n",
                       counted(relatives, "row"));
  for (const auto& [why, count] : result.left_out)
    out += fmt::format("{} left out: {}\n", counted(count, "row"), why);
  if (!result.fitted.empty())
    out += fmt::format("\nA fit to all rows, as workloads/kernels.yaml has it:\n{}", result.fitted);
  return out;
}

Report validate_kernels_report(const ValidateKernelsResult& result) {
  using namespace column;
  Report out;
  out.study = "validate kernels";
  const bool left_out = result.config.leave_out;
  std::vector<ReportColumn> columns = {text("family"),
                                       text("by"),
                                       text("name"),
                                       whole("rows"),
                                       number("median_error", "", ".4f"),
                                       number("p90_error", "", ".4f")};
  std::vector<ReportColumn> row_columns = {whole("line"),     text("family"), text("gpu"),
                                           text("library"),   text("kernel"), text("dtype"),
                                           us("measured_us"), kTime};
  if (left_out) {
    for (const char* name :
         {"shape_median_error", "shape_p90_error", "gpu_median_error", "gpu_p90_error"})
      columns.push_back(number(name, "", ".4f"));
    row_columns.push_back(us("unseen_shape_us"));
    row_columns.push_back(us("unseen_gpu_us"));
  }
  ReportTable scores("scores", std::move(columns)), rows("rows", std::move(row_columns));
  for (const Group& group : groups(result)) {
    std::vector<Json> cells = {
        group.family,           group.by,           group.name, group.shipped.all.size(),
        group.shipped.median(), group.shipped.p90()};
    if (left_out) {
      for (const Errors* errors : {&group.shapes, &group.gpus}) {
        cells.push_back(errors->all.empty() ? Json() : Json(errors->median()));
        cells.push_back(errors->all.empty() ? Json() : Json(errors->p90()));
      }
    }
    scores.add(std::move(cells));
  }
  const auto optional = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  for (const KernelPrediction& one : result.predictions) {
    const KernelRow& row = result.config.measured.rows[one.row];
    std::vector<Json> cells = {row.place.line,  kKernelFamilyWords[row.name.family],
                               row.gpu.name,    row.name.library,
                               row.name.kernel, row.name.dtype,
                               row.time_us,     one.time_us};
    if (left_out) {
      cells.push_back(optional(one.shape_us));
      cells.push_back(optional(one.gpu_us));
    }
    rows.add(std::move(cells));
  }
  out.tables = {std::move(rows), std::move(scores)};
  if (!result.fitted.empty()) out.facts["fitted"] = result.fitted;
  return out;
}

}  // namespace fabricast
