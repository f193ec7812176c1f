#pragma once
// Which releases of NCCL have kernels for a GPU. Its host code decides for any GPU; without a
// kernel the first collective fails.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// The first release with kernels for this compute capability (10 * major + minor); nothing where
/// every release that is modelled has them.
std::optional<NcclVersion> kernels_since(int sm);
bool has_kernels(NcclVersion version, int sm);
/// The modelled releases that have them, oldest first.
std::vector<NcclVersion> releases_with_kernels(int sm);

/// "NCCL 2.21.5 has no kernels for B200_SXM (sm_100): no release before 2.25.1 has"; `gpu` may be
/// empty. REQUIRES: !has_kernels(version, sm).
std::string why_no_kernels(NcclVersion version, int sm, std::string_view gpu = {});

}  // namespace fabricast
