// Steps: closed forms where everything is known, invariants, published volumes.
#include <doctest/doctest.h>

#include <algorithm>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/step.hpp"
#include "models/studies/training/training_reports.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/training/step_setups.hpp"
#include "tests/unit/training/training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

TEST_CASE("step: on one GPU it is its kernels") {
  OneNode site;
  const StepSetup s = setup(gpt(4, 1024, 16), layout(1, 1, 1, 1, 2, 8));
  const LayerTime layer = layer_time(s, false, site.collectives);
  const LayerTime embedding = embedding_time(s, site.collectives);
  const LayerTime output = output_time(s, site.collectives);
  double micro = 4 * (layer.forward.total() + layer.backward.total());
  for (const LayerTime& outer : {embedding, output})
    micro += outer.forward.total() + outer.backward.total();
  const double update =
      elementwise_time(s.gpu, 30.0 * static_cast<double>(all_parameters(s.model)));
  CHECK(time_of(site, s) == doctest::Approx(4 * micro + update).epsilon(1e-9));
  CHECK(layer.forward.tensor == 0);
  CHECK(layer.backward.gemm == doctest::Approx(2 * layer.forward.gemm).epsilon(0.15));
}

TEST_CASE("step: parts add up to the whole") {
  OneNode site;
  for (const auto& [gpus, tensor, pipeline, chunks] :
       {std::tuple{8, 8, 1, 1}, {16, 4, 4, 1}, {16, 2, 4, 2}, {16, 1, 1, 1}}) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::fsdp}) {
      Layout l = layout(gpus, tensor, pipeline, chunks, 1, 32);
      l.sharding = sharding;
      const StepTime step = step_time(setup(gpt(16, 2048, 16), l), site.collectives);
      const StepBreakdown& parts = step.breakdown;
      const double sum = parts.busy.total() + seconds(parts.pipeline) + seconds(parts.data) +
                         seconds(parts.optimizer);
      CHECK(sum == doctest::Approx(seconds(step.time)).epsilon(1e-9));
      CHECK(parts.pipeline.ps >= -100);
      CHECK(parts.data.ps >= 0);
      if (pipeline == 1) CHECK(parts.pipeline.ps <= 1000);
    }
  }
}

TEST_CASE("step: a step of many collectives asks the simulator for each distinct one once") {
  OneNode site;
  const StepSetup s = setup(gpt(16, 2048, 16), layout(16, 2, 4, 2, 1, 32));
  const double time = time_of(site, s);
  const MemoCounts once = site.collectives.counts();
  CHECK(once.simulated > 0);
  CHECK(once.asked > once.simulated);
  // The same step again: as many questions, all of them answered before.
  CHECK(time_of(site, s) == time);
  CHECK(site.collectives.counts() == MemoCounts{2 * once.asked, once.simulated});
}

TEST_CASE("step: recomputation costs about one more forward") {
  OneNode site;
  StepSetup s = setup(gpt_22b(), layout(8, 8, 1, 1, 4, 4));
  const double none = time_of(site, s);
  s.layout.recompute = Recompute::full;
  const double full = time_of(site, s);
  CHECK(full / none > 1.25);
  CHECK(full / none < 1.40);
}

TEST_CASE("step: smaller bubbles with more micro-batches, with chunks, with split backward") {
  OneNode site;
  const auto bubble = [&](int chunks, int batch, Schedule schedule) {
    Layout l = layout(8, 1, 8, chunks, 1, batch);
    l.schedule = schedule;
    const StepTime step = step_time(setup(gpt(32, 2048, 16), l), site.collectives);
    return seconds(step.breakdown.pipeline) / seconds(step.time);
  };
  const double few = bubble(1, 16, Schedule::one_f_one_b);
  CHECK(few > bubble(1, 64, Schedule::one_f_one_b));
  CHECK(few > bubble(2, 16, Schedule::interleaved));
  CHECK(few > bubble(1, 16, Schedule::zero_bubble));
}

