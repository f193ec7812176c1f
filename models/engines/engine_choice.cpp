#include "models/engines/engine_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>

#include "text/unit_text.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20;

/// A figure for 2, 4, 6 and 8 GPUs.
struct ByGpus {
  std::int64_t two, four, six, eight;

  std::int64_t of(int gpus) const {
    return gpus <= 2 ? two : gpus <= 4 ? four : gpus <= 6 ? six : eight;
  }
};

EngineChoice nccl(std::string why) { return {EngineKernel::nccl, std::move(why)}; }

EngineChoice above(Bytes size, std::int64_t most, std::string_view whose) {
  return nccl(fmt::format("{} is above the {} of {}", to_text(size), to_text(Bytes{most}), whose));
}

/// Kernels that address their peers' memory: "" if these GPUs can run them.
std::string why_not_together(const EngineQuestion& asked) {
  if (asked.gpus == 1) return "a single GPU has nobody to add up with";
  if (asked.hosts > 1) return fmt::format("the GPUs lie on {} hosts", asked.hosts);
  if (!asked.all_nvlink && asked.gpus > 2)
    return fmt::format("{} GPUs without NVLink between each two", asked.gpus);
  return {};
}

std::string why_not_even(int gpus) {
  if (gpus <= 8 && gpus % 2 == 0) return {};
  return fmt::format("the kernels are built for 2, 4, 6 and 8 GPUs, not {}", gpus);
}

/// vLLM's kernels, which SGLang took over.
EngineChoice shots(const EngineQuestion& asked) {
  if (asked.gpus == 2) return {EngineKernel::one_shot, "two GPUs always take one shot"};
  const std::int64_t limit = asked.gpus <= 4 ? 512 * kKiB : 256 * kKiB;
  const bool is_below = asked.size.count < limit;
  return {is_below ? EngineKernel::one_shot : EngineKernel::two_shot,
          fmt::format("{} GPUs take one shot below {}", asked.gpus, to_text(Bytes{limit}))};
}

struct SymmetricLimits {
  ByGpus custom, symmetric;
  int multimem_from;  ///< so many GPUs: the switch sums; fewer: two shots
};

/// all_reduce_utils.py; 10.3 from the releases on that know it.
std::optional<SymmetricLimits> symmetric_limits(int sm) {
  if (sm == 90)
    return SymmetricLimits{{64 * kMiB, 32 * kMiB, kMiB / 2, kMiB / 4},
                           {64 * kMiB, 32 * kMiB, 64 * kMiB, 64 * kMiB},
                           4};
  if (sm == 100)
    return SymmetricLimits{
        {2 * kMiB, 2 * kMiB, kMiB, kMiB}, {8 * kMiB, 32 * kMiB, 128 * kMiB, 128 * kMiB}, 6};
  if (sm == 103)
    return SymmetricLimits{
        {4 * kMiB, 4 * kMiB, 8 * kMiB, 4 * kMiB}, {4 * kMiB, 32 * kMiB, 32 * kMiB, 64 * kMiB}, 6};
  return std::nullopt;
}

EngineChoice vllm(const EngineQuestion& asked) {
  if (std::string why = why_not_even(asked.gpus); !why.empty()) return nccl(std::move(why));
  constexpr std::int64_t kCustomMax = 8 * kMiB;
  const std::optional<SymmetricLimits> limits = symmetric_limits(asked.sm);
  const bool symmetric = limits && asked.multicast && asked.release.is_since(0, 15);
  // Releases before took the limits of Blackwell, but not its symmetric memory.
  const bool bounded = symmetric || (limits && asked.sm >= 100 && asked.multicast);
  const std::int64_t custom_max =
      bounded ? std::min(kCustomMax, limits->custom.of(asked.gpus)) : kCustomMax;
  if (asked.size.count < custom_max) return shots(asked);
  if (!symmetric) return above(asked.size, custom_max, "its kernels");
  const std::int64_t most = limits->symmetric.of(asked.gpus);
  const bool fits =
      asked.release.is_since(0, 20) ? asked.size.count <= most : asked.size.count < most;
  if (!fits) return above(asked.size, most, "symmetric memory");
  if (!asked.bfloat16) return nccl("symmetric memory takes bfloat16 only");
  const bool in_switch = asked.gpus >= limits->multimem_from;
  return {in_switch ? EngineKernel::multimem : EngineKernel::symmetric,
          fmt::format("from {} on symmetric memory takes over", to_text(Bytes{custom_max}))};
}

