// Steps: closed forms where everything is known, invariants, published volumes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/step.hpp"
#include "models/studies/training/training_reports.hpp"
#include "models/studies/training/validate_steps.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "models/training/layers/layer_calls.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/training/training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

/// Collectives of DGX A100 by the rules of 2.21.5. Those of 2.30.7 give both GPUs of a PCIe switch
/// the same NIC where a group has one GPU of a node (the NIC's number counts the group's GPUs
/// only).
CommunicatorConfig by_2_21() {
  CommunicatorConfig out;
  out.version = kNccl2_21_5;
  return out;
}

struct OneNode {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster = load_cluster({"dgx-a100", 1, ""}, parts);
  CollectiveTimes collectives{cluster, parts.software, by_2_21()};
};

StepSetup setup(const Transformer& model, const Layout& layout) {
  StepSetup out;
  out.model = model;
  out.layout = layout;
  out.framework = load_frameworks().at("megatron");
  out.gpu = load_compute().at("A100_SXM4_80");
  return out;
}

double time_of(OneNode& site, const StepSetup& s) {
  return seconds(step_time(s, site.collectives).time);
}

}  // namespace

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

TEST_CASE("step: the bytes of a layer's collectives") {
  // Narayanan et al. 2021 and Megatron-LM: T h of 16 bits per collective; GPT-3 at batch 1: 50 MB.
  const Layout l = layout(64, 8, 8, 1, 1, 64);
  CHECK(2.0 * l.micro_batch * l.sequence * gpt_175b().hidden == 50'331'648.0);
  CHECK(tensor_group(l).size == 8);
  CHECK(dense_data_group(l).stride == 8);
  CHECK(stage_pair(l).stride == 8);
  Layout moe = layout(64, 2, 2, 1, 1, 64);
  moe.expert = 8;
  CHECK(expert_group(moe).stride == 1);
  CHECK(moe.expert_replicas() == 4);
  CHECK(expert_data_group(moe).stride == 8);
}

TEST_CASE("step: inputs of products are gathered as these take them") {
  Layout l = layout(8, 8, 1, 1, 1, 8);
  const Transformer model = gpt(4, 4096, 32);
  const double elements = 1.0 * l.sequence * model.hidden;
  const auto bytes = [&](Precision precision) {
    l.precision = precision;
    return LayerCalls(model, l).gathered().bytes / elements;
  };
  CHECK(bytes(Precision::bf16) == 2);
  CHECK(bytes(Precision::fp8) == 1);
  CHECK(bytes(Precision::fp8_rows) == 2);
  CHECK(bytes(Precision::nvfp4) == 0.5625);
}

TEST_CASE("step: what attention needs of the rest of the sequence") {
  // 512 tokens of each of 4 ranks; 4096 wide queries, keys and values cut by TP 2.
  Layout l = layout(8, 2, 1, 1, 1, 8);
  l.context = 4;
  const Transformer model = gpt(4, 4096, 32);
  const double rows = 2.0 * 512 * 4096 / 2;
  const auto calls = [&](ContextExchange exchange, bool forward) {
    l.context_exchange = exchange;
    std::string out;
    for (const GroupCall& call : LayerCalls(model, l).context(forward))
      out += fmt::format("{} {}, ", to_text(call.collective), call.bytes / rows);
    return out;
  };
  // Keys and values of all four ranks; backward has to gather them again.
  CHECK(calls(ContextExchange::all_gather, true) == "all_gather 8, ");
  CHECK(calls(ContextExchange::all_gather, false) == "all_gather 8, reduce_scatter 8, ");
  CHECK(calls(ContextExchange::all_to_all, true) == "alltoall 3, alltoall 1, ");
  CHECK(calls(ContextExchange::all_to_all, false) == "alltoall 1, alltoall 3, ");
  // Latent attention: queries and keys of 192, values and outputs of 128 a head.
  const Transformer latent = load_transformer("deepseek-v3");
  l.context_exchange = ContextExchange::all_to_all;
  const std::vector<GroupCall> there = LayerCalls(latent, l).context(true);
  CHECK(there.front().bytes / there.back().bytes == (192 + 192 + 128) / 128.0);
  CHECK(calls(ContextExchange::ring, true) == "sendrecv 2, ");
  CHECK(calls(ContextExchange::ring, false) == "sendrecv 4, ");
}

