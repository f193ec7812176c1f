#pragma once
// A second machine on the clock and the links of an executor: actors of another kind, numbered
// behind its own.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

template <class Stamp>
class Guest {
 public:
  virtual ~Guest() = default;
  /// By link: does it use it?
  virtual std::vector<bool> uses() = 0;
  /// This party waits for start(); the others begin at once.
  virtual void hold(std::uint32_t party) = 0;
  /// Before the first event. Its actors have numbers from `first_actor` on. `shared`: by link,
  /// whether the executor uses it: then both book it when bytes arrive. `done` is told when a party
  /// ends.
  virtual void begin(std::uint32_t first_actor, const std::vector<bool>& shared,
                     const std::function<void(std::uint32_t party, Stamp at)>& done) = 0;
  virtual void start(std::uint32_t party, Stamp at) = 0;
  virtual void act(std::uint32_t actor) = 0;
  /// Who waits for what in the end, "" when all is done.
  virtual std::string stuck() const = 0;
};

/// Some workers of an executor, some parties of its guest.
struct Parties {
  std::vector<std::uint32_t> workers, guests;
};

/// Stream order: `waiters` begin at `start`, or when all of `after` have ended and a gap has
/// passed, whichever is later. A party waits for one gate at most, and holds up one at most.
struct GateSpec {
  Instant start;
  Parties after;
  Duration gap;
  Parties waiters;
};

}  // namespace fabricast
