#include <fmt/format.h>

#include <utility>
#include <vector>

#include "models/io/report/columns.hpp"
#include "models/studies/errors/error_groups.hpp"
#include "models/studies/kernels/validate_kernels.hpp"
#include "text/counted.hpp"

namespace fabricast {
namespace {

ErrorGroups groups(const ValidateKernelsResult& result) {
  ErrorGroups out(
      std::vector<Unseen>{{"shape", "unseen_shape_median_error", "unseen_shape_p90_error"},
                          {"GPU", "unseen_gpu_median_error", "unseen_gpu_p90_error"}},
      result.config.leave_out);
  for (const KernelPrediction& one : result.predictions) {
    const KernelRow& row = result.config.measured.rows[one.row];
    const bool skinny = row.name.family == KernelFamily::skinny;
    const KernelFamily family = skinny ? KernelFamily::gemm : row.name.family;
    const auto add = [&](std::string_view by, std::string name) {
      out.add(kKernelFamilyWords[family], by, std::move(name),
              {row.time_us, one.time_us, {one.shape_us, one.gpu_us}});
    };
    add("all", "all");
    add("dtype", row.name.dtype);
    add("GPU", row.gpu.name);
    add("library", row.name.library);
    if (family == KernelFamily::gemm)
      add("rows of inputs", fmt::format("{} {:.0f}", skinny ? "up to" : "above", kSkinnyRows));
  }
  return out;
}

}  // namespace

std::string validate_kernels_text(const ValidateKernelsResult& result) {
  std::string out =
      groups(result).text([](std::string_view family) { return std::string(family); });
  int relatives = 0;
  for (const KernelPrediction& one : result.predictions) relatives += one.measured ? 0 : 1;
  if (relatives > 0)
    out += fmt::format("{} predicted from relatives: their own kernel is not in the catalogue.\n",
                       counted(relatives, "row"));
  out += below_scores(result.left_out, {});
  if (!result.fitted.empty())
    out += fmt::format("\nA fit to all rows, as workloads/kernels.yaml has it:\n{}", result.fitted);
  return out;
}

Report validate_kernels_report(const ValidateKernelsResult& result) {
  using namespace column;
  Report out;
  out.study = "validate kernels";
  const bool left_out = result.config.leave_out;
  std::vector<ReportColumn> row_columns = {whole("line"),     text("family"), text("gpu"),
                                           text("library"),   text("kernel"), text("dtype"),
                                           us("measured_us"), kTime};
  if (left_out) {
    row_columns.push_back(us("unseen_shape_us"));
    row_columns.push_back(us("unseen_gpu_us"));
  }
  ReportTable rows("rows", std::move(row_columns));
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
  out.tables = {std::move(rows), groups(result).scores("family")};
  if (!result.fitted.empty()) out.facts["fitted"] = result.fitted;
  return out;
}

}  // namespace fabricast
