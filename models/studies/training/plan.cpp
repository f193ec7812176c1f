#include "models/studies/training/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/training/step/step_chunks.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr int kMicroBatchMost = 16;  // sequences
constexpr std::size_t kAhead = 8;    // layouts whose collectives are found side by side
/// Who are neighbours behind TP and CP: replicas, as in Megatron, or stages.
constexpr AxisOrder kOrders[] = {kMegatronOrder,
                                 {Axis::tensor, Axis::context, Axis::pipeline, Axis::data}};

std::vector<int> divisors(int of) {
  std::vector<int> out;
  for (int i = 1; i <= of; ++i)
    if (of % i == 0) out.push_back(i);
  return out;
}

std::vector<int> powers_of_two(int most) {
  std::vector<int> out;
  for (int i = 1; i <= most; i *= 2) out.push_back(i);
  return out;
}

bool is_possible(const Transformer& model, const Layout& layout) {
  if (layout.gpus % (layout.tensor * layout.context * layout.pipeline) != 0) return false;
  if (layout.global_batch % (layout.data() * layout.micro_batch) != 0) return false;
  try {
    check_layout(model, layout);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The model chunks per stage: whole layers in each.
std::vector<int> chunk_counts(const Transformer& model, const Layout& layout) {
  std::vector<int> out = {1};
  if (layout.pipeline == 1 || model.layers % layout.pipeline != 0) return out;
  for (const int v : divisors(model.layers / layout.pipeline))
    if (v > 1) out.push_back(v);
  return out;
}

struct Fitting {
  Layout layout;
  Layout chosen;     ///< with what memory makes it recompute
  double least = 0;  ///< seconds
};

/// Ranks layouts by time; of those that take as long the one that needs least memory stands for
/// all.
class Ranking {
 public:
  explicit Ranking(std::size_t keep) : keep_(keep) {}

  void add(StepResult result) {
    const auto at = std::ranges::lower_bound(best_, result.step.time, {},
                                             [](const auto& one) { return one.result.step.time; });
    if (at == best_.end() || at->result.step.time != result.step.time) {
      best_.insert(at, {std::move(result), {}});
      if (best_.size() > keep_) best_.pop_back();
      return;
    }
    if (result.memory.use.all() < at->result.memory.use.all()) std::swap(result, at->result);
    at->twins.push_back(result.config.layout);
  }

  /// Whether a step of at least so many seconds cannot be among them.
  bool rules_out(double least) const { return best_.size() >= keep_ && least > slowest(); }
  /// Seconds of the last of them; REQUIRES: there is one.
  double slowest() const { return seconds(best_.back().result.step.time); }
  bool empty() const { return best_.empty(); }
  std::vector<PlannedLayout> take() { return std::move(best_); }

 private:
  std::size_t keep_;
  std::vector<PlannedLayout> best_;
};

/// How much of a plan is done. Most candidates are ruled out by their bounds, and no work: those
/// that seem to be left are the ones whose bound is below the slowest layout that is kept so far.
class PlanProgress {
 public:
  PlanProgress(const std::vector<Fitting>& candidates, const PlanLimits& limits,
               const std::function<void(double)>& tell)
      : candidates_(candidates), exhaustive_(limits.exhaustive), tell_(tell) {}

  void looked_at(std::size_t count, const Ranking& ranking) {
    if (!tell_ || ranking.empty()) return;
    const auto of = static_cast<double>(std::max(wanted(ranking), count) + 1);
    share_ = std::max(share_, static_cast<double>(count) / of);
    tell_(share_);
  }
  void ended() {
    if (tell_) tell_(1);
  }

 private:
  std::size_t wanted(const Ranking& ranking) const {
    if (exhaustive_) return candidates_.size();
    const auto end = std::ranges::upper_bound(candidates_, ranking.slowest(), {}, &Fitting::least);
    return static_cast<std::size_t>(end - candidates_.begin());
  }

  const std::vector<Fitting>& candidates_;  ///< by least time
  bool exhaustive_;
  const std::function<void(double)>& tell_;
  double share_ = 0;  ///< never goes back, whatever turns out to be left
};

/// Every way to keep state and to exchange it that is not worse than another one in all. ZeRO-3 is
/// left out: it moves what FSDP moves and keeps more.
std::vector<Layout> shardings(const Layout& layout, int gpus_per_node) {
  std::vector<Layout> out;
  const auto add = [&](Sharding sharding, int group) {
    out.push_back(layout);
    out.back().sharding = sharding;
    out.back().shard_group = group;
  };
  add(Sharding::zero1, 0);
  const int replicas = layout.dense_replicas();
  // With one replica there is nothing to cut, and with a single micro-batch ZeRO-2 moves as much.
  if (replicas > 1) add(Sharding::zero2, 0);
  // Cut weights are gathered for every micro-batch: one stage has few.
  if (layout.pipeline > 1) return out;
  add(Sharding::fsdp, 0);
  const int node = gpus_per_node / std::min(layout.tensor, gpus_per_node);
  if (layout.order != kMegatronOrder || layout.context > 1) return out;
  for (int group = std::max(node, 2); group < replicas; group *= 4)
    if (replicas % group == 0) add(Sharding::hsdp, group);
  return out;
}

/// Of the shape: how attention sees the sequence, TP inside experts.
std::vector<Layout> exchanges(const Layout& layout) {
  std::vector<Layout> out;
  Layout l = layout;
  for (const ContextExchange exchange :
       {ContextExchange::ring, ContextExchange::all_gather, ContextExchange::all_to_all}) {
    if (l.context == 1 && exchange != layout.context_exchange) continue;
    l.context_exchange = exchange;
    for (const int cut : {1, l.tensor}) {
      if (cut > 1 && l.expert == 1 && l.tensor == 1) continue;
      l.expert_tensor = cut;
      out.push_back(l);
      if (l.tensor == 1) break;
    }
  }
  return out;
}

/// Those that go with `ep_kernels`. Throws the first Error where none does.
std::vector<Layout> reached_by_kernels(const StepConfig& config, const std::vector<Layout>& layouts,
                                       CollectiveTimes& collectives) {
  std::vector<Layout> out;
  std::optional<Error> first;
  for (const Layout& layout : layouts) {
    try {
      check_expert_kernels(config, layout, collectives);
      out.push_back(layout);
    } catch (const Error& error) {
      if (!first) first = error;
    }
  }
  if (out.empty() && first) throw *first;
  return out;
}

}  // namespace

std::vector<Layout> possible_layouts(const Transformer& model, const Layout& common,
                                     int gpus_per_node) {
  std::vector<Layout> out;
  const std::vector<int> experts = model.experts ? divisors(model.experts->count) : std::vector{1};
  Layout l = common;
  l.context_exchange = ContextExchange::ring;
  const auto add_all = [&] {
    for (const Layout& exchanged : exchanges(l)) {
      if (!model.experts && exchanged.expert_tensor > 1) continue;
      for (const Layout& one : shardings(exchanged, gpus_per_node))
        if (is_possible(model, one)) out.push_back(one);
    }
  };
  for (const int tensor : divisors(common.gpus)) {
    if (model.heads % tensor != 0 || model.ffn % tensor != 0) continue;
    l.tensor = tensor;
    for (const int context : powers_of_two(common.gpus / tensor)) {
      l.context = context;
      for (const int pipeline : divisors(common.gpus / tensor / context)) {
        if (pipeline > model.layers) break;
        l.pipeline = pipeline;
        for (const int expert : experts) {
          l.expert = expert;
          for (const int chunks : chunk_counts(model, l)) {
            l.virtual_stages = chunks;
            // Zero bubbles only where they are asked for: few frameworks have them.
            l.schedule = chunks > 1                                 ? Schedule::interleaved
                         : common.schedule == Schedule::zero_bubble ? Schedule::zero_bubble
                                                                    : Schedule::one_f_one_b;
            for (const int micro : powers_of_two(kMicroBatchMost)) {
              l.micro_batch = micro;
              if (common.global_batch % (l.data() * micro) != 0) break;
              for (const AxisOrder& order : kOrders) {
                // With one stage, or one replica, both orders are the same.
                if (order != kMegatronOrder && (pipeline == 1 || l.data() == 1 || expert > 1))
                  continue;
                l.order = order;
                add_all();
              }
            }
          }
        }
      }
    }
  }
  return out;
}

Plan plan_step(const StepConfig& config, const Framework& framework, const GpuCompute& gpu,
               CollectiveTimes& bounds, CollectiveTimes& collectives, const PlanLimits& limits,
               const std::function<void(double)>& progress, const ForEach& for_each) {
  Plan plan;
  plan.config = config;
  plan.headroom = limits.headroom;
  std::vector<Layout> layouts =
      possible_layouts(config.model, config.layout, collectives.gpus_per_node());
  if (layouts.empty())
    throw Error(fmt::format("no layout of {} on {} GPUs with a global batch of {}",
                            config.model.name, config.layout.gpus, config.layout.global_batch),
                "take a global batch with more divisors");
  layouts = limits.wishes.chosen_from(layouts, collectives);
  layouts = reached_by_kernels(config, layouts, collectives);
  plan.layouts = static_cast<int>(layouts.size());
  GpuCompute filled = gpu;  // as far as it may be
  filled.memory.count = std::llround(static_cast<double>(gpu.memory.count) * (1 - limits.headroom));
  std::vector<Fitting> candidates;
  for (const Layout& layout : layouts) {
    const MemoryPlan memory = step_memory({config.model, layout, framework, filled}, collectives);
    if (!memory.fits) {
      plan.too_large.push_back({layout, memory.use.all()});
      continue;
    }
    Layout chosen = layout;
    chosen.recompute = memory.recompute;
    chosen.full_share = memory.full_share;
    candidates.push_back(
        {layout, chosen, least_step_time({config.model, chosen, framework, gpu}, bounds)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Fitting& a, const Fitting& b) { return a.least < b.least; });
  std::stable_sort(plan.too_large.begin(), plan.too_large.end(),
                   [](const TooLarge& a, const TooLarge& b) { return a.bytes < b.bytes; });
  Ranking ranking(static_cast<std::size_t>(limits.keep));
  const auto is_wanted = [&](const Fitting& candidate) {
    return limits.exhaustive || !ranking.rules_out(candidate.least);
  };
  PlanProgress done(candidates, limits, progress);
  std::size_t prepared = 0;
  for (std::size_t i = 0; i < candidates.size() && is_wanted(candidates[i]); ++i) {
    done.looked_at(i, ranking);
    if (i == prepared) {
      // As many as are wanted for certain, then a few that may turn out not to be.
      std::vector<Layout> next;
      const std::size_t most = i == 0 ? static_cast<std::size_t>(limits.keep) : kAhead;
      while (next.size() < most && prepared < candidates.size() && is_wanted(candidates[prepared]))
        next.push_back(candidates[prepared++].layout);
      prepare_steps(config, next, framework, filled, collectives, for_each);
    }
    const Fitting& candidate = candidates[i];
    StepConfig one = config;
    one.layout = candidate.layout;
    one.placement_costs = false;
    // Collectives are known by now, and with them a nearer bound.
    const StepSetup setup{config.model, candidate.chosen, framework, gpu};
    if (!limits.exhaustive && ranking.rules_out(least_step_time(setup, collectives))) continue;
    ranking.add(run_step(one, framework, filled, collectives));
    ++plan.simulated;
  }
  done.ended();
  plan.best = ranking.take();
  for (PlannedLayout& one : plan.best) {
    add_placement_costs(one.result, collectives);
    one.result.gpu = gpu;
  }
  return plan;
}

double parse_headroom(std::string_view text) { return parse_percent(text, 0, 99); }

std::size_t equal_within_error(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.best, [&](const PlannedLayout& one) {
    return seconds(one.result.step.time) <
           seconds(plan.best.front().result.step.time) * (1 + kLayoutError);
  }));
}

