// Plans: bounds that never rule out the best, and what is said about what does not fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <random>

#include "models/io/formats/csv_table.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/training/plan.hpp"
#include "models/studies/training/training_reports.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "models/training/step/step_chunks.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/report_rows.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/training/training_cases.hpp"

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

TEST_CASE("plan: its best layouts are those of an exhaustive simulation" *
          minutes_under_sanitizers()) {
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
      CHECK(fast.best[k].result.step.time == all.best[k].result.step.time);
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

TEST_CASE("plan: variations multiply, and the front has no row that another beats" *
          minutes_under_sanitizers()) {
  const PartsCatalogue parts = load_catalogue();
  const std::vector<NamedConfig> one = {{"", small(8, 4, 1024, 16)}};
  const auto twice = vary(one, "nodes=1,2");
  const auto four = vary(twice, "nics=4,8");
  REQUIRE(four.size() == 4);
  CHECK(four[3].name == "nodes=2, nics=8");
  CHECK(four[3].config.nodes == 2);
  CHECK(four[2].config.topology == "dgx-a100:nics=4");
  const auto there = vary(vary(one, "nics=4"), "topology=dgx-h100,hgx-b200:gpu=B300_SXM");
  CHECK(there[0].config.topology == "dgx-h100:nics=4");
  CHECK(there[1].config.topology == "hgx-b200:gpu=B300_SXM:nics=4");
  CHECK(vary(one, "bucket=25MiB")[0].config.layout.bucket == 25.0 * (1 << 20));
  CHECK(vary(one, "oversubscription=4")[0].config.oversubscription == 4);
  CHECK(error_text([&] { vary(one, "gpus=8"); }).starts_with("\"gpus\" cannot be varied"));
  CHECK(error_text([&] { vary(one, "nodes"); }).starts_with("\"nodes\" is no variation"));
  CHECK(vary(one, "nodes=8..32").size() == 3);
  CHECK(vary(one, "nodes=8..32")[2].name == "nodes=32");
  CHECK(vary(one, "nodes=8..32")[2].config.nodes == 32);
  CHECK(error_text([&] { vary(one, "topology="); }).starts_with("topology= names no value"));
  CHECK(error_text([&] {
          vary(one, "topology=dgx-a100,");
        }).starts_with("topology=dgx-a100, names no value"));
  std::vector<Plan> plans;
  for (const NamedConfig& each : twice) plans.push_back(plan_step(each.config, parts, {2, false}));
  const auto front = pareto_front(plans);
  REQUIRE(!front.empty());
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]->step.time >= front[i - 1]->step.time);
    CHECK(front[i]->cost->step < front[i - 1]->cost->step);
  }
}

TEST_CASE("plan: what is fixed is fixed, and what stays inside stays inside" *
          minutes_under_sanitizers()) {
  PlanSite site;
  const StepConfig config = small(16, 8, 2048, 16);
  const auto planned = [&](const LayoutWishes& wishes) {
    return plan_step(config, site.framework, site.gpu, site.bounds, site.times,
                     {.keep = 1000, .exhaustive = true, .wishes = wishes});
  };
  LayoutWishes fixed;
  fixed.fix("tp=4,micro_batch=2");
  fixed.fix("sharding=zero2");
  const Plan some = planned(fixed);
  REQUIRE(!some.best.empty());
  for (const auto& [one, twins] : some.best) {
    CHECK(one.config.layout.tensor == 4);
    CHECK(one.config.layout.micro_batch == 2);
    CHECK(one.config.layout.sharding == Sharding::zero2);
  }
  LayoutWishes inside;
  inside.keep_within("tp=node,pp=node");
  const Plan near = planned(inside);
  REQUIRE(!near.best.empty());
  bool pipelines = false;
  for (const auto& [one, twins] : near.best) {
    const Layout& l = one.config.layout;
    CHECK(site.times.nodes_of(tensor_group(l)) == 1);
    CHECK(l.stride(Axis::pipeline) * l.pipeline <= (l.pipeline > 1 ? 8 : l.gpus));
    pipelines = pipelines || l.pipeline > 1;
  }
  CHECK(pipelines);
  CHECK(near.layouts < planned({}).layouts);

  LayoutWishes wishes;
  CHECK(error_text([&] { wishes.fix("tpp=4"); }) ==
        "\"tpp\" is no part of a layout\nhint: did you mean \"tp\"?");
  CHECK(error_text([&] { wishes.fix("tp=8,"); }).starts_with("\"\" says nothing"));
  CHECK(error_text([&] { wishes.fix("tp"); }) == "\"tp\" says nothing\nhint: KEY=VALUE, like tp=8");
  CHECK(error_text([&] { wishes.keep_within("tp=pod"); }) ==
        "tp=pod: groups are kept within a node or a rack");
  wishes.fix("tp=3");
  CHECK(error_text([&] { planned(wishes); }) ==
        "no layout has tp=3\nhint: tp can be 1, 2, 4, 8, 16");
  LayoutWishes racks;
  racks.keep_within("tp=rack");
  CHECK(planned(racks).layouts == planned({}).layouts);  // both nodes stand in one rack of four
}

