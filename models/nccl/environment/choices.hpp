#pragma once
// NCCL_ALGO and NCCL_PROTO: lists of names that take algorithms and protocols out of the race.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// What is in the list of each tuned collective. Items are indices of Algorithm or of Protocol.
struct Choices {
  std::array<std::uint32_t, kTunedCollectives> mask{};  ///< bit i: item i is allowed
  /// The user wrote a list for this collective: LL128 in it is used without the safety check.
  std::array<bool, kTunedCollectives> by_user{};

  constexpr bool allows(Collective c, std::size_t item) const {
    return (mask[index_of(c)] >> item & 1) != 0;
  }
  /// Everything allowed, nothing said by the user.
  static constexpr Choices all() {
    Choices c;
    c.mask.fill(~std::uint32_t{0});
    return c;
  }
};

/// Up to 2.23 one list for all collectives, `[^]name,...` ('^': all but these), and unknown names
/// are passed over, with a warning here. A list without any known name allows nothing: what NCCL
/// then does stands in eligibility.cpp (Ring and Tree) and tuning_model.cpp (Ring). Since 2.24
/// `[collective:]list;...`, and they are an Error (src/graph/ tuning.cc, parseList). Names in any
/// case.
Choices read_algorithm_choices(std::string_view value, NcclVersion version,
                               std::vector<std::string>& warnings);
Choices read_protocol_choices(std::string_view value, NcclVersion version,
                              std::vector<std::string>& warnings);

}  // namespace fabricast