EngineChoice sglang(const EngineQuestion& asked) {
  if (!asked.release.is_since(0, 5, 11)) {
    constexpr std::int64_t kMax = 8 * kMiB;
    if (std::string why = why_not_even(asked.gpus); !why.empty()) return nccl(std::move(why));
    return asked.size.count <= kMax ? shots(asked) : above(asked.size, kMax, "its kernels");
  }
  constexpr std::int64_t kMax = 16 * kMiB, kAlways = std::int64_t{1} << 60;
  if (!asked.all_nvlink) return nccl("the kernels need NVLink");
  if (asked.gpus > 8) return nccl(fmt::format("the kernels take up to 8 GPUs, not {}", asked.gpus));
  if (asked.size.count > kMax) return above(asked.size, kMax, "its kernels");
  // By GPUs from 2 on: up to here it pushes, and up to there it pulls in one shot.
  constexpr std::int64_t kPush[2][7] = {
      {2 * kMiB, 512 * kKiB, 384 * kKiB, 256 * kKiB, 192 * kKiB, 192 * kKiB, 160 * kKiB},
      {4 * kMiB, 4 * kMiB, 2 * kMiB, 2 * kMiB, kMiB, 896 * kKiB, 720 * kKiB}};
  const std::int64_t push = kPush[asked.sm >= 100 ? 1 : 0][asked.gpus - 2];
  const std::int64_t pull = asked.gpus == 2 ? kAlways : push;
  if (asked.size.count <= push)
    return {EngineKernel::push,
            fmt::format("{} GPUs push up to {}", asked.gpus, to_text(Bytes{push}))};
  return {asked.size.count <= pull ? EngineKernel::pull : EngineKernel::fused,
          fmt::format("{} GPUs push up to {}", asked.gpus, to_text(Bytes{push}))};
}

/// What TensorRT-LLM's table says of rows of 4096 elements without fusion, by log2 of their number:
/// 1 one shot, 2 two shots, 0 NCCL. For 2, 4 and 8 GPUs.
struct Strategies {
  std::string_view by_tokens[3];
};

const Strategies& strategies(const EngineRelease& release, int sm) {
  static constexpr Strategies kOldHopper = {
      {"121211111110000", "111222212200000", "111111222200000"}};
  static constexpr Strategies kOldBlackwell = {
      {"111111111110000", "111111111200000", "111111112200000"}};
  static constexpr Strategies kHopper = {{"111111111111000", "111111112220000", "111111102200000"}};
  static constexpr Strategies kBlackwell = {
      {"111111111111000", "111111111122000", "111111111222200"}};
  if (release.is_since(1, 3)) return sm >= 100 ? kBlackwell : kHopper;
  return sm >= 100 ? kOldBlackwell : kOldHopper;
}

EngineChoice trtllm(const EngineQuestion& asked) {
  if (!asked.all_nvlink) return nccl("its kernels need NVLink");
  if (asked.gpus != 2 && asked.gpus != 4 && asked.gpus != 8)
    return nccl(fmt::format("its table of strategies has 2, 4 and 8 GPUs, not {}", asked.gpus));
  const EngineRelease& release = asked.release;
  if (!release.is_since(1, 2)) {
    // Read off measured calls: the table of that release has no such limit.
    if (asked.size.count > kMiB) return above(asked.size, kMiB, "one shot");
    return {EngineKernel::lamport, "one shot up to 1 MiB"};
  }
  const std::int64_t most = release.is_since(1, 3) ? 64 * kMiB
                            : asked.gpus == 2      ? 16'000'000
                                                   : 8'000'000;
  if (asked.size.count > most) return above(asked.size, most, "its workspace");
  const auto tokens =
      static_cast<std::uint64_t>(asked.size.count / asked.element_bytes / kHiddenSize);
  const auto place =
      static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(tokens, 1))) - 1;
  const std::size_t gpus = asked.gpus == 2 ? 0 : asked.gpus == 4 ? 1 : 2;
  const std::string_view row = strategies(release, asked.sm).by_tokens[gpus];
  const char strategy = place < row.size() ? row[place] : '0';
  const EngineKernel kernel = strategy == '1'   ? EngineKernel::lamport
                              : strategy == '2' ? EngineKernel::synced
                                                : EngineKernel::nccl;
  return {kernel, fmt::format("its table says so for {} rows of {}",
                              std::max<std::uint64_t>(tokens, 1), kHiddenSize)};
}

EngineChoice flashinfer(const EngineQuestion& asked) {
  if (!asked.all_nvlink) return nccl("its kernels need NVLink");
  if (asked.gpus != 2 && asked.gpus != 4 && asked.gpus != 8)
    return nccl(fmt::format("its kernels are built for 2, 4 and 8 GPUs, not {}", asked.gpus));
  // MiB of what all ranks write to all, twice.
  const std::int64_t most = asked.gpus == 2 ? 512 : asked.gpus == 4 ? 64 : 42;
  const std::int64_t limit = most * kMiB / (2 * asked.gpus);
  return {asked.size.count <= limit ? EngineKernel::lamport : EngineKernel::synced,
          fmt::format("{} GPUs take one shot up to {}", asked.gpus, to_text(Bytes{limit}))};
}

}  // namespace

EngineChoice choose_kernel(const EngineQuestion& asked) {
  if (std::string why = why_not_together(asked); !why.empty()) return nccl(std::move(why));
  if (asked.size.count % 16 != 0)
    return nccl(fmt::format("{} B is no multiple of 16 B", asked.size.count));
  switch (asked.release.engine) {
    case Engine::vllm:
      return vllm(asked);
    case Engine::sglang:
      return sglang(asked);
    case Engine::trtllm:
      return trtllm(asked);
    case Engine::flashinfer:
      return flashinfer(asked);
  }
  return {};
}

}  // namespace fabricast
