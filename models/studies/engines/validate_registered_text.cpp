#include <fmt/format.h>

#include "models/io/report/columns.hpp"
#include "models/studies/engines/validate_registered.hpp"
#include "models/studies/errors/error_groups.hpp"

namespace fabricast {
namespace {

std::string_view kernel_size_class(Bytes size) {
  if (size.count <= 16 << 10) return "to 16 KiB";
  return size.count <= 1 << 20 ? "to 1 MiB" : "above";
}

ErrorGroups kernel_groups(const ValidateRegisteredResult& result) {
  ErrorGroups out(std::vector<Unseen>{{"topology"}}, result.config.leave_out);
  for (const RegisteredPrediction& one : result.predictions) {
    const RegisteredRow& row = result.config.measured[one.row];
    const auto add = [&](std::string_view by, std::string name) {
      out.add("", by, std::move(name), {row.time_us, one.time_us, {one.unseen_us}});
    };
    add("all", "all");
    add("topology", row.topology);
    add("GPUs", fmt::format("{}", row.gpus));
    add("kernel", std::string(kSymmetricKernelWords[row.kernel]));
    add("size", std::string(kernel_size_class(row.size)));
    add("topology, GPUs", fmt::format("{} {}", row.topology, row.gpus));
  }
  return out;
}

}  // namespace

std::string validate_registered_text(const ValidateRegisteredResult& result) {
  return kernel_groups(result).text([](std::string_view) { return "NCCL's symmetric kernels"; }) +
         below_scores({}, result.fitted);
}

Report validate_registered_report(const ValidateRegisteredResult& result) {
  using namespace column;
  Report out;
  out.study = "validate registered";
  const bool left_out = result.config.leave_out;
  std::vector<ReportColumn> columns = {text("kernel"),  text("topology"),  kRanks, kSize,
                                       whole("blocks"), us("measured_us"), kTime};
  if (left_out) columns.push_back(us("unseen_us"));
  ReportTable rows("rows", std::move(columns));
  for (const RegisteredPrediction& one : result.predictions) {
    const RegisteredRow& row = result.config.measured[one.row];
    std::vector<Json> cells = {kSymmetricKernelWords[row.kernel],
                               row.topology,
                               row.gpus,
                               row.size.count,
                               one.blocks,
                               row.time_us,
                               one.time_us};
    if (left_out) cells.push_back(one.unseen_us ? Json(*one.unseen_us) : Json());
    rows.add(std::move(cells));
  }
  out.tables = {std::move(rows), kernel_groups(result).scores()};
  for (const auto& [name, value] : result.fitted) out.facts["fitted"][name] = value;
  return out;
}

}  // namespace fabricast
