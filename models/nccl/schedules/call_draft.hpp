#pragma once
// A collective that is assembled once, and built on machines as often as it is called.

#include <optional>
#include <vector>

#include "models/nccl/schedules/assembly.hpp"
#include "sim/machines/blueprint.hpp"

namespace fabricast {

/// A collective on a machine, where its workers count up from `first_worker`. REQUIRES: the
/// assembly numbers them from 0, or `first_worker` is 0.
struct BuiltCall {
  const Assembly* assembly = nullptr;
  std::uint32_t first_worker = 0, first_thread = 0;

  // As Assembly has them.
  std::vector<std::uint32_t> workers(int rank) const { return there(assembly->workers(rank)); }
  std::vector<std::uint32_t> workers(int rank, std::uint32_t lane) const {
    return there(assembly->workers(rank, lane));
  }
  bool is_first(int rank) const { return assembly->is_first(rank); }

 private:
  std::vector<std::uint32_t> there(std::vector<std::uint32_t> workers) const {
    for (std::uint32_t& worker : workers) worker += first_worker;
    return workers;
  }
};

class CallDraft {
 public:
  /// `folded_by`: what the job is folded by, if it is. All arguments outlive the draft.
  CallDraft(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
            const Partition& partition, const Symmetry& symmetry, bool is_full,
            const Symmetry* folded_by, const FabricRoutes& routes);
  CallDraft(const CallDraft&) = delete;
  CallDraft& operator=(const CallDraft&) = delete;

  const Assembly& assembly() const { return assembly_; }
  const Blueprint& blueprint() const { return blueprint_; }
  /// As an assembly of it on the machine would be. REQUIRES: `links` are those of the machine,
  /// folded as the draft's; the draft outlives the machine.
  BuiltCall build_on(Machine& machine, SimulatedLinks& links,
                     std::optional<std::uint32_t> first_thread) const;
  /// See Assembly. Machines on which it was built run the other size, too, when they are rewound.
  bool is_resizable() const { return assembly_.is_resizable(); }
  void resize() { assembly_.resize(); }
  /// Whether it runs on the threads of the ranks' proxies alone, which all calls share.
  bool shares_threads() const {
    return blueprint_.threads() == static_cast<std::uint32_t>(assembly_.ranks_simulated());
  }

 private:
  Blueprint blueprint_;
  SimulatedLinks links_;
  Assembly assembly_;
  std::vector<std::optional<LinkId>> cluster_links_;  ///< by the blueprint's; none: the call's own
};

}  // namespace fabricast
