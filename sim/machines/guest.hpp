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
  using OnDone = std::function<void(std::uint32_t party, Stamp at)>;

  virtual ~Guest() = default;
  /// By link: does it use it?
  virtual std::vector<bool> uses() = 0;
  /// This party waits for start(); the others begin at once.
  virtual void hold(std::uint32_t party) = 0;
  /// Before the first event. Its actors have numbers from `first_actor` on. `shared`: by link,
  /// whether the executor uses it: then both book it when bytes arrive. `done` is told when a party
  /// ends.
  virtual void begin(std::uint32_t first_actor, const std::vector<bool>& shared,
                     const OnDone& done) = 0;
  virtual void start(std::uint32_t party, Stamp at) = 0;
  virtual void act(std::uint32_t actor) = 0;
  /// All that is left to do, where the executor has no workers. Every event goes into the digest.
  virtual void run_alone(std::uint64_t& digest, const std::function<void(double)>& progress) = 0;
  /// The carrier has brought a slice over a way that the guest has added.
  virtual void arrived(std::uint32_t way, Instant at) = 0;
  /// The latest end of any party, and all events.
  virtual Stamp makespan() const = 0;
  virtual std::uint64_t events() const = 0;
  /// Who waits for what in the end, "" when all is done.
  virtual std::string stuck() const = 0;
};

}  // namespace fabricast
