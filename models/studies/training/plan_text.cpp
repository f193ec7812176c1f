#include <fmt/format.h>

#include <algorithm>

#include "models/studies/training/plan.hpp"
#include "models/training/step/step_parts.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kTooLargeShown = 5;

std::string recompute_text(const Layout& l) {
  if (l.full_share > 0)
    return fmt::format("{} + {:.0f} %", to_text(l.recompute), 100 * l.full_share);
  return std::string(to_text(l.recompute));
}

std::string ranking(const Plan& plan) {
  TextTable table("  ");
  table.add({"", "layout", "recompute", "step", "4 of 5 published within", "MFU", "memory",
             "USD per million tokens"});
  for (const std::size_t column : {0U, 3U, 4U, 5U, 6U, 7U}) table.align_right(column);
  int place = 0;
  for (const auto& [one, twins] : plan.best) {
    const Layout& l = one.config.layout;
    const double time = seconds(one.step.time);
    const StepBand band = step_band(one);
    table.add({fmt::format("{}", ++place), short_layout(l), recompute_text(l), time_text(time),
               fmt::format("{} - {}", time_text(time * band.low), time_text(time * band.high)),
               fmt::format("{:.1f} %", 100 * one.mfu),
               fmt::format("{:.1f} GB", one.memory.use.all() * 1e-9),
               one.cost ? fmt::format("{:.4f}", one.cost->million_tokens) : ""});
    for (const Layout& twin : twins) table.add({"", "= " + short_layout(twin)});
  }
  std::string out = table.text();
  if (const std::size_t equal = equal_within_error(plan); equal > 1)
    out += fmt::format(
        "1 to {} are equal within the error: published layouts of one machine that are predicted "
        "less than {:.0f} %\napart are in that order in {} to {} % of pairs, beyond that in four "
        "of "
        "five\n",
        equal, 100 * kLayoutError, kOrderedLeastPercent, kOrderedMostPercent);
  return out;
}

/// Where the winner saves time over the one behind it, largest first.
std::string explanation(const StepResult& winner, const StepResult& second) {
  struct Part {
    std::string_view name;
    double saved;
  };
  std::vector<Part> parts;
  for (const StepPart& part : step_parts())
    parts.push_back(
        {part.name, part.seconds(second.step.breakdown) - part.seconds(winner.step.breakdown)});
  std::stable_sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) {
    return std::max(x.saved, -x.saved) > std::max(y.saved, -y.saved);
  });
  const double all = seconds(second.step.time - winner.step.time);
  std::string out = fmt::format("why 1 and not 2: {} less", time_text(all));
  for (const Part& part : parts) {
    if (std::max(part.saved, -part.saved) < 1e-3 * seconds(winner.step.time)) break;
    out += fmt::format("; {} {} {}", part.name, time_text(std::max(part.saved, -part.saved)),
                       part.saved > 0 ? "less" : "more");
  }
  return out + "\n";
}

std::string too_large_text(const Plan& plan) {
  if (plan.too_large.empty()) return {};
  std::string out = fmt::format(
      "{} layouts do not fit{}, not even with full recomputation; the nearest:\n",
      plan.too_large.size(),
      plan.headroom > 0 ? fmt::format(" with {:.4g} % of memory left free", 100 * plan.headroom)
                        : "");
  TextTable table("  ");
  table.align_right(1);
  for (std::size_t i = 0; i < std::min(kTooLargeShown, plan.too_large.size()); ++i)
    table.add({short_layout(plan.too_large[i].layout),
               fmt::format("{:.1f} GB", plan.too_large[i].bytes * 1e-9)});
  return out + table.text();
}

/// What a framework's other name stands for; nullptr without.
const Framework* counted_as(const Plan& plan) {
  if (plan.best.empty()) return nullptr;
  const Framework& framework = plan.best.front().result.framework;
  return framework.alias_because.empty() ? nullptr : &framework;
}

