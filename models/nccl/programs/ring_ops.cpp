#include "models/nccl/programs/ring_ops.hpp"

#include <array>
#include <string_view>

namespace fabricast {

std::string_view to_text(PrimitiveKind kind) {
  constexpr std::array<std::string_view, kPrimitiveKinds> kNames = {
      "send",           "copySend",          "recv", "recvCopySend", "recvReduceSend",
      "recvReduceCopy", "recvReduceCopySend"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace fabricast
