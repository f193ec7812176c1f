#pragma once
// Gates: some parties of a machine begin when others have ended.

#include <cstdint>
#include <vector>

#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// Some workers of an executor, some parties of its guest.
struct Parties {
  std::vector<std::uint32_t> workers, guests;

  bool empty() const { return workers.empty() && guests.empty(); }
};

/// Stream order: `waiters` begin at `start`, or when all of `after` have ended and a gap has
/// passed, whichever is later. A party waits for one gate at most, and holds up one at most.
struct GateSpec {
  Instant start;
  Parties after;
  Duration gap;
  Parties waiters;
};

template <class Stamp>
class Gates {
 public:
  void add(const GateSpec& spec) {
    gates_.push_back({spec, spec.after.workers.size() + spec.after.guests.size(), {}});
  }
  bool empty() const { return gates_.empty(); }

  /// Before the run; `hold(waiters)` is called for each gate.
  template <class Hold>
  void shut(const Hold& hold) {
    for (std::uint32_t gate = 0; gate < gates_.size(); ++gate) {
      const GateSpec& spec = gates_[gate].spec;
      hold(spec.waiters);
      for (const std::uint32_t worker : spec.after.workers) held_up(workers_, worker) = gate;
      for (const std::uint32_t party : spec.after.guests) held_up(guests_, party) = gate;
    }
  }
  /// Opens those that wait for nobody. Here and below `start(waiters, at)` is called where a gate
  /// opens.
  template <class Start>
  void open_first(const Start& start) {
    for (Gate& gate : gates_)
      if (gate.spec.after.empty()) open(gate, start);
  }
  template <class Start>
  void worker_ended(std::uint32_t worker, Stamp at, const Start& start) {
    if (worker < workers_.size()) ended(workers_[worker], at, start);
  }
  template <class Start>
  void guest_ended(std::uint32_t party, Stamp at, const Start& start) {
    if (party < guests_.size()) ended(guests_[party], at, start);
  }

 private:
  struct Gate {
    GateSpec spec;
    std::size_t awaited = 0;  ///< who has yet to end
    Stamp latest;
  };
  static constexpr std::uint32_t kNoGate = UINT32_MAX;

  static std::uint32_t& held_up(std::vector<std::uint32_t>& by, std::uint32_t number) {
    if (number >= by.size()) by.resize(std::size_t{number} + 1, kNoGate);
    return by[number];
  }

  template <class Start>
  void ended(std::uint32_t number, Stamp at, const Start& start) {
    if (number == kNoGate) return;
    Gate& gate = gates_[number];
    gate.latest = later(gate.latest, at);
    if (--gate.awaited == 0) open(gate, start);
  }

  template <class Start>
  void open(const Gate& gate, const Start& start) {
    const Stamp after = gate.latest.launched(gate.spec.gap);
    start(gate.spec.waiters, later(after, Stamp{}.launched(gate.spec.start - Instant{})));
  }

  std::vector<Gate> gates_;
  std::vector<std::uint32_t> workers_, guests_;  ///< the gate that waits for each
};

}  // namespace fabricast