std::string one_plan(const Plan& plan) {
  const StepConfig& c = plan.config;
  std::string out;
  if (!plan.name.empty()) out += fmt::format("--- {}\n", plan.name);
  if (!plan.refused.empty()) return out + fmt::format("refused: {}\n", plan.refused);
  out += fmt::format("{} on {} x {} ({} GPUs), {} sequences of {} tokens, {}\n",
                     c.model.title.empty() ? c.model.name : c.model.title, c.nodes, c.topology,
                     c.layout.gpus, c.layout.global_batch, c.layout.sequence,
                     to_text(c.layout.precision));
  if (const Framework* asked = counted_as(plan))
    out += fmt::format("framework {} is counted as {}: {}\n", c.framework, asked->name,
                       asked->alias_because);
  out +=
      fmt::format("{} layouts, {} fit, {} simulated; bounds rule the others out\n\n", plan.layouts,
                  plan.layouts - static_cast<int>(plan.too_large.size()), plan.simulated);
  if (plan.best.empty()) return out + too_large_text(plan);
  out += ranking(plan);
  if (plan.best.size() > 1) out += explanation(plan.best[0].result, plan.best[1].result);
  return out + too_large_text(plan);
}

std::string front_text(const std::vector<Plan>& plans) {
  std::string out = "time against cost, what nothing beats in both:\n";
  TextTable table("  ");
  for (const std::size_t column : {std::size_t{1}, std::size_t{2}}) table.align_right(column);
  for (const StepResult* one : pareto_front(plans)) {
    const auto from = std::ranges::find_if(plans, [&](const Plan& plan) {
      return std::ranges::any_of(plan.best, [&](const auto& best) { return &best.result == one; });
    });
    table.add({from->name, time_text(seconds(one->step.time)),
               fmt::format("{:.4g} USD per step", one->cost->step),
               short_layout(one->config.layout)});
  }
  return out + table.text();
}

}  // namespace

std::string short_layout(const Layout& l) {
  std::string out = fmt::format("TP {} PP {}", l.tensor, l.pipeline);
  if (l.virtual_stages > 1) out += fmt::format(" x {}", l.virtual_stages);
  if (l.context > 1) out += fmt::format(" CP {}", l.context);
  if (l.context > 1 && l.context_exchange != ContextExchange::ring)
    out += fmt::format(" by {}", to_text(l.context_exchange));
  if (l.expert > 1) out += fmt::format(" EP {}", l.expert);
  if (l.expert_tensor > 1) out += fmt::format(" x TP {}", l.expert_tensor);
  out += fmt::format(" DP {} micro-batch {} {}", l.data(), l.micro_batch, to_text(l.sharding));
  if (l.sharding == Sharding::hsdp) out += fmt::format(" of {}", l.shard_group);
  return l.order == kMegatronOrder ? out : out + ", " + to_text(l.order);
}

std::string variations_text(const std::vector<NamedStep>& steps) {
  TextTable table("  ");
  table.add({"", "step", "MFU", "in layers, exposed", "pipeline", "DP, exposed", "USD per step"});
  for (std::size_t column = 1; column < 7; ++column) table.align_right(column);
  std::string refused;
  for (const NamedStep& one : steps) {
    if (!one.refused.empty()) {
      refused += fmt::format("  {}  refused: {}\n", one.name, one.refused);
      continue;
    }
    const StepBreakdown& parts = one.result.step.breakdown;
    const double inside = parts.busy.tensor + parts.busy.context + parts.busy.expert;
    table.add({one.name, time_text(seconds(one.result.step.time)),
               fmt::format("{:.1f} %", 100 * one.result.mfu), time_text(inside),
               time_text(seconds(parts.pipeline)), time_text(seconds(parts.data)),
               one.result.cost ? fmt::format("{:.4g}", one.result.cost->step) : ""});
  }
  return table.text() + refused;
}

std::string plan_text(const std::vector<Plan>& plans) {
  std::string out;
  for (const Plan& plan : plans) out += (out.empty() ? "" : "\n") + one_plan(plan);
  if (plans.size() > 1) out += "\n" + front_text(plans);
  return out;
}

}  // namespace fabricast
