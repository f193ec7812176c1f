#include "models/nccl/tuner/nvls_setup.hpp"

#include <algorithm>

namespace fabricast {
namespace {

constexpr Bytes kib(std::int64_t n) { return {n << 10}; }

/// Before the user has his say; 0 bytes: by the common rule.
NvlsSetup by_architecture(const NvlsInput& in) {
  const bool is_blackwell = in.version >= kNccl2_25 && in.compute_capability_min >= 100;
  if (!is_blackwell) return {16, {}, {}};
  return {in.nodes == 1 && in.version >= kNccl2_27 ? 24 : 32, {}, {}};
}

/// 2.30 measured Blackwell on several nodes by the speed of the NICs.
void tune_blackwell(const NvlsInput& in, NvlsSetup& s) {
  const int per_node = in.ranks_per_node;
  const bool is_near = in.type_inter <= PathType::pxb;
  s.chunk = kib(128);
  if (in.nodes == 2 && in.net_bw >= 48) {
    s = {32, kib(128), kib(128)};
    if (per_node <= 4) {
      s.chunk = s.tree_chunk_max = kib(256);
    } else if (per_node >= 16 || (per_node <= 8 && is_near && in.net_bw < 96)) {
      s.tree_chunk_max = kib(64);
    }
  } else if (in.net_bw >= 96) {
    if (per_node <= 8) {
      s = {24, kib(256), kib(256)};
    } else {
      s = {32, kib(128), kib(per_node < 32 ? 128 : 64)};
    }
  } else if (in.net_bw >= 48) {
    s = {24, kib(128), kib(is_near ? 64 : 128)};
  }
}

}  // namespace

NvlsSetup nvls_setup(const NvlsInput& input, const NcclSettings& settings) {
  NvlsSetup s = by_architecture(input);
  const bool is_tuned = input.version >= kNccl2_30 && input.compute_capability_min >= 100;
  if (is_tuned && input.nodes > 1) tune_blackwell(input, s);
  s.channels =
      std::clamp(settings.nvls.channels.value_or(s.channels), settings.ctas_min, settings.ctas_max);
  if (settings.nvls.chunk) s.chunk = *settings.nvls.chunk;
  if (s.chunk.count == 0) s.chunk = kib(128);
  if (settings.nvls.tree_chunk_max) {
    s.tree_chunk_max = *settings.nvls.tree_chunk_max;
  } else if (s.tree_chunk_max.count == 0) {
    const Bytes most = input.version < kNccl2_21 ? kib(512) : s.chunk;
    s.tree_chunk_max = input.nodes >= 4 && input.version >= kNccl2_19 ? kib(64) : most;
  }
  return s;
}

}  // namespace fabricast
