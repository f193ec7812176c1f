#pragma once
// Builds copies of one thing side by side: what is built for each copy in turn is numbered as if
// all had been built at once, step by step, the copies of a step in a row.

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sim/machine.hpp"

namespace fabricast {

/// Passes everything on to another machine. Between begin() and end() workers, relays and
/// connections are held back; they have their numbers at once.
class ZippedMachine final : public Machine {
 public:
  explicit ZippedMachine(Machine& target) : target_(target) {}

  /// From now on come so many copies, one after another. REQUIRES: none are under way.
  void begin(std::uint32_t copies) {
    assert(copies_.empty());
    copies_.resize(copies);
    current_ = 0;
    first_ = target_.workers();
  }
  /// What follows belongs to the next copy, and is what the first one was, step by step.
  void next_copy() { ++current_; }
  void end() {
    const std::vector<Copy> copies = std::move(copies_);
    copies_.clear();
    assert(std::ranges::all_of(copies, [&](const Copy& copy) {
      return copy.actors.size() == copies.front().actors.size() &&
             copy.connections.size() == copies.front().connections.size();
    }));
    for (std::size_t i = 0; i < copies.front().actors.size(); ++i)
      for (const Copy& copy : copies) copy.actors[i]();
    for (std::size_t i = 0; i < copies.front().connections.size(); ++i)
      for (const Copy& copy : copies) copy.connections[i]();
  }

  std::uint32_t add_link(LinkSpec spec) override { return target_.add_link(spec); }
  std::uint32_t add_thread() override { return target_.add_thread(); }
  std::uint32_t add_worker_class(const WorkerClass& worker_class) override {
    return target_.add_worker_class(worker_class);
  }
  std::uint32_t add_relay_class(const RelayClass& relay_class) override {
    return target_.add_relay_class(relay_class);
  }
  std::uint32_t add_worker(std::uint32_t worker_class, const Program& program, Role role) override {
    return add([this, worker_class, &program, role] {
      return target_.add_worker(worker_class, program, role);
    });
  }
  std::uint32_t add_relay(std::uint32_t relay_class, std::uint32_t thread) override {
    return add([this, relay_class, thread] { return target_.add_relay(relay_class, thread); });
  }
  void connect(const ConnectionSpec& spec) override {
    if (copies_.empty()) return target_.connect(spec);
    copies_[current_].connections.push_back(
        [this, spec, path = std::vector<std::uint32_t>(spec.path.begin(), spec.path.end())] {
          ConnectionSpec kept = spec;
          kept.path = path;
          target_.connect(kept);
        });
  }
  std::uint32_t workers() const override { return target_.workers(); }

 private:
  struct Copy {
    std::vector<std::function<std::uint32_t()>> actors;
    std::vector<std::function<void()>> connections;
  };

  template <class Add>
  std::uint32_t add(Add add_it) {
    if (copies_.empty()) return add_it();
    std::vector<std::function<std::uint32_t()>>& actors = copies_[current_].actors;
    actors.push_back(add_it);
    const auto step = static_cast<std::uint32_t>(actors.size() - 1);
    return first_ + step * static_cast<std::uint32_t>(copies_.size()) + current_;
  }

  Machine& target_;
  std::vector<Copy> copies_;  ///< empty: nothing is held back
  std::uint32_t current_ = 0, first_ = 0;
};

}  // namespace fabricast
