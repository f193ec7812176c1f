#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>

#include "models/studies/shared/quantile.hpp"
#include "models/studies/training/plan.hpp"
#include "models/studies/training/validate_steps.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

using Rows = std::vector<const StepPrediction*>;
using Key = std::function<std::string(const StepPrediction&)>;

double error(const StepPrediction& row) { return row.predicted / row.measured - 1; }
double left_out_error(const StepPrediction& row) { return row.left_out / row.measured - 1; }
using ErrorOf = double (*)(const StepPrediction&);

std::string errors(const char* title, const Rows& rows, const Key& key, ErrorOf error_of = error) {
  std::map<std::string, Rows> groups;
  for (const StepPrediction* row : rows) groups[key(*row)].push_back(row);
  if (rows.size() > 1) groups["all"] = rows;
  TextTable table;
  table.add({title, "steps", "median error", "90th percentile", "bias"});
  for (std::size_t column = 1; column < 5; ++column) table.align_right(column);
  for (const auto& [name, members] : groups) {
    std::vector<double> signs, sizes;
    for (const StepPrediction* row : members) {
      signs.push_back(error_of(*row));
      sizes.push_back(std::abs(error_of(*row)));
    }
    table.add({name, fmt::format("{}", members.size()),
               fmt::format("{:.1f} %", 100 * quantile(sizes, 0.5)),
               fmt::format("{:.1f} %", 100 * quantile(sizes, 0.9)),
               fmt::format("{:+.1f} %", 100 * quantile(signs, 0.5))});
  }
  return table.text();
}

std::string scale(const StepPrediction& row) {
  const int gpus = row.result.config.layout.gpus;
  if (gpus <= 8) return "     1 to 8 GPUs";
  if (gpus <= 64) return "    9 to 64 GPUs";
  if (gpus <= 512) return "  65 to 512 GPUs";
  return " more than 512 GPUs";
}

std::string parallelism(const StepPrediction& row) {
  const Layout& l = row.result.config.layout;
  std::string out = l.shards_weights() ? "FSDP" : "DP";
  for (const auto& [size, name] :
       {std::pair{l.tensor, "TP"}, {l.pipeline, "PP"}, {l.context, "CP"}, {l.expert, "EP"}})
    if (size > 1) out += fmt::format(" {}", name);
  return out;
}

/// How many steps lie in their bands, as shipped and with their source left out.
std::string bands(const Rows& rows) {
  double inside = 0, unseen = 0;
  for (const StepPrediction* row : rows) {
    const StepBand band = step_band(row->result);
    const auto holds = [&](double predicted, const StepBand& in) {
      return row->measured >= predicted * in.low && row->measured <= predicted * in.high ? 1 : 0;
    };
    inside += holds(row->predicted, band);
    unseen += holds(row->left_out, row->unseen);
  }
  const auto count = static_cast<double>(rows.size());
  return fmt::format("\n{:.0f} % inside their 80 % band, {:.0f} % with their source left out\n",
                     100 * inside / count, 100 * unseen / count);
}

/// What layouts of one machine are told apart by: of pairs whose predictions differ by so much, how
/// many are in that order.
std::string order_of_pairs(const Rows& rows) {
  constexpr double kEdges[] = {0, 0.05, 0.10, 0.15, 0.20, 1e9};
  int right[std::size(kEdges)] = {}, all[std::size(kEdges)] = {};
  const auto machine = [](const StepPrediction& row) {
    const StepConfig& c = row.result.config;
    const Layout& l = c.layout;
    return std::tuple(row.group, c.model.name, c.topology, l.gpus, c.framework, l.precision,
                      l.sequence, l.global_batch);
  };
  const auto name = [](const StepPrediction& row) {
    return short_layout(row.result.config.layout) + layout_line(row.result.config.layout);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const StepPrediction &a = *rows[i], &b = *rows[j];
      if (machine(a) != machine(b) || name(a) == name(b)) continue;
      const double apart = std::max(a.predicted, b.predicted) / std::min(a.predicted, b.predicted);
      std::size_t step = 0;
      while (apart - 1 >= kEdges[step + 1]) ++step;
      ++all[step];
      right[step] += (a.predicted > b.predicted) == (a.measured > b.measured) ? 1 : 0;
    }
  }
  TextTable table;
  table.add({"two layouts, predicted apart by", "pairs", "in that order"});
  table.align_right(1);
  table.align_right(2);
  for (std::size_t step = 0; step + 1 < std::size(kEdges); ++step) {
    if (all[step] == 0) continue;
    const bool last = step + 2 == std::size(kEdges);
    table.add({last ? fmt::format("{:.0f} % and more", 100 * kEdges[step])
                    : fmt::format("{:.0f} to {:.0f} %", 100 * kEdges[step], 100 * kEdges[step + 1]),
               fmt::format("{}", all[step]),
               fmt::format("{:.0f} %", 100.0 * right[step] / all[step])});
  }
  return "\n" + table.text();
}

}  // namespace

std::string validation_text(const StepValidation& validation) {
  Rows steps, requests;
  for (const StepPrediction& row : validation.rows)
    (row.asks == StepCase::Asks::step ? steps : requests).push_back(&row);
  std::string out = errors("source", steps, [](const StepPrediction& row) { return row.group; });
  if (steps.size() > 1) {
    const auto gpu = [](const StepPrediction& row) {
      return row.result.gpu.name + (row.result.config.model.experts ? ", MoE" : "");
    };
    const auto framework = [](const StepPrediction& row) { return row.result.framework.name; };
    out += "\n" + errors("GPU", steps, gpu) + "\n" + errors("scale", steps, scale) + "\n" +
           errors("framework", steps, framework) + "\n" + errors("parallelism", steps, parallelism);
    out += "\n" +
           errors(
               "source left out", steps, [](const StepPrediction& row) { return row.group; },
               left_out_error) +
           bands(steps) + order_of_pairs(steps);
  }
  if (!requests.empty()) {
    out += "\n" + errors("inference", requests, [](const StepPrediction& row) {
             static constexpr const char* kAsks[] = {"", "first token", "each token", "request"};
             return fmt::format("{}, {}", row.group, kAsks[static_cast<int>(row.asks)]);
           });
  }
  return out;
}

}  // namespace fabricast