TEST_CASE("plan: twins stand in one line, and headroom stays free" * minutes_under_sanitizers()) {
  PlanSite site;
  const StepConfig config = small(16, 8, 2048, 16);
  const auto planned = [&](double headroom) {
    return plan_step(config, site.framework, site.gpu, site.bounds, site.times,
                     {10'000, true, headroom});
  };
  const Plan all = planned(0);
  std::size_t twins = 0;
  for (std::size_t i = 0; i < all.best.size(); ++i) {
    if (i > 0) CHECK(all.best[i - 1].result.step.time < all.best[i].result.step.time);
    twins += all.best[i].twins.size();
  }
  // Each layout is somewhere, once.
  CHECK(all.best.size() + twins + all.too_large.size() == static_cast<std::size_t>(all.layouts));
  CHECK(twins > 0);
  const std::size_t equal = equal_within_error(all);
  REQUIRE(equal >= 1);
  const double first = seconds(all.best.front().result.step.time);
  CHECK(seconds(all.best[equal - 1].result.step.time) < first * (1 + kLayoutError));
  if (equal < all.best.size())
    CHECK(seconds(all.best[equal].result.step.time) >= first * (1 + kLayoutError));
  const double capacity = static_cast<double>(site.gpu.memory.count);
  const Plan roomy = planned(0.5);
  for (const auto& [one, same] : roomy.best) {
    CHECK(one.memory.use.all() <= 0.5 * capacity);
    CHECK(one.gpu.memory == site.gpu.memory);
  }
  CHECK(roomy.too_large.size() >= all.too_large.size());
  CHECK(parse_headroom("8%") == 0.08);
  CHECK(parse_headroom("12.5 %") == 0.125);
  for (const char* wrong : {"", "5", "-1%", "100%", "x%"})
    CHECK(error_text([&] { parse_headroom(wrong); }) ==
          std::string("\"") + wrong + "\" is no share from 0 % to 99 %\nhint: write it like 5%");
}

TEST_CASE("plan: a variation that is refused has a line, the others go on") {
  const PartsCatalogue parts = load_catalogue();
  const std::vector<NamedConfig> one = {{"", small(8, 4, 1024, 16)}};
  const std::vector<NamedStep> steps = run_variations(vary(one, "nics=12,4"), parts);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].refused == "12 NICs: dgx-a100 has 8");
  CHECK(steps[1].refused.empty());
  CHECK(variations_text(steps).find("nics=12  refused: 12 NICs") != std::string::npos);
  const auto json = testing::rows_of_json(step_report(steps), "rows");
  CHECK(json[0]["refused"] == steps[0].refused);
  CHECK(json[1]["step_s"] == seconds(steps[1].result.step.time));
  const CsvTable csv(report_csv(step_report(steps)), "steps.csv");
  REQUIRE(csv.rows() == 2);
  CHECK(csv.row(0).text("refused") == steps[0].refused);
  CHECK(csv.row(0).text("step_s").empty());
  CHECK(*csv.row(1).positive("step_s") ==
        doctest::Approx(seconds(steps[1].result.step.time)).epsilon(1e-8));
  CHECK(error_text([&] { run_variations(vary(one, "nics=12,13"), parts); }) ==
        "12 NICs: dgx-a100 has 8\nhint: so many at most, or a multiple of 8");
  CHECK(error_text([&] {
          run_variations(vary(one, "topology=nope,neither"), parts);
        }).find("nope") != std::string::npos);
}

/// What the columns of a table that are parts of a whole are called, by unit.
std::string parts_in(const Report& report, std::string_view table, std::string_view unit) {
  std::string out;
  for (const ReportColumn& column : report.table(table).columns())
    if (!column.part.empty() && column.unit == unit)
      out += (out.empty() ? "" : "; ") + std::string(column.part);
  return out;
}

// Pages draw what is marked, and keep no list of their own.
TEST_CASE("step: a report says which columns are parts of a whole") {
  const PartsCatalogue parts = load_catalogue();
  const StepResult result = run_step(small(8, 4, 1024, 16), parts);
  const Report report = step_report(result);
  CHECK(parts_in(report, "rows", "s") ==
        "matrix products; attention; elementwise kernels; waiting for the host; TP, exposed; CP, "
        "exposed; EP, exposed; slower beside communication; pipeline: bubble and sends; DP, "
        "exposed; optimizer");
  double sum = 0;
  const ReportTable& rows = report.table("rows");
  for (std::size_t i = 0; i < rows.columns().size(); ++i)
    if (!rows.columns()[i].part.empty()) sum += rows.rows()[0][i].get<double>();
  CHECK(sum == doctest::Approx(seconds(result.step.time)));
  CHECK(parts_in(report, "hidden", "s") == "TP; CP; EP; DP");
  CHECK(parts_in(report, "memory", "B") ==
        "weights; gradients; optimizer state; activations; gathered units and buffers; "
        "communicators of NCCL; context and fragmentation");
}

TEST_CASE("plan: text, CSV and JSON say the same") {
  const PartsCatalogue parts = load_catalogue();
  const std::vector<NamedConfig> one = {{"", small(8, 4, 1024, 16)}};
  const std::vector<Plan> plans = run_plans(vary(one, "nodes=1,2"), parts, {3, false, 0.08});
  const CsvTable csv(report_csv(plan_report(plans)), "plan.csv");
  const auto json = testing::rows_of_json(plan_report(plans), "rows");
  const std::string text = plan_text(plans);
  std::size_t row = 0;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    for (std::size_t i = 0; i < plans[p].best.size(); ++i, ++row) {
      const StepResult& result = plans[p].best[i].result;
      const auto& step = json[row];
      CHECK(step["step_s"] == seconds(result.step.time));
      CHECK(*csv.row(row).positive("step_s") ==
            doctest::Approx(seconds(result.step.time)).epsilon(1e-8));
      CHECK(*csv.row(row).whole("tp", 1, 1000) == step["tp"]);
      CHECK((*csv.row(row).whole("equal_to_best", 0, 1) == 1) == step["equal_to_best"]);
      CHECK(text.find(short_layout(result.config.layout)) != std::string::npos);
    }
  }
  CHECK(row == csv.rows());
}
