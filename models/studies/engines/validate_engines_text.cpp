#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "models/io/report/columns.hpp"
#include "models/studies/engines/validate_engines.hpp"
#include "models/studies/errors/error_groups.hpp"
#include "text/counted.hpp"

namespace fabricast {
namespace {

struct SizeClass {
  std::string_view name;
  std::int64_t below;
};
constexpr std::array<SizeClass, 3> kSizes = {
    {{"to 32 KiB", 64 << 10}, {"64 KiB to 512 KiB", 1 << 20}, {"from 1 MiB", INT64_MAX}}};

std::string_view size_class(Bytes size) {
  return std::ranges::find_if(kSizes, [&](const SizeClass& one) { return size.count < one.below; })
      ->name;
}

std::string_view launch_text(bool cuda_graph) { return cuda_graph ? "CUDA graph" : "stream"; }

ErrorGroups groups(const ValidateEnginesResult& result) {
  ErrorGroups out(std::vector<Unseen>{{"system"}}, result.config.leave_out);
  for (const EnginePrediction& one : result.predictions) {
    const EngineRow& row = result.config.measured.rows[one.row];
    const auto add = [&](std::string_view by, std::string name) {
      out.add(launch_text(row.cuda_graph), by, std::move(name),
              {row.time_us, one.time_us, {one.unseen_us}});
    };
    add("all", "all");
    add("engine", std::string(kEngineWords[row.release.engine]));
    add("system", row.system);
    add("kernel", std::string(kEngineKernelWords[one.kernel]));
    add("size", std::string(size_class(row.size)));
    add("engine, system, release",
        fmt::format("{} {} {}", kEngineWords[row.release.engine], row.system, row.version));
  }
  return out;
}

}  // namespace

std::string validate_engines_text(const ValidateEnginesResult& result) {
  std::string out = groups(result).text([](std::string_view launch) {
    return launch == "stream" ? "Launched by Python into a stream" : "Launched by a CUDA graph";
  });
  out += fmt::format("{} left to NCCL by their engine: not scored here.\n",
                     counted(result.left_to_nccl, "row"));
  return out + below_scores(result.left_out, result.fitted, "all rows of CUDA graphs");
}

Report validate_engines_report(const ValidateEnginesResult& result) {
  using namespace column;
  Report out;
  out.study = "validate engines";
  const bool left_out = result.config.leave_out;
  std::vector<ReportColumn> row_columns = {
      text("system"), text("engine"), text("release"),   text("launch"), kRanks,
      kSize,          text("kernel"), us("measured_us"), kTime};
  if (left_out) row_columns.push_back(us("unseen_us"));
  ReportTable rows("rows", std::move(row_columns));
  for (const EnginePrediction& one : result.predictions) {
    const EngineRow& row = result.config.measured.rows[one.row];
    std::vector<Json> cells = {row.system,
                               kEngineWords[row.release.engine],
                               row.version,
                               launch_text(row.cuda_graph),
                               row.gpus,
                               row.size.count,
                               kEngineKernelWords[one.kernel],
                               row.time_us,
                               one.time_us};
    if (left_out) cells.push_back(one.unseen_us ? Json(*one.unseen_us) : Json());
    rows.add(std::move(cells));
  }
  out.tables = {std::move(rows), groups(result).scores("launch")};
  out.facts["left_to_nccl"] = result.left_to_nccl;
  for (const auto& [name, value] : result.fitted) out.facts["fitted"][name] = value;
  return out;
}

}  // namespace fabricast
