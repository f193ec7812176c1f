#pragma once
// What is asked of expert parallelism: the experts of a layer lie on the ranks of a group, evenly
// and in order; each rank has tokens, which dispatch sends to the ranks of their experts, and
// combine brings back summed.

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// Whose kernels.
enum class EpMode : std::uint8_t {
  normal,       ///< DeepEP V1, normal kernels: high throughput, for training and prefill
  low_latency,  ///< DeepEP V1, low-latency kernels: for decode
  nvlink,       ///< TensorRT-LLM's NVLinkOneSided: one NVLink domain, counts travel with tokens
  nvlink_two_sided,  ///< its NVLinkTwoSided: a kernel before it tells counts
  hybrid,            ///< NVIDIA's Hybrid-EP in DeepEP: few SMs, TMA, RDMA between NVLink domains
  v2,                ///< DeepEP V2: few SMs, NCCL's GIN between nodes
  nccl,              ///< NCCL's all-to-all, a copy for every expert of a token
  hierarchical       ///< two NCCL all-to-alls: between equal-numbered GPUs, then inside the node
};
inline constexpr int kEpModes = 8;
inline constexpr int kEpKernelModes = 6;  ///< the first so many have kernels of their own
inline constexpr EnumWords<EpMode, kEpModes> kEpModeWords{
    {"normal", "low-latency", "nvlink", "nvlink-two-sided", "hybrid", "deepep-v2", "nccl-alltoall",
     "hierarchical"}};
/// Simulated here; the others are calls of NCCL.
constexpr bool has_own_kernels(EpMode mode) { return static_cast<int>(mode) < kEpKernelModes; }
constexpr bool stays_in_domain(EpMode mode) {
  return mode == EpMode::nvlink || mode == EpMode::nvlink_two_sided;
}
/// Runs on as many SMs as it is given (ExpertCall::sms).
constexpr bool takes_sms(EpMode mode) {
  return mode == EpMode::normal || mode == EpMode::hybrid || mode == EpMode::v2;
}
/// Every SM of these takes tokens that it loads once, and stores them where they go (dispatch), or
/// loads what comes from several GPUs and adds it up (combine): nobody receives.
constexpr bool is_one_sided(EpMode mode) { return mode == EpMode::hybrid || mode == EpMode::v2; }

enum class EpPhase : std::uint8_t { dispatch, combine };
inline constexpr EnumWords<EpPhase, 2> kEpPhaseWords{{"dispatch", "combine"}};

enum class EpDatatype : std::uint8_t { fp8, bf16, nvfp4 };
inline constexpr EnumWords<EpDatatype, 3> kEpDatatypeWords{{"fp8", "bf16", "nvfp4"}};

/// How tokens choose experts.
struct ExpertChoice {
  int experts = 256;
  int top_k = 8;
  /// Group-limited (DeepSeek-V3): experts fall into so many equal groups, and a token takes its
  /// experts from `top_groups` of them, those of the best single experts. 1 = no limit.
  int groups = 1, top_groups = 1;
  /// How likely a token takes each expert first, relative to the others; empty = alike.
  std::vector<double> weights;
};

struct ExpertCall {
  ExpertChoice choice;
  int tokens = 4096;  ///< of each rank
  int hidden = 7168;
  EpDatatype dispatched = EpDatatype::fp8;  ///< combine brings bf16 back
  int sms = 24;                             ///< SMs (thread blocks) where the mode takes_sms()
  std::uint64_t seed = 1;                   ///< of the draw of experts
};

/// SMs that kernels may be given.
inline constexpr int kSmsMax = 256;

/// Bytes of a token on the way: fp8 has a scale of four bytes for each 128 values (DeepEP,
/// tests/test_internode.py), nvfp4 one of a byte for each 16.
constexpr std::int64_t token_bytes(const ExpertCall& call, EpPhase phase) {
  if (phase == EpPhase::combine || call.dispatched == EpDatatype::bf16) return 2 * call.hidden;
  if (call.dispatched == EpDatatype::nvfp4) return (call.hidden + 1) / 2 + (call.hidden + 15) / 16;
  return call.hidden + (call.hidden + 127) / 128 * 4;
}

}  // namespace fabricast
