#include "models/nccl/environment/gpu_kernels.hpp"

#include <fmt/format.h>

#include <cassert>

namespace fabricast {
namespace {

struct FirstRelease {
  int sm;  ///< and what is above it
  NcclVersion version;
};
// makefiles/common.mk: with CUDA 12.8, NCCL 2.25.1 is the first to be compiled for sm_100 and
// sm_120. They run on sm_103 and sm_121, too (CUDA C++ Programming Guide, Binary Compatibility).
// sm_90 is older than every release that is modelled.
constexpr FirstRelease kBlackwell{100, {25, 1}};

}  // namespace

std::optional<NcclVersion> kernels_since(int sm) {
  if (sm >= kBlackwell.sm) return kBlackwell.version;
  return std::nullopt;
}

bool has_kernels(NcclVersion version, int sm) {
  return version >= kernels_since(sm).value_or(NcclVersion{0, 0});
}

std::vector<NcclVersion> releases_with_kernels(int sm) {
  std::vector<NcclVersion> out;
  for (const NcclVersion version : kModelledVersions) {
    if (has_kernels(version, sm)) out.push_back(version);
  }
  return out;
}

std::string why_no_kernels(NcclVersion version, int sm, std::string_view gpu) {
  assert(!has_kernels(version, sm));
  return fmt::format("NCCL {} has no kernels for {}: no release before {} has", to_text(version),
                     gpu.empty() ? fmt::format("sm_{}", sm) : fmt::format("{} (sm_{})", gpu, sm),
                     to_text(*kernels_since(sm)));
}

}  // namespace fabricast
