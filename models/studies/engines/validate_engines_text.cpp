#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "models/io/report/columns.hpp"
#include "models/studies/engines/validate_engines.hpp"
#include "models/studies/shared/percentile.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

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

/// Rows of a kind: how far predictions are off, as shipped and by fits without their system.
struct Group {
  std::string launch, by, name;
  std::vector<double> errors, unseen;

  double median() const { return percentile(errors, 0.5); }
  double p90() const { return percentile(errors, 0.9); }
};

std::vector<Group> groups(const ValidateEnginesResult& result) {
  std::vector<Group> out;
  const auto add = [&](const EnginePrediction& one, const EngineRow& row, std::string_view by,
                       std::string name) {
    const std::string launch(launch_text(row.cuda_graph));
    auto at = std::ranges::find_if(out, [&](const Group& group) {
      return group.launch == launch && group.by == by && group.name == name;
    });
    if (at == out.end()) at = out.insert(out.end(), {launch, std::string(by), name, {}, {}});
    at->errors.push_back(EnginePrediction::error(one.time_us, row.time_us));
    if (one.unseen_us) at->unseen.push_back(EnginePrediction::error(*one.unseen_us, row.time_us));
  };
  for (const EnginePrediction& one : result.predictions) {
    const EngineRow& row = result.config.measured.rows[one.row];
    add(one, row, "all", "all");
    add(one, row, "engine", std::string(kEngineWords[row.release.engine]));
    add(one, row, "system", row.system);
    add(one, row, "kernel", std::string(kEngineKernelWords[one.kernel]));
    add(one, row, "size", std::string(size_class(row.size)));
    add(one, row, "engine, system, release",
        fmt::format("{} {} {}", kEngineWords[row.release.engine], row.system, row.version));
  }
  static constexpr std::array<std::string_view, 6> kOrder = {
      "all", "engine", "system", "kernel", "size", "engine, system, release"};
  std::ranges::stable_sort(out, {}, [](const Group& group) {
    return std::tuple(group.launch, std::ranges::find(kOrder, group.by) - kOrder.begin(),
                      group.by == "size" ? std::string() : group.name);
  });
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

std::string validate_engines_text(const ValidateEnginesResult& result) {
  const bool left_out = result.config.leave_out;
  std::string out;
  std::string launch, by;
  for (const Group& group : groups(result)) {
    if (group.launch != launch) {
      launch = group.launch;
      by.clear();
      out += fmt::format(
          "{}Launched by {}: errors in %, of {}\n", out.empty() ? "" : "\n",
          launch == "stream" ? "Python into a stream" : "a CUDA graph",
          left_out ? "the shipped values, and of fits without the system" : "the shipped values");
      out += fmt::format("  {:<38} {:>5} {:>7} {:>7}{}\n", "", "rows", "median", "p90",
                         left_out ? "   median     p90" : "");
    }
    if (group.by != by && group.by != "all") out += fmt::format("by {}\n", group.by);
    by = group.by;
    out += fmt::format("  {:<38} {:>5} {:>7} {:>7}", group.name, group.errors.size(),
                       percent(group.median()), percent(group.p90()));
    if (left_out)
      out += fmt::format("  {:>7} {:>7}", percent(percentile(group.unseen, 0.5)),
                         percent(percentile(group.unseen, 0.9)));
    out += '\n';
  }
  out += fmt::format("{} left to NCCL by their engine: not scored here.\n",
                     counted(result.left_to_nccl, "row"));
  for (const auto& [why, count] : result.left_out)
    out += fmt::format("{} left out: {}\n", counted(count, "row"), why);
  if (!result.fitted.empty()) out += "\nA fit to all rows of CUDA graphs gives:\n";
  for (const auto& [name, value] : result.fitted) out += fmt::format("  {:<24} {}\n", name, value);
  return out;
}

Report validate_engines_report(const ValidateEnginesResult& result) {
  using namespace column;
  Report out;
  out.study = "validate engines";
  const bool left_out = result.config.leave_out;
  std::vector<ReportColumn> columns = {text("launch"),
                                       text("by"),
                                       text("name"),
                                       whole("rows"),
                                       number("median_error", "", ".4f"),
                                       number("p90_error", "", ".4f")};
  std::vector<ReportColumn> row_columns = {
      text("system"), text("engine"), text("release"),   text("launch"), kRanks,
      kSize,          text("kernel"), us("measured_us"), kTime};
  if (left_out) {
    columns.push_back(number("unseen_median_error", "", ".4f"));
    columns.push_back(number("unseen_p90_error", "", ".4f"));
    row_columns.push_back(us("unseen_us"));
  }
  ReportTable scores("scores", std::move(columns)), rows("rows", std::move(row_columns));
  for (const Group& group : groups(result)) {
    std::vector<Json> cells = {group.launch,        group.by,       group.name,
                               group.errors.size(), group.median(), group.p90()};
    if (left_out) {
      cells.push_back(percentile(group.unseen, 0.5));
      cells.push_back(percentile(group.unseen, 0.9));
    }
    scores.add(std::move(cells));
  }
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
  out.tables = {std::move(rows), std::move(scores)};
  out.facts["left_to_nccl"] = result.left_to_nccl;
  for (const auto& [name, value] : result.fitted) out.facts["fitted"][name] = value;
  return out;
}

}  // namespace fabricast