TEST_CASE("step: products that hide TP's communication run in pieces of their rows") {
  OneNode site;
  const auto layer = [&](int tensor, bool overlap) {
    Layout l = layout(8, tensor, 1, 1, 1, 8);
    l.overlap.tensor = overlap;
    return layer_time(setup(gpt(4, 4096, 32), l), false, site.collectives);
  };
  CHECK(layer(1, true).forward.gemm == layer(1, false).forward.gemm);
  // 2048 rows as eight pieces of 256 before the inputs, and as four behind the outputs.
  const StepSetup s = setup(gpt(4, 4096, 32), layout(8, 8, 1, 1, 1, 8));
  const auto gemm = [&](double m, double n, double k) {
    return gemm_time(s.gpu, Precision::fp16, {m, n, k});
  };
  CHECK(layer(8, true).forward.gemm ==
        doctest::Approx(8 * (gemm(256, 3 * 512, 4096) + gemm(256, 2048, 4096)) +
                        4 * (gemm(512, 4096, 512) + gemm(512, 4096, 2048))));
  CHECK(layer(8, true).forward.gemm > layer(8, false).forward.gemm);
  // Of backward only the gradients of what outputs were made of; those of weights are whole.
  CHECK(layer(8, true).weight.gemm == layer(8, false).weight.gemm);
}

TEST_CASE("step: a shared expert is cut by TP as an MLP is") {
  Layout l = layout(8, 4, 1, 1, 1, 8);
  Transformer model = gpt(4, 4096, 32);
  model.experts = Experts{.count = 16, .per_token = 2, .ffn = 2048};
  const auto calls = [&](bool forward) {
    std::vector<std::string> out;
    const LayerCalls of(model, l);
    for (const GroupCall& call : forward ? of.forward(true) : of.backward(true, Recompute::none))
      out.emplace_back(to_text(call.collective));
    return out;
  };
  using Words = std::vector<std::string>;
  CHECK(calls(true) == Words{"all_gather", "reduce_scatter"});  // attention's
  model.experts->shared_ffn = 2048;
  CHECK(calls(true) == Words{"all_gather", "reduce_scatter", "all_gather", "reduce_scatter"});
  // Each gathers what it saved of its input, too.
  CHECK(calls(false) == Words{"all_gather", "all_gather", "reduce_scatter", "all_gather",
                              "all_gather", "reduce_scatter"});
  // And takes as long as a dense MLP of that width.
  OneNode site;
  const LayerTime shared = layer_time(setup(model, l), true, site.collectives);
  model.experts->shared_ffn = 0;
  const LayerTime routed = layer_time(setup(model, l), true, site.collectives);
  Transformer dense = gpt(4, 4096, 32);
  dense.ffn = 2048;
  const LayerTime block = layer_time(setup(dense, l), false, site.collectives);
  CHECK(shared.forward.tensor - routed.forward.tensor ==
        doctest::Approx(block.forward.tensor - routed.forward.tensor));
  CHECK(shared.backward.gemm > routed.backward.gemm);
}

TEST_CASE("step: kernels without a time of their own start and end, too") {
  OneNode site;
  StepSetup s = setup(gpt(4, 4096, 32), layout(1, 1, 1, 1, 2, 2));
  const LayerTime issued = layer_time(s, false, site.collectives);
  s.framework.host_issue = {};  // graphs of what can be fused
  const LayerTime fused = layer_time(s, false, site.collectives);
  // Two norms, an activation, four products and attention have one: 17 of 25, twice in backward.
  const double starts = 17 * 2e-6;
  CHECK(issued.forward.elementwise - fused.forward.elementwise == doctest::Approx(starts));
  CHECK(issued.backward.elementwise - fused.backward.elementwise == doctest::Approx(2 * starts));
}

TEST_CASE("step: tokens of packed documents see their own document alone") {
  OneNode site;
  StepSetup s = setup(gpt(4, 4096, 32), layout(8, 1, 1, 1, 1, 8));
  s.layout.sequence = 32768;
  const LayerTime whole = layer_time(s, false, site.collectives);
  s.layout.document = 8192;
  const LayerTime packed = layer_time(s, false, site.collectives);
  // A quarter of the pairs, by kernels that reach almost as much.
  CHECK(packed.forward.attention < 0.3 * whole.forward.attention);
  CHECK(packed.forward.attention > 0.25 * whole.forward.attention);
  CHECK(packed.forward.gemm == whole.forward.gemm);
}