TEST_CASE("step: overlap hides what it can, and never costs more than it hides") {
  OneNode site;
  Layout l = layout(16, 1, 1, 1, 1, 16);
  l.sharding = Sharding::zero1;
  const StepSetup with = setup(gpt(16, 4096, 32), l);
  StepSetup without = with;
  without.layout.overlap.gradients = without.layout.overlap.parameters = false;
  const StepTime a = step_time(with, site.collectives);
  const StepTime b = step_time(without, site.collectives);
  CHECK(a.time < b.time);
  CHECK(a.breakdown.data_hidden.ps > 0);
  CHECK(b.breakdown.data > a.breakdown.data);
}

TEST_CASE("step: all-to-alls between nodes are hidden where stages interleave") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 4, ""}, parts);
  CollectiveTimes times(cluster, parts.software, {});
  const FrameworkCatalogue frameworks = load_frameworks();
  const auto hidden = [&](int expert, int chunks) {
    StepSetup s{gpt(8, 2048, 16), layout(32, 1, 2, 1, 1, 32),
                frameworks.at("megatron-bridge 26.04"), load_compute().at("H100_SXM5"), false};
    s.model.experts = Experts{.count = 16, .per_token = 2, .ffn = 2048};
    s.layout.overlap = s.framework.overlap;
    s.layout.expert = expert;
    s.layout.virtual_stages = chunks;
    return layer_time(s, true, times).forward.expert_hidden;
  };
  CHECK(hidden(16, 2) > 0);
  CHECK(hidden(16, 1) == 0);
  CHECK(hidden(8, 2) == 0);
}

TEST_CASE("step: cut weights without overlap, and gradients by bucket") {
  OneNode site;
  Layout l = layout(16, 1, 1, 1, 1, 16);
  l.sharding = Sharding::zero3;
  StepSetup s = setup(gpt(16, 4096, 32), l);
  const double overlapped = time_of(site, s);
  s.layout.overlap.gradients = false;
  const double gathers = time_of(site, s);
  s.layout.overlap.parameters = false;
  const double none = time_of(site, s);
  CHECK(overlapped < gathers);
  CHECK(gathers < none);
  // Without overlap a bucket of all layers is as much as one of each, but for the starts.
  s.layout.bucket = 1e12;
  const double one_bucket = time_of(site, s);
  CHECK(one_bucket < none);
  CHECK(one_bucket > 0.97 * none);
}

TEST_CASE("step: small buckets of gradients cost their starts, large ones their tail") {
  OneNode site;
  const auto exposed = [&](double bucket) {
    Layout l = layout(64, 1, 1, 1, 1, 64);
    l.bucket = bucket;
    return seconds(step_time(setup(gpt(8, 4096, 32), l), site.collectives).breakdown.data);
  };
  const double middle = exposed(50e6);
  CHECK(middle < exposed(1e6));
  CHECK(middle < exposed(1e12));
}

TEST_CASE("step: orders of ranks") {
  Layout l = layout(64, 2, 4, 1, 1, 64);
  l.context = 2;
  CHECK(to_text(l.order) == "tp-cp-dp-pp");
  CHECK(stage_pair(l).stride == 16);
  CHECK(dense_data_group(l).size == 8);
  CHECK(dense_data_group(l).outer == 1);
  l.order = parse_order("tp-cp-pp-ep-dp");
  CHECK(to_text(l.order) == "tp-cp-pp-dp");
  CHECK(stage_pair(l).stride == 4);
  // CP pairs two apart, DP sixteen.
  CHECK(dense_data_group(l).ranks() == 8);
  CHECK(dense_data_group(l).outer_stride == 16);
  for (const char* wrong : {"", "tp", "tp-cp-dp-dp", "tp-cp-dp-pp-tp", "tp-ep-cp-dp-pp", "a-b-c-d"})
    CHECK_THROWS_AS(parse_order(wrong), Error);
}

