#pragma once
// Inference engines that have all-reduce kernels of their own, and those kernels.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "text/enum_words.hpp"

namespace fabricast {

enum class Engine : std::uint8_t { vllm, sglang, trtllm, flashinfer };
inline constexpr auto kEngineWords = enum_words<Engine>("vllm", "sglang", "trtllm", "flashinfer");

/// Which engine, and how old it is: rules and kernels changed between releases.
struct EngineRelease {
  Engine engine{};
  int major = 0, minor = 0, patch = 0;

  /// The engine is the same, and this release is that one or a later one.
  bool is_since(int a, int b, int c = 0) const {
    return std::tuple(major, minor, patch) >= std::tuple(a, b, c);
  }
  bool operator==(const EngineRelease&) const = default;
};

/// The newest release whose rules are known, of those that were measured.
EngineRelease newest(Engine engine);
/// "vllm", the newest, or "vllm:0.14.0"; release candidates count as their release ("1.2.0rc5").
/// Throws Error with the nearest name.
EngineRelease parse_engine(std::string_view text);
/// "vllm 0.24.0"
std::string to_text(const EngineRelease& release);

/// How the sum comes about. All but `nccl` are one kernel on all GPUs of a node.
enum class EngineKernel : std::uint8_t {
  nccl,       ///< the engine leaves the call to NCCL
  one_shot,   ///< reads all peers' inputs between two barriers (vLLM, SGLang to 0.5.10)
  two_shot,   ///< reads its share, sums, a barrier, then reads the sums peer by peer
  push,       ///< writes its input to all peers, who poll the data itself (SGLang from 0.5.11)
  pull,       ///< one-shot of the same release: more loads under way
  fused,      ///< two-shot of the same release: sums are written to all peers as they come about
  lamport,    ///< as push (TensorRT-LLM, FlashInfer)
  synced,     ///< two-shot of the same: copies in, reads its share, writes sums to all, copies out
  multimem,   ///< the NVSwitch sums and multicasts (PyTorch symmetric memory)
  symmetric,  ///< two-shot of PyTorch's symmetric memory
};
inline constexpr auto kEngineKernelWords = enum_words<EngineKernel>(
    "NCCL", "OneShot", "TwoShot", "PushOneShot", "PullOneShot", "FusedTwoShot", "LamportOneShot",
    "SyncTwoShot", "Multimem", "SymmetricTwoShot");

}  // namespace fabricast