TEST_CASE("step: a ring computes attention block by block, and adds the blocks up") {
  OneNode site;
  Layout l = layout(8, 1, 1, 1, 1, 8);
  l.context = 4;
  l.sequence = 16384;
  StepSetup s = setup(gpt(4, 4096, 32), l);
  const LayerTime ring = layer_time(s, false, site.collectives);
  s.layout.context_exchange = ContextExchange::all_gather;
  const LayerTime gathered = layer_time(s, false, site.collectives);
  // As many FLOPs, in four kernels of a quarter of the sequence.
  CHECK(ring.forward.attention > gathered.forward.attention);
  CHECK(ring.forward.attention < 1.5 * gathered.forward.attention);
  // 14 bytes an element, of all rows once and of half of them three times; 4096 rows of 4096.
  const double added = 14.0 * 2.5 * 4096 * 4096 * s.framework.elementwise;
  CHECK(ring.forward.elementwise - gathered.forward.elementwise ==
        doctest::Approx(elementwise_time(s.gpu, added)));
}

TEST_CASE("step: the host issues fewer kernels where tokens are dropped") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  CollectiveTimes times(cluster, parts.software, {});
  const FrameworkCatalogue frameworks = load_frameworks();
  StepSetup s{gpt(4, 512, 8), layout(8, 1, 1, 1, 1, 8), frameworks.at("megatron-bridge 25.09"),
              load_compute().at("H100_SXM5"), false};
  s.layout.sequence = 16;  // next to nothing for the GPU
  s.layout.expert = 8;
  s.layout.overlap.expert = false;
  s.model.experts = Experts{.count = 16, .per_token = 1, .ffn = 512};
  CHECK(s.framework.drops_tokens);
  // 25 of a layer, 90 of experts, at 10 us each.
  CHECK(layer_time(s, true, times).forward.total() == doctest::Approx(1.15e-3));
  s.framework = frameworks.at("megatron-bridge 25.11");
  // 240 that wait for the counts of tokens, and two for each of two experts.
  CHECK(layer_time(s, true, times).forward.total() == doctest::Approx(2.69e-3));
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
}

TEST_CASE("validate steps: rows that are not known are left out, with a reason") {
  const std::string header =
      "case_id,mode,source_group,framework,precision,dtype,gpu,gpu_mem_gb,gpus_per_node,gpus,"
      "network,model,layers,hidden,ffn_hidden,ffn_type,heads,kv_heads,head_dim,vocab,seq_len,"
      "experts,topk,moe_ffn,shared_ffn,dense_layers,tp,pp,vpp,cp,ep,etp,sharding,micro_batch,"
      "global_batch,recompute,sequence_parallel,step_time_s\n";
  const auto row = [](const char* mode, const char* gpu, const char* framework) {
    return std::string("a,") + mode + ",g," + framework + ",bf16,bf16," + gpu +
           ",80,8,8,,m,4,1024,4096,gelu,16,16,64,51200,2048,,,,,,8,1,,1,,,zero1,1,8,none,,1.0\n";
  };
  const auto why = [&](const std::string& text) {
    const StepCases cases = read_step_cases(header + text, "c.csv", load_frameworks());
    return cases.left_out.empty() ? std::string() : cases.left_out.front().why;
  };
  CHECK(why(row("pretrain", "H100", "NeMo")).empty());
  CHECK(why(row("decode", "H100", "NeMo")).empty());
  CHECK(why(row("distill", "H100", "NeMo")) == "mode distill is not modelled");
  CHECK(why(row("pretrain", "MI300", "NeMo")) == "GPU MI300 is not known");
  const auto with = [&](std::string_view cells, std::string_view others) {
    std::string text = row("pretrain", "H100", "NeMo");
    return text.replace(text.find(cells), cells.size(), others);
  };
  CHECK(why(with(",1.0\n", ",0\n")) == "no step time");
  CHECK(why(with("zero1", "hsdp(group=x)")) ==
        "sharding \"hsdp(group=x)\" names no size of a group");
  for (const char* cells : {",0,16,64,51200", ",16,0,64,51200", ",16,16,64,0"})
    CHECK_THROWS_AS(why(with(",16,16,64,51200", cells)), Error);
  CHECK_THROWS_AS(why(with(",80,8,8,", ",80,0,8,")), Error);
  // Software that is not known is said to be so.
  const auto framework = [&](const char* name) {
    const std::string text = header + row("pretrain", "H100", name);
    return read_step_cases(text, "c.csv", load_frameworks()).cases.front().config.framework;
  };
  CHECK(framework("Own") == "unknown");
  CHECK(framework("Megatron-Bridge 26.03") == "megatron-bridge 26.02.01");
  CHECK(framework("Megatron-Bridge 24.01") == "megatron-bridge 25.09");
  CHECK(framework("NeMo (Llama 3.1 70b 24.09 BF16 ; v24.11.1)") == "megatron 24.09");
  CHECK(framework("NeMo (24.x)") == "megatron 24.09");
  CHECK(framework("Megatron-Bridge") == "megatron-bridge");
  CHECK(framework("MLPerf v5.1 NVIDIA NeMo Framework Release 25.09") == "mlperf 5.1");
  CHECK(framework("MLPerf v4.0 NVIDIA NeMo Framework") == "mlperf 4.0");
  CHECK(framework("nanotron 0.5") == "nanotron");
  // Megatron-LM is another one since 2023.
  const auto dated = [&](const char* date) {
    const std::string text =
        fmt::format("date,{}{},{}", header, date, row("pretrain", "H100", "Megatron-LM"));
    return read_step_cases(text, "c.csv", load_frameworks()).cases.front();
  };
  CHECK(dated("2022-05").config.framework == "megatron-2021");
  CHECK(dated("2022-05").note.empty());
  CHECK(dated("2024-07").config.framework == "megatron");
  CHECK(dated("").config.framework == "megatron-2021");
  CHECK(dated("").note == "framework \"Megatron-LM\" without a date: taken for megatron-2021");

  const StepCases cases =
      read_step_cases(header + row("pretrain", "H100", "NeMo 25"), "c.csv", load_frameworks());
  const StepValidation v = validate_steps(cases, load_catalogue(), load_step_fits());
  REQUIRE(v.rows.size() == 1);
  CHECK(v.rows[0].predicted > 0);
  CHECK(report_csv(validation_report(v))
            .starts_with("case_id,measured_s,predicted_s,lower_s,upper_s,"));
}