TEST_CASE("step: a TP group that leaves its node is said, and costs") {
  OneNode site;
  StepConfig config;
  config.model = gpt(4, 4096, 32);
  config.topology = "dgx-a100";
  config.layout = layout(16, 16, 1, 1, 1, 4);
  const auto run = [&] {
    return run_step(config, load_frameworks().at("megatron"), load_compute().at("A100_SXM4_80"),
                    site.collectives);
  };
  const StepResult across = run();
  REQUIRE(!across.notes.empty());
  CHECK(across.notes.back().starts_with("each TP group lies on 2 nodes: "));
  config.layout.tensor = 8;
  config.layout.global_batch = 4;
  const StepResult inside = run();
  CHECK(inside.notes.empty());
  CHECK(inside.step.time < across.step.time);
}

TEST_CASE("step: cost follows from price and time, spans from the stages") {
  StepConfig config;
  config.model = load_transformer("llama-3-8b");
  config.topology = "dgx-h100";
  config.nodes = 1;
  config.layout = layout(8, 2, 2, 1, 1, 8);
  config.layout.precision = Precision::bf16;
  config.price = 3.6;
  config.run_tokens = 1e9;
  config.trace = true;
  const StepResult result = run_step(config, load_catalogue());
  const double step = seconds(result.step.time);
  REQUIRE(result.cost.has_value());
  CHECK(result.cost->step == doctest::Approx(8 * step * 1e-3));
  CHECK(result.cost->million_tokens == doctest::Approx(8 * step * 1e-3 / (8 * 2048) * 1e6));
  CHECK(result.cost->run == doctest::Approx(1000 * result.cost->million_tokens));
  // Two stages, four micro-batches of two replicas: forwards and backwards.
  const auto count = [&](StepIssue::What what, int stage) {
    return std::count_if(result.spans.begin(), result.spans.end(), [&](const StepSpan& span) {
      return span.issue.what == what && span.stage == stage &&
             span.issue.op.kind == PipelineOp::Kind::forward;
    });
  };
  CHECK(count(StepIssue::What::optimizer, 0) == 1);
  CHECK(count(StepIssue::What::compute, 0) == count(StepIssue::What::compute, 1));
  CHECK(count(StepIssue::What::compute, 0) >= 4);
  CHECK(step_trace(result).starts_with("{\"displayTimeUnit\":\"ms\",\"traceEvents\":["));
}

TEST_CASE("step: a layout that does not fit is said, with the figure") {
  StepConfig config;
  config.model = load_transformer("llama-3-70b");
  config.topology = "dgx-h100";
  config.nodes = 1;
  config.layout = layout(8, 8, 1, 1, 1, 8);
  config.layout.precision = Precision::bf16;
  const StepResult result = run_step(config, load_catalogue());
  CHECK_FALSE(result.memory.fits);
  REQUIRE(!result.notes.empty());
  CHECK(result.notes.front().starts_with("does not fit: "));
  config.layout.precision = Precision::nvfp4;
  CHECK_THROWS_WITH(run_step(config, load_catalogue()),
                    "H100_SXM5 does not compute in nvfp4, or its rate is not known\n"
                    "hint: it does in fp16, bf16, fp8, fp8-rows");
}

