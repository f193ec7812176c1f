#include "models/hardware/cluster/nvls_rates.hpp"

#include <algorithm>

namespace fabricast {
namespace {

constexpr int kBlackwell = 100;  ///< compute capability

/// nvlsEfficiency of NCCL's src/graph/tuning.cc, 2.28 to 2.30, by which it takes NVLink for slower
/// in NVLS. Bytes on a GPU's links, each way, are S + S / GPUs of an AllReduce of S. Published
/// nccl-tests of 5, 6, 7, 8 Hopper GPUs (NVIDIA/nccl issue 1455) carry 315, 308, 306, 308 GB/s of
/// these, 0.83 to 0.85 of 370.8; of 6 and 8 B200 (stas00/ml-engineering, togethercomputer,
/// GKE) 545 and 538 to 543, 0.75 of 721.8, with chunks of 128 KiB as of 512 KiB.
double efficiency(int sm) { return sm >= kBlackwell ? 0.74 : 0.85; }

/// What a block takes for 8 heads' chunks of 32, 64 and 128 KiB, from the slopes between sizes of
/// published nccl-tests of AllReduce on one node, of which 1 us is the way through the switch.
/// Blackwell, 24 channels (B200 of GKE, B300 of eunomia-bpf/nccl-eBPF): 20 to 22, 29, 52 us, thus
/// 9.3 us and 25 GB/s. Hopper, 16 channels (NVIDIA/dgxc-benchmarking,
/// awslabs/awsome-distributed-ai, togethercomputer, NVIDIA/nccl-tests issue 290): 18 to 20, 32.5,
/// 61 us, thus 4.8 us with SoftwareCosts::nvls_copy_rate.
constexpr Bandwidth kBlackwellCopyRate{25'000'000'000};
constexpr Duration kBlackwellOverhead = nanoseconds(8300), kHopperOverhead = nanoseconds(3800);

}  // namespace

NvlsRates nvls_rates(const GpuPart& gpu, const SoftwareCosts& software) {
  if (software.in_place) return {efficiency(gpu.sm), {}, {}};
  if (gpu.sm >= kBlackwell) return {efficiency(gpu.sm), kBlackwellCopyRate, kBlackwellOverhead};
  return {efficiency(gpu.sm), software.nvls_copy_rate, kHopperOverhead};
}

SoftwareCosts in_place(SoftwareCosts software) {
  software.in_place = true;
  return software;
}

MultimemWire multimem_wire(const NodeGraph& node) {
  double least = 1;
  for (const GpuInfo& gpu : node.gpus()) least = std::min(least, efficiency(gpu.part.sm));
  return MultimemWire(least);
}

}  // namespace fabricast
