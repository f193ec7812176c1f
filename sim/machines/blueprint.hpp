#pragma once
// A call's schedule that is built on several machines, or on one several times: what it adds is
// kept, and added as often as asked.

#include <optional>
#include <span>
#include <vector>

#include "sim/links/machine.hpp"

namespace fabricast {

class Blueprint final : public Machine {
 public:
  /// Where a machine has what was added to it. Workers and relays count up from the first, in the
  /// order of the blueprint.
  struct Place {
    std::uint32_t first_worker = 0, first_thread = 0;
  };
  /// `links`: of the machine, by their numbers here. `first_thread`: the first `known` threads are
  /// there already, from this one on. REQUIRES: the programs are still there.
  Place build_on(Machine& machine, std::span<const std::uint32_t> links, std::uint32_t known = 0,
                 std::optional<std::uint32_t> first_thread = std::nullopt) const;
  std::span<const LinkSpec> links() const { return links_; }
  std::uint32_t threads() const { return threads_; }
  std::size_t connections() const { return connections_.size(); }

  std::uint32_t add_link(LinkSpec spec) override;
  std::uint32_t add_thread() override { return threads_++; }
  void set_multimem(MultimemWire wire) override { multimem_ = wire; }
  std::uint32_t add_worker_class(const WorkerClass& worker_class) override;
  std::uint32_t add_relay_class(const RelayClass& relay_class) override;
  void start_call() override {}
  std::uint32_t add_worker(std::uint32_t worker_class, const Program& program, Role role) override;
  std::uint32_t add_relay(std::uint32_t relay_class, std::uint32_t thread,
                          std::uint32_t copies) override;
  void connect(const ConnectionSpec& spec) override;
  std::uint32_t workers() const override { return static_cast<std::uint32_t>(actors_.size()); }

 private:
  struct Actor {
    const Program* program = nullptr;  ///< null: a relay
    Role role;
    std::uint32_t kind = 0;
    std::uint32_t thread = 0, copies = 1;  ///< of a relay
  };

  void build_actors(Machine& machine, std::span<const std::uint32_t> threads) const;
  void build_connections(Machine& machine, std::uint32_t first_worker,
                         std::span<const std::uint32_t> links) const;

  std::vector<LinkSpec> links_;
  std::uint32_t threads_ = 0;
  std::optional<MultimemWire> multimem_;
  std::vector<WorkerClass> worker_classes_;
  std::vector<RelayClass> relay_classes_;
  std::vector<Actor> actors_;
  std::vector<ConnectionSpec> connections_;  ///< without their paths
  std::vector<std::uint32_t> hops_;          ///< of each connection: how many, then those
};

}  // namespace fabricast
