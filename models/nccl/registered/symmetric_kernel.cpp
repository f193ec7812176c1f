#include "models/nccl/registered/symmetric_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricast {
namespace {

using Kernel = SymmetricKernel;

constexpr std::array<SymmetricTraits, kSymmetricKernels> kTraits = {{
    {Collective::all_reduce, true, false, false, false},
    {Collective::all_reduce, true, true, false, false},
    {Collective::all_reduce, false, false, false, false},
    {Collective::all_reduce, false, true, true, false},
    {Collective::all_gather, true, false, false, false},
    {Collective::all_gather, true, true, false, false},
    {Collective::all_gather, false, false, false, false},
    {Collective::all_gather, false, true, false, false},
    {Collective::all_gather, false, true, false, true},
    {Collective::reduce_scatter, true, false, false, false},
    {Collective::reduce_scatter, false, false, false, false},
    {Collective::reduce_scatter, false, true, true, false},
    {Collective::reduce_scatter, false, false, false, true},
    {Collective::reduce_scatter, false, true, true, true},
}};

constexpr double kGiB_per_s = (1 << 30) / 1.e6;  // NCCL's GBps, in bytes per microsecond
constexpr double kTolerance = 1.025;

/// What one kernel is to the model.
struct Shape {
  double bus_bytes = 0;  ///< the more of what is sent and what is received
  double reach = 1;      ///< of a block, times its own rate
  int most_blocks = 64;
};

Shape shape_of(Kernel kernel, int sm, int ranks, double bytes, int most) {
  constexpr double kLlFactor = 9;        // twice the bytes, some processing, nothing unrolled
  constexpr double kMulticastsLl = 1.1;  // so that it beats LL without multicast
  constexpr double kMulticasts = 0.55;   // of the ranks: the same, bytes are n - 1 instead of n
  const double n = ranks;
  const SymmetricTraits traits = traits_of(kernel);
  Shape out;
  out.most_blocks = most;
  if (traits.ll) {
    out.bus_bytes = n * bytes * kLlFactor;
    if (traits.multicasts) out.reach = kMulticastsLl;
    return out;
  }
  const bool reduces_all = traits.collective == Collective::all_reduce;
  out.bus_bytes = reduces_all ? 2 * bytes * (n - 1) / n : (n - 1) * bytes;
  if (traits.multicasts) {
    if (reduces_all) out.bus_bytes = bytes / n + bytes;
    out.reach = reduces_all ? n : kMulticasts * n;
    out.most_blocks = std::min(most, ((sm < 100 ? 16 : 32) + ranks - 1) / ranks);
  }
  out.bus_bytes = std::floor(out.bus_bytes);
  return out;
}

/// What the model takes of a generation: a floor, the rate of a block, that of the links.
struct Rates {
  double base_us = 0, block = 0, peak = 0;
};

Rates rates_of(Kernel kernel, int sm) {
  const SymmetricTraits traits = traits_of(kernel);
  const bool reduces_all = traits.collective == Collective::all_reduce;
  const bool in_switch = kernel == Kernel::reduce_mc;
  if (sm < 100)
    return {traits.ll ? 4.5 : 7.8, (reduces_all ? 65 : 44) * kGiB_per_s,
            (in_switch ? 480 : 320) * kGiB_per_s};
  const double ll = traits.collective == Collective::all_gather ? 8.5 : 11;
  return {traits.ll ? ll : (reduces_all ? 19.5 : 13), 55 * kGiB_per_s,
          (in_switch ? 1000 : 600) * kGiB_per_s};
}

double time_us(const Shape& shape, const Rates& rates, int blocks) {
  // Smooth forms of min(blocks * rate, peak) and of max(0, time - 1 us).
  const double wanted = blocks * rates.block * shape.reach, soft = rates.block;
  const double bandwidth =
      rates.peak - soft * std::log1p((std::exp(rates.peak / soft) - 1) * std::exp(-wanted / soft));
  const double excess = shape.bus_bytes / bandwidth - 1;
  return rates.base_us + (excess >= 100 ? excess : std::log1p(std::exp(excess)));
}

}  // namespace

SymmetricTraits traits_of(SymmetricKernel kernel) {
  return kTraits[static_cast<std::size_t>(kernel)];
}

SymmetricEstimate estimate(SymmetricKernel kernel, int sm, int ranks, Bytes count_bytes,
                           const SymmetricBlocks& blocks) {
  const Shape shape =
      shape_of(kernel, sm, ranks, static_cast<double>(count_bytes.count), blocks.most);
  const Rates rates = rates_of(kernel, sm);
  SymmetricEstimate out{time_us(shape, rates, shape.most_blocks), shape.most_blocks};
  for (int some = blocks.least; some < shape.most_blocks; ++some) {
    const double us = time_us(shape, rates, some);
    if (us > kTolerance * out.us) continue;
    return {us, some};
  }
  return out;
}

}  // namespace fabricast