TEST_CASE("validate steps: MLPerf's logs without a layout are cut as NVIDIA's configurations cut") {
  const auto read = [](const char* framework, const char* gpu, int gpus, const char* cp, int batch,
                       const char* notes) {
    return read_step_cases(
        fmt::format("case_id,mode,source_group,framework,precision,dtype,gpu,gpu_mem_gb,"
                    "gpus_per_node,gpus,network,model,layers,hidden,ffn_hidden,ffn_type,heads,"
                    "kv_heads,head_dim,vocab,seq_len,experts,topk,moe_ffn,shared_ffn,dense_layers,"
                    "tp,pp,vpp,cp,ep,etp,sharding,micro_batch,global_batch,recompute,"
                    "sequence_parallel,step_time_s,notes\n"
                    "a,lora,mlperf,{},fp8,fp8,{},,8,{},,m,80,8192,28672,swiglu,64,8,128,32000,8192,"
                    ",,,,,,,,{},1,,,,{},,,1.0,{}\n",
                    framework, gpu, gpus, cp, batch, notes),
        "c.csv", load_frameworks());
  };
  const auto layout = [&](const char* gpu, int gpus, const char* cp, int batch, int steps) {
    const std::string notes = fmt::format("grad accum {}.0", steps);
    const StepCases cases = read("MLPerf v5.1 NVIDIA", gpu, gpus, cp, batch, notes.c_str());
    REQUIRE(cases.cases.size() == 1);
    CHECK(cases.cases[0].note.starts_with("tp is blank"));
    return cases.cases[0].config.layout;
  };
  // 32 GPUs, 8 sequences in two steps: 4 copies of 8 GPUs.
  const Layout hopper = layout("H100", 32, "", 8, 2);
  CHECK(hopper.tensor == 4);
  CHECK(hopper.context == 2);
  CHECK(hopper.micro_batch == 1);
  CHECK(hopper.sharding == Sharding::zero1);
  const Layout blackwell = layout("GB200", 72, "", 9, 1);
  CHECK(blackwell.tensor == 1);
  CHECK(blackwell.context == 8);
  CHECK(layout("H200", 32, "4", 8, 1).tensor == 1);  // what is said counts
  CHECK(layout("B200", 8, "", 16, 1).micro_batch == 2);
  CHECK(read("MLPerf v5.1 NVIDIA", "H100", 8, "", 8, "").left_out.front().why == "tp is blank");
  CHECK(read("NeMo", "H100", 8, "", 8, "grad accum 4.0").left_out.front().why == "tp is blank");
}

