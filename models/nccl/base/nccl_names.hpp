#pragma once
// Collectives by NCCL's names, as its logs, RAS and Inspector write them.

#include <optional>
#include <string_view>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// The collective whose nccl_name() is exactly `name`.
inline std::optional<Collective> collective_from_nccl_name(std::string_view name) {
  for (const Collective one : kAllCollectives)
    if (nccl_name(one) == name) return one;
  return std::nullopt;
}

}  // namespace fabricast