Plan plan_step(const StepConfig& config, const PartsCatalogue& parts, const PlanLimits& limits,
               const std::function<void(double)>& progress, const ForEach& for_each) {
  using Estimate = CollectiveTimes::Estimate;
  const Site site = load_site(config, parts);
  CollectiveTimes bounds = collectives_of(config, site, parts, Estimate::bound);
  CollectiveTimes collectives = collectives_of(config, site, parts, Estimate::simulated);
  collectives.simulate_up_to(limits.slices_most);
  return plan_step(sized(config, site.cluster), framework_of(config),
                   compute_of(load_compute(), site.cluster), bounds, collectives, limits, progress,
                   for_each);
}

std::vector<const StepResult*> pareto_front(const std::vector<Plan>& plans) {
  std::vector<const StepResult*> all, out;
  for (const Plan& plan : plans)
    for (const PlannedLayout& one : plan.best)
      if (one.result.cost) all.push_back(&one.result);
  std::stable_sort(all.begin(), all.end(), [](const StepResult* a, const StepResult* b) {
    return std::pair(a->step.time, a->cost->step) < std::pair(b->step.time, b->cost->step);
  });
  for (const StepResult* one : all)
    if (out.empty() || one->cost->step < out.back()->cost->step) out.push_back(one);
  return out;
}

}  // namespace fabricast
