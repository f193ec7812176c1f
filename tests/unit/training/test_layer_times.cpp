// What a layer of a step computes and moves: closed forms, published volumes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/step.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "models/training/layers/layer_calls.hpp"
#include "tests/unit/training/step_setups.hpp"
#include "tests/unit/training/training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

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
