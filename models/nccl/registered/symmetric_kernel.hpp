#pragma once
// NCCL's symmetric kernels, in its order (src/include/symmetric.h of 2.27, src/include/
// sym_kernels.h from 2.28 on): ties of its cost model go to the earlier one.

#include <cstdint>

#include "models/nccl/base/types.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// The part before the second underscore is how the bytes come, what follows how they go: LD and ST
/// are loads and stores of peers' memory, MC is multicast or summed by the NVSwitches (multimem),
/// LL has a flag in every word.
enum class SymmetricKernel : std::uint8_t {
  reduce_ll,     ///< stores inputs to all, each sums
  reduce_llmc,   ///< multicasts inputs, each sums
  reduce_ld_st,  ///< two shots: loads shares, stores sums
  reduce_mc,     ///< the switches sum and multicast
  gather_ll,
  gather_llmc,
  gather_st,
  gather_stmc,
  gather_rail,  ///< 2.29.7+: over rails and NVLink, of several domains
  scatter_ll,
  scatter_ld,
  scatter_ldmc,
  scatter_rail_ld,  ///< 2.29.7+: as gather_rail
  scatter_rail_ldmc
};
inline constexpr int kSymmetricKernels = 14;
inline constexpr auto kSymmetricKernelWords = enum_words<SymmetricKernel>(
    "AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxLD_AGxST",
    "AllReduce_RSxLDMC_AGxSTMC", "AllGather_LL", "AllGather_LLMC", "AllGather_ST", "AllGather_STMC",
    "AllGather_RailRing_LsaSTMC", "ReduceScatter_LL", "ReduceScatter_LD", "ReduceScatter_LDMC",
    "ReduceScatter_RailA2A_LsaLD", "ReduceScatter_RailA2A_LsaLDMC");

struct SymmetricTraits {
  Collective collective{};
  bool ll = false;
  bool multicasts = false;      ///< needs NVSwitches that multicast
  bool sums_in_switch = false;  ///< and sum
  bool crosses_network = false;
};
SymmetricTraits traits_of(SymmetricKernel kernel);

/// NCCL's cost model of a kernel: what it takes, and with the fewest thread blocks that come within
/// 2.5 % of that with all (src/symmetric.cc of 2.27.3 to 2.27.7, src/sym_kernels.cc from 2.28 on).
struct SymmetricEstimate {
  double us = 0;
  int blocks = 0;
};
struct SymmetricBlocks {
  int least = 1, most = 64;  ///< NCCL_MIN_CTAS, NCCL_MAX_CTAS; NCCL_SYM_CTAS is both
};
/// `count_bytes`: of the count as the call has it, so one rank's part of AllGather and
/// ReduceScatter. REQUIRES: a kernel that stays within a domain; ranks >= 2.
SymmetricEstimate estimate(SymmetricKernel kernel, int sm, int ranks, Bytes count_bytes,
                           const SymmetricBlocks& blocks);

}  // namespace fabricast