TEST_CASE("step: mistakes in a layout file") {
  const auto said = [](const std::string& text) {
    return error_text([&] { parse_step(text, "l.yaml"); });
  };
  const std::string good =
      "kind: step\nmodel: llama-3-8b\ntopology: dgx-h100\nnodes: 1\nsequence: 8192\n"
      "micro_batch: 1\nglobal_batch: 64\nprecision: bf16\n";
  CHECK(said(good) == "no error");
  CHECK(said(good + "parallel: {tp: 8, px: 2}\n") ==
        "l.yaml:9: parallel: unknown key \"px\"\nhint: did you mean \"pp\"?");
  CHECK(said(good + "schedule: interleaved\n") ==
        "l.yaml:9: schedule: interleaved needs model chunks\nhint: say parallel.vpp, 2 or more");
  CHECK(said(good + "framework: megatorn\n") ==
        "l.yaml:9: framework: unknown word \"megatorn\"\nhint: did you mean \"megatron\"?");
  std::string unknown = good;
  unknown.replace(unknown.find("llama-3-8b"), 10, "llama-3-9b");
  CHECK(said(unknown) ==
        "l.yaml:2: model: unknown model \"llama-3-9b\"\nhint: did you mean \"llama-3-8b\"?");
  std::string machine = good;
  machine.replace(machine.find("dgx-h100"), 8, "dgx-h10");
  CHECK(said(machine) ==
        "l.yaml:3: topology: unknown topology \"dgx-h10\"\nhint: did you mean \"dgx-h100\"?");
}

// Adam moves 30 bytes of a parameter with all in fp32; 2 + 8 + 4 where gradient, weight and moments
// are bf16. Both are one kernel that moves bytes.
TEST_CASE("step: an optimizer on bf16 weights moves less, and its gradients are half as large") {
  const std::string text =
      "kind: step\nmodel: llama-3-8b\ntopology: dgx-h100\nnodes: 1\nsequence: 8192\n"
      "micro_batch: 1\nglobal_batch: 8\nprecision: bf16\nframework: pytorch\nsharding: none\n"
      "recompute: full\n";
  const PartsCatalogue parts = load_catalogue();
  const StepConfig before = parse_step(text, "l.yaml");
  const StepConfig after =
      parse_step(text + "master_weights: none\noptimizer_states: bf16\n", "l.yaml");
  CHECK(framework_of(before).gradient_bytes == 4);
  CHECK(framework_of(after).gradient_bytes == 2);
  CHECK(layout_line(after.layout).find("master weights none, optimizer states bf16") !=
        std::string::npos);
  const StepResult fp32 = run_step(before, parts), bf16 = run_step(after, parts);
  CHECK(seconds(bf16.step.breakdown.optimizer) / seconds(fp32.step.breakdown.optimizer) ==
        doctest::Approx(14.0 / 30).epsilon(0.01));
  CHECK(bf16.step.breakdown.data < fp32.step.breakdown.data);
  CHECK(error_text([&] { parse_step(text + "master_weights: fp16\n", "l.yaml"); }) ==
        "l.yaml:12: master_weights: unknown word \"fp16\"\nhint: known: fp32, bf16, none");
}

TEST_CASE("step: what is wrong with a layout on its cluster names the file") {
  const std::string text =
      "kind: step\nmodel: llama-3-8b\ntopology: dgx-a100\nnodes: 1\nsequence: 8192\n"
      "micro_batch: 1\nglobal_batch: 64\n";
  const PartsCatalogue parts = load_catalogue();
  const auto said = [&](const std::string& more) {
    return error_text([&] { run_step(parse_step(text + more, "l.yaml"), parts); });
  };
  CHECK(said("precision: bf16\nparallel: {tp: 3}\n") ==
        "l.yaml:9: TP 3 x CP 1 x PP 1 = 3 GPUs do not divide 8\nhint: take a multiple of 3 GPUs");
  CHECK(said("precision: fp8\n").starts_with("l.yaml:1: A100_SXM4_80 does not compute in fp8"));
}

TEST_CASE("step: a micro-batch may be missing where a plan chooses it") {
  const std::string open =
      "kind: step\nmodel: llama-3-8b\ntopology: dgx-h100\nnodes: 1\nsequence: 8192\n"
      "global_batch: 64\nprecision: bf16\n";
  CHECK(error_text([&] { parse_step(open, "l.yaml"); }) == "l.yaml:1: missing key \"micro_batch\"");
  CHECK(parse_step(open, "l.yaml", LayoutFile::open).layout.micro_batch == 1);
}
