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

/// A block of Blackwell takes 19, 30, 52 us for 8 heads' chunks of 32, 64, 128 KiB, in published
/// nccl-tests of B200 (GKE) and B300 (eunomia-bpf/nccl-eBPF) at 64 MiB, 1 GiB, 8 GiB, all of them
/// with 24 channels: 8 us and 23.8 GB/s, of which 1 us is the way through the switch. Of Hopper the
/// same three sizes lie within 3 % with SoftwareCosts::nvls_copy_rate and Simple's fixed cost.
constexpr Bandwidth kBlackwellCopyRate{23'800'000'000};
constexpr Duration kBlackwellOverhead = microseconds(7);

}  // namespace

NvlsRates nvls_rates(const GpuPart& gpu, const SoftwareCosts& software) {
  if (is_in_place(software)) return {efficiency(gpu.sm), {}, {}};
  if (gpu.sm >= kBlackwell) return {efficiency(gpu.sm), kBlackwellCopyRate, kBlackwellOverhead};
  return {
      efficiency(gpu.sm), software.nvls_copy_rate,
      software.costs(Protocol::simple, gpu).overhead[static_cast<std::size_t>(HopKind::nvlink)]};
}

SoftwareCosts in_place(SoftwareCosts software) {
  software.nvls_copy_rate = {};  // takes no time, as of every worker without a rate
  return software;
}
bool is_in_place(const SoftwareCosts& software) { return software.nvls_copy_rate == Bandwidth{}; }

MultimemWire multimem_wire(const NodeGraph& node) {
  double least = 1;
  for (const GpuInfo& gpu : node.gpus()) least = std::min(least, efficiency(gpu.part.sm));
  return MultimemWire(least);
}

}  // namespace fabricast
