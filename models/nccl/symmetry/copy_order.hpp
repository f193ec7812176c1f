#pragma once
// Numbers of places (ranks, blocks, ...) of which those a whole period apart are alike: copies
// follow each other, so that in one instant all are served before or after those of another place.

#include <cstdint>

namespace fabricast {

struct CopyOrder {
  std::uint32_t period = 1;  ///< places
  std::uint32_t copies = 1;  ///< that are simulated: 1, or all

  std::uint32_t count() const { return period * copies; }
  /// That of its copy, where a place is not simulated.
  std::uint32_t number(std::uint32_t place) const {
    return place % period * copies + place / period % copies;
  }
  /// The first place of this number.
  std::uint32_t place(std::uint32_t number) const {
    return number / copies + number % copies * period;
  }
};

}  // namespace fabricast
