#include <fmt/format.h>

#include <utility>

#include "models/io/report/columns.hpp"
#include "models/studies/errors/error_groups.hpp"
#include "models/studies/experts/validate_experts.hpp"

namespace fabricast {
namespace {

std::string range_of(int tokens) {
  return tokens <= 32 ? "1..32" : tokens <= 512 ? "33..512" : "513 and more";
}

ErrorGroups groups(const ExpertsValidation& validation) {
  ErrorGroups out(std::vector<Unseen>{{"system"}}, validation.cross_validated);
  for (const ExpertsPoint& p : validation.points) {
    const auto add = [&](std::string_view by, std::string name) {
      out.add("", by, std::move(name), {p.measured_us, p.predicted_us, {p.unseen_us}});
    };
    const std::string_view mode = kEpModeWords[p.mode];
    add("all", "all");
    add("system", p.system);
    add("kernels", std::string(mode));
    add("kernels, nodes", fmt::format("{} {}", mode, p.nodes));
    add("kernels, phase",
        fmt::format("{} {}", mode, p.notifies_alone ? "prepare" : kEpPhaseWords[p.phase]));
    add("tokens", range_of(p.call.tokens));
    add("system, kernels, tokens",
        fmt::format("{} {} {}", p.system, mode, range_of(p.call.tokens)));
  }
  return out;
}

}  // namespace

std::string experts_validation_text(const ExpertsValidation& validation) {
  std::string out =
      groups(validation).text([](std::string_view) { return "Dispatch and combine"; });
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
  ReportTable rows(
      "rows", {text("system"), kTopology, text("ep_mode"), text("phase"), kNodes, kRanks,
               whole("tokens"), whole("hidden"), whole("top_k"), whole("experts"), whole("sms"),
               us("measured_us"), us("predicted_us"), number("error", {}, ".4f"), us("unseen_us")});
  for (const ExpertsPoint& p : validation.points)
    rows.add({p.system, p.topology, kEpModeWords[p.mode],
              p.notifies_alone ? "prepare" : std::string(kEpPhaseWords[p.phase]), p.nodes,
              p.nodes * p.gpus_per_node, p.call.tokens, p.call.hidden, p.call.choice.top_k,
              p.call.choice.experts, takes_sms(p.mode) ? Json(p.call.sms) : Json(), p.measured_us,
              p.predicted_us, error_of(p.predicted_us, p.measured_us),
              p.unseen_us ? Json(*p.unseen_us) : Json()});
  out.tables = {std::move(rows), groups(validation).scores()};
  out.notes = validation.left_out;
  return out;
}

}  // namespace fabricast
