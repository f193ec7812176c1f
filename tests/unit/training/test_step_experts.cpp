// Steps whose experts are reached by kernels of their own in place of all-to-alls.
#include <doctest/doctest.h>

#include <algorithm>

#include "models/io/topologies/load.hpp"
#include "models/studies/training/step.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/starting_kernels.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

/// Kernels that take 100 us, there and back, of whatever.
ExpertKernels slow_kernels() { return starting_kernels(microseconds(50)); }

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
  CHECK(refusal("ep_kernels: normal\n", "cut") ==
        "step.yaml:9: ep_kernels: normal kernels bring tokens to whole experts, these are cut by "
        "TP 2\nhint: say "
        "parallel.etp 1, or ep_kernels: nccl-alltoall");
  CHECK(refusal("ep_kernels: nvlink\n", "spread") ==
        "step.yaml:9: ep_kernels: nvlink kernels stay in one NVLink domain, these GPUs lie in "
        "2\nhint: normal, "
        "low-latency, hybrid, deepep-v2, nccl-alltoall and hierarchical leave the domain");
  CHECK(refusal("ep_kernels: nccl-alltoall\n", "cut") == "no error");
}
