// Few GPUs of a node: the fewer take part, the more of a call is the part that each keeps for
// itself, while its links carry nothing (sim/links/machine.hpp, WorkerClass::in_step).

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/invariants/cases.hpp"

namespace fabricast::testing {
namespace {

double milliseconds(const std::string& preset, Collective collective, int gpus, Bytes size) {
  BenchConfig config = bench_of(preset, 1, {size}, kNccl2_27_7);
  config.collectives = {collective};
  config.gpus_per_node = gpus;
  config.environment.set("NCCL_ALGO", "Ring");
  config.environment.set("NCCL_PROTO", "Simple");
  return static_cast<double>(
             run_bench(config, shipped_parts()).blocks.front().rows.front().call_time().ps) /
         1e9;
}

/// 512 MiB of half, out of place, in ms: nccl-tests as NVIDIA ran it, one process with a thread per
/// GPU. github.com/ai-dynamo/aiconfigurator at 095f58a5, aic-core/src/aiconfigurator_core/systems/
/// data/<system>/comm/nccl: a100_sxm 2.27.3, h100_sxm, b200_sxm and gb200 2.29.2.
struct Measured {
  const char* preset;
  Collective collective;
  double of_2, of_4, of_8;  ///< 0 = not measured, or not with Ring
};
constexpr Measured kMeasured[] = {
    {"dgx-a100", Collective::all_reduce, 2.7811, 3.7163, 4.2259},
    {"dgx-a100", Collective::all_gather, 1.7898, 2.1020, 2.2880},
    {"dgx-a100", Collective::reduce_scatter, 1.6118, 1.9823, 2.2071},
    {"dgx-h100", Collective::all_reduce, 1.6864, 2.2997, 0},
    {"dgx-h100", Collective::all_gather, 1.0386, 1.2675, 1.4015},
    {"dgx-h100", Collective::reduce_scatter, 1.0779, 1.2998, 1.3994},
    {"hgx-b200", Collective::all_reduce, 1.0053, 1.2708, 0},
    {"hgx-b200", Collective::all_gather, 0.6123, 0.7106, 0.7614},
    {"hgx-b200", Collective::reduce_scatter, 0.6510, 0.7288, 0.7665},
    {"gb200-nvl72", Collective::all_reduce, 1.0134, 1.2822, 0},
    {"gb200-nvl72", Collective::all_gather, 0.6145, 0.7145, 0},
    {"gb200-nvl72", Collective::reduce_scatter, 0.6569, 0.7333, 0},
};

TEST_CASE("a Ring of 2, 4 and 8 GPUs takes as long as NVIDIA measured on four systems") {
  double least = 2, most = 0;
  for (const Measured& row : kMeasured) {
    for (const auto& [count, measured] : {std::pair(2, row.of_2), {4, row.of_4}, {8, row.of_8}}) {
      const int gpus = count;  // what a lambda captures
      if (measured == 0) continue;
      CAPTURE(row.preset);
      CAPTURE(to_text(row.collective));
      CAPTURE(gpus);
      const double ratio =
          milliseconds(row.preset, row.collective, gpus, {std::int64_t{512} << 20}) / measured;
      CHECK(ratio >= 0.88);
      CHECK(ratio <= 1.11);
      least = std::min(least, ratio), most = std::max(most, ratio);
    }
  }
  MESSAGE(fmt::format("predicted / measured: {:.3f}..{:.3f}", least, most));
}

TEST_CASE("bus bandwidth of a Ring grows with the GPUs of a node") {
  // What is kept shrinks as 1/n; everything else that a ring does per byte stays.
  for (const char* preset : {"dgx-a100", "dgx-h100", "hgx-h200", "hgx-b200", "hgx-b300"}) {
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      double before = 0;
      for (const int gpus : {2, 4, 8}) {
        const Bytes size{std::int64_t{4} << 30};
        const double now = busbw_GBps(
            collective, gpus, size,
            {static_cast<std::int64_t>(milliseconds(preset, collective, gpus, size) * 1e9)});
        CAPTURE(preset);
        CAPTURE(to_text(collective));
        CAPTURE(gpus);
        CHECK(now > before);
        before = now;
      }
    }
  }
}

}  // namespace
}  // namespace fabricast::testing
