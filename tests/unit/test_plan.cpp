// Plans: bounds that never rule out the best, and what is said about what does not fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

#include "error_text.hpp"
#include "models/io/load.hpp"
#include "models/studies/plan.hpp"
#include "models/training/step_chunks.hpp"
#include "tests/unit/sanitized.hpp"
#include "training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

struct PlanSite {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster = load_cluster({"dgx-a100", 1, ""}, parts);
  GpuCompute gpu = load_compute().at("A100_SXM4_40");
  Framework framework = load_frameworks().at("megatron");
  CollectiveTimes bounds{cluster, parts.software, {}, CollectiveTimes::Estimate::bound};
  CollectiveTimes times{cluster, parts.software, {}};
};

StepConfig small(int gpus, int layers, int hidden, int batch) {
  StepConfig out;
  out.model = gpt(layers, hidden, 16);
  out.topology = "dgx-a100";
  out.nodes = std::max(1, gpus / 8);
  out.layout = layout(gpus, 1, 1, 1, 1, batch);
  out.layout.recompute = Recompute::automatic;
  return out;
}

}  // namespace

TEST_CASE("plan: its best layouts are those of an exhaustive simulation") {
  PlanSite site;
  std::mt19937 random(20261121);
  const auto one_of = [&](std::initializer_list<int> values) {
    return *(values.begin() + static_cast<long>(random() % values.size()));
  };
  int ruled_out = 0;
  for (int i = 0; i < (kSanitized ? 2 : 20); ++i) {
    const StepConfig config = small(one_of({2, 4, 8, 16}), one_of({4, 8, 12}),
                                    one_of({1024, 2048, 4096}), one_of({8, 16, 32}));
    CAPTURE(i);
    const Plan fast =
        plan_step(config, site.framework, site.gpu, site.bounds, site.times, {3, false});
    const Plan all =
        plan_step(config, site.framework, site.gpu, site.bounds, site.times, {3, true});
    REQUIRE(fast.best.size() == all.best.size());
    for (std::size_t k = 0; k < all.best.size(); ++k)
      CHECK(fast.best[k].step.time == all.best[k].step.time);
    CHECK(all.simulated + static_cast<int>(all.too_large.size()) == all.layouts);
    ruled_out += all.simulated - fast.simulated;
  }
  CHECK(ruled_out > 0);
}

TEST_CASE("plan: no step is shorter than its bound") {
  PlanSite site;
  const StepConfig config = small(kSanitized ? 4 : 16, 8, 2048, 16);
  for (Layout l : possible_layouts(config.model, config.layout)) {
    l.recompute = Recompute::none;
    const StepSetup setup{config.model, l, site.framework, site.gpu};
    CHECK(least_step_time(setup, site.bounds) <=
          seconds(step_time(setup, site.times).time) * (1 + 1e-9));
  }
}

TEST_CASE("plan: what is searched") {
  const auto count = [](const std::vector<Layout>& layouts, auto has) {
    return std::count_if(layouts.begin(), layouts.end(), has);
  };
  const StepConfig dense = small(32, 8, 2048, 64);
  const std::vector<Layout> layouts = possible_layouts(dense.model, dense.layout);
  for (const Sharding sharding : {Sharding::zero1, Sharding::zero2, Sharding::fsdp, Sharding::hsdp})
    CHECK(count(layouts, [&](const Layout& l) { return l.sharding == sharding; }) > 0);
  for (const ContextExchange exchange :
       {ContextExchange::ring, ContextExchange::all_gather, ContextExchange::all_to_all})
    CHECK(count(layouts, [&](const Layout& l) { return l.context_exchange == exchange; }) > 0);
  CHECK(count(layouts, [](const Layout& l) { return l.expert_tensor > 1; }) == 0);
  CHECK(count(layouts, [](const Layout& l) { return l.schedule == Schedule::zero_bubble; }) == 0);
  Layout split = dense.layout;
  split.schedule = Schedule::zero_bubble;
  CHECK(count(possible_layouts(dense.model, split),
              [](const Layout& l) { return l.schedule == Schedule::zero_bubble; }) > 0);
  StepConfig moe = dense;
  moe.model.experts = Experts{8, 2, 4096, 0, 0};
  const std::vector<Layout> of_experts = possible_layouts(moe.model, moe.layout);
  CHECK(count(of_experts, [](const Layout& l) { return l.expert_tensor > 1; }) > 0);
  CHECK(count(of_experts, [](const Layout& l) { return l.expert == 8; }) > 0);
  // Each one once.
  std::vector<std::string> names;
  for (const Layout& l : of_experts) names.push_back(short_layout(l));
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("plan: what does not fit is listed with what it needs, smallest first") {
  PlanSite site;
  StepConfig config = small(8, 48, 6144, 8);
  const Plan plan =
      plan_step(config, site.framework, site.gpu, site.bounds, site.times, {1, false});
  REQUIRE(plan.too_large.size() > 1);
  CHECK(plan.too_large.front().bytes > static_cast<double>(site.gpu.memory.count));
  CHECK(plan.too_large.front().bytes <= plan.too_large.back().bytes);
  CHECK(error_text([&] {
          config.layout.global_batch = 1;
          config.layout.gpus = 97;
          plan_step(config, site.framework, site.gpu, site.bounds, site.times, {});
        }).starts_with("no layout of gpt on 97 GPUs with a global batch of 1"));
}

TEST_CASE("plan: variations multiply, and the front has no row that another beats") {
  const PartsCatalogue parts = load_catalogue();
  const std::vector<NamedConfig> one = {{"", small(8, 4, 1024, 16)}};
  const auto twice = vary(one, "nodes=1,2", parts);
  const auto four = vary(twice, "nics=4,8", parts);
  REQUIRE(four.size() == 4);
  CHECK(four[3].name == "nodes=2, nics=8");
  CHECK(four[3].config.nodes == 2);
  CHECK(vary(one, "bucket=25MiB", parts)[0].config.layout.bucket == 25.0 * (1 << 20));
  CHECK(vary(one, "oversubscription=4", parts)[0].config.oversubscription == 4);
  CHECK(error_text([&] { vary(one, "gpus=8", parts); }).starts_with("\"gpus\" cannot be varied"));
  CHECK(error_text([&] { vary(one, "nodes", parts); }).starts_with("\"nodes\" is no variation"));
  std::vector<Plan> plans;
  for (const NamedConfig& each : twice) plans.push_back(plan_step(each.config, parts, {2, false}));
  const auto front = pareto_front(plans);
  REQUIRE(!front.empty());
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]->step.time >= front[i - 1]->step.time);
    CHECK(front[i]->cost->step < front[i - 1]->cost->step);
  }
}