namespace {

/// Kernels that take 100 us, there and back, of whatever.
ExpertKernels slow_kernels() {
  ExpertKernels out;
  ModeCosts costs;
  for (PhaseCosts& phase : costs.phases) phase.start = microseconds(50);
  for (auto& mode : out.modes) mode = {costs};
  return out;
}

StepConfig moe_step(const std::string& more) {
  return parse_step(
      "kind: step\nmodel: mixtral-8x7b\ntopology: dgx-h100\nnodes: 1\nsequence: 16\n"
      "micro_batch: 1\nglobal_batch: 8\nprecision: bf16\nparallel: {ep: 8}\n" +
          more,
      "step.yaml");
}

}  // namespace

// 16 tokens of each GPU move in next to no time, so a pass of an MoE layer is 100 us of start.
TEST_CASE("step: dispatch and combine by kernels of their own, exposed or beside compute") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  const ExpertKernels kernels = slow_kernels();
  const StepConfig config = moe_step("ep_kernels: {mode: normal, sms: 22}\n");
  REQUIRE(config.ep_kernels);
  Layout layout = config.layout;
  layout.gpus = 8;
  layout.recompute = Recompute::none;
  StepSetup s{config.model, layout, load_frameworks().at("megatron"),
              load_compute().at("H100_SXM5"), false};
  const auto layer = [&](bool overlaps, const ExpertWish& wish) {
    CollectiveTimes times(cluster, parts.software, {});
    times.use(kernels, wish);
    s.layout.overlap.expert = overlaps;
    return layer_time(s, true, times);
  };
  const LayerTime exposed = layer(false, *config.ep_kernels);
  CHECK(exposed.forward.expert == doctest::Approx(100e-6).epsilon(0.05));
  CHECK(exposed.backward.expert == doctest::Approx(100e-6).epsilon(0.05));
  CHECK(exposed.forward.contention == 0);
  const LayerTime hidden = layer(true, *config.ep_kernels);
  CHECK(hidden.forward.expert + hidden.forward.expert_hidden ==
        doctest::Approx(exposed.forward.expert));
  CHECK(hidden.forward.expert_hidden > 0);
  // 22 of 132 multiprocessors are missing meanwhile.
  CHECK(hidden.forward.contention == doctest::Approx(hidden.forward.expert_hidden * 22 / 132));
  // The GPU of a popular expert computes more.
  ExpertWish uneven = *config.ep_kernels;
  uneven.weights = {50, 1, 1, 1, 1, 1, 1, 1};
  s.layout.sequence = 4096;
  CHECK(layer(false, uneven).forward.gemm > 1.5 * layer(false, *config.ep_kernels).forward.gemm);
}

TEST_CASE("step: layouts that kernels of experts do not reach are refused") {
  const PartsCatalogue parts = load_catalogue();
  const auto refusal = [&](const std::string& more, const std::string& parallel) {
    return error_text([&] {
      StepConfig config = moe_step(more);
      config.nodes = 2;
      config.layout.expert = parallel == "cut" ? 2 : 8;
      config.layout.expert_tensor = parallel == "cut" ? 2 : 1;
      config.layout.tensor = parallel == "cut" ? 2 : 1;
      config.layout.global_batch = 16;
      if (parallel == "spread") config.ranks = {{false, 0, 1, 0, 3}};
      if (parallel == "spread") config.gpus_per_node = 4;
      run_step(config, parts);
    });
  };
  CHECK(
      refusal("ep_kernels: normal\n", "cut") ==
      "ep_kernels: normal kernels bring tokens to whole experts, these are cut by TP 2\nhint: say "
      "parallel.etp 1, or ep_kernels: nccl-alltoall");
  CHECK(refusal("ep_kernels: nvlink\n", "spread") ==
        "ep_kernels: nvlink kernels stay in one NVLink domain, these GPUs lie in 2\nhint: normal, "
        "low-latency, hybrid, deepep-v2, nccl-alltoall and hierarchical leave the domain");
  CHECK(refusal("ep_kernels: nccl-alltoall\n", "cut") == "no error");
}
