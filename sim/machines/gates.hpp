#pragma once
// Gates: some parties of a machine begin when others have ended.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// Some workers of an executor, some parties of its guest.
struct Parties {
  std::vector<std::uint32_t> workers, guests;

  bool empty() const { return workers.empty() && guests.empty(); }
};

/// Stream order: `waiters` begin at `start`, or when all of `after` have ended, and a gap and a lag
/// have passed, whichever is later. A party waits for one gate at most, and may hold up several.
struct GateSpec {
  Instant start;
  Parties after;
  Duration gap;  ///< for a launch
  Parties waiters;
  Duration lag{};  ///< for what has been freed to be known
};

template <class Stamp>
class Gates {
 public:
  void add(const GateSpec& spec) { gates_.push_back({spec, awaited(spec), {}}); }
  bool empty() const { return gates_.empty(); }

  /// Before the run; `hold(waiters)` is called for each gate.
  template <class Hold>
  void shut(const Hold& hold) {
    for (const Gate& gate : gates_) hold(gate.spec.waiters);
    workers_ = held_up([](const Parties& after) -> const auto& { return after.workers; });
    guests_ = held_up([](const Parties& after) -> const auto& { return after.guests; });
  }
  /// As shut() left them.
  void rewind() {
    for (Gate& gate : gates_) {
      gate.awaited = awaited(gate.spec);
      gate.latest = {};
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
    ended(workers_, worker, at, start);
  }
  template <class Start>
  void guest_ended(std::uint32_t party, Stamp at, const Start& start) {
    ended(guests_, party, at, start);
  }

 private:
  struct Gate {
    GateSpec spec;
    std::size_t awaited = 0;  ///< who has yet to end
    Stamp latest;
  };
  /// The gates that wait for each party: those of number n are `gates[first[n]]` to `first[n + 1]`.
  struct HeldUp {
    std::vector<std::uint32_t> first, gates;
  };

  static std::size_t awaited(const GateSpec& spec) {
    return spec.after.workers.size() + spec.after.guests.size();
  }

  /// `of(after)`: the parties of one kind.
  template <class Of>
  HeldUp held_up(const Of& of) const {
    HeldUp out;
    for (const Gate& gate : gates_) {
      for (const std::uint32_t number : of(gate.spec.after)) {
        if (out.first.size() < number + std::size_t{2}) out.first.resize(number + std::size_t{2});
        ++out.first[number + std::size_t{1}];
      }
    }
    std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
    if (out.first.empty()) return out;
    out.gates.resize(out.first.back());
    std::vector<std::uint32_t> next = out.first;
    for (std::uint32_t gate = 0; gate < gates_.size(); ++gate)
      for (const std::uint32_t number : of(gates_[gate].spec.after))
        out.gates[next[number]++] = gate;
    return out;
  }

  template <class Start>
  void ended(const HeldUp& by, std::size_t number, Stamp at, const Start& start) {
    if (number + 1 >= by.first.size()) return;
    for (std::uint32_t i = by.first[number]; i < by.first[number + 1]; ++i) {
      Gate& gate = gates_[by.gates[i]];
      gate.latest = later(gate.latest, at);
      if (--gate.awaited == 0) open(gate, start);
    }
  }

  template <class Start>
  void open(const Gate& gate, const Start& start) {
    const Stamp after = gate.latest.launched(gate.spec.gap).plus(gate.spec.lag, Cause::slots);
    start(gate.spec.waiters, later(after, Stamp{}.launched(gate.spec.start - Instant{})));
  }

  std::vector<Gate> gates_;
  HeldUp workers_, guests_;
};

}  // namespace fabricast
