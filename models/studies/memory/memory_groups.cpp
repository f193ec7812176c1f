#include "models/studies/memory/memory_groups.hpp"

#include <cmath>
#include <map>

#include "models/io/workloads/load_workloads.hpp"
#include "models/training/step/step_calls.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {
namespace {

/// What NCCL is called for in groups of a kind, by any stage.
class CalledGroups {
 public:
  struct Called {
    RankGroup group;
    std::vector<MemoryCall> calls;
  };

  explicit CalledGroups(const StepConfig& step)
      : own_kernels_(step.ep_kernels && has_own_kernels(step.ep_kernels->mode)) {
    StepSetup setup{step.model, step.layout, load_frameworks().at(step.framework), {}};
    // Recomputation makes some calls again, no others.
    if (setup.layout.recompute == Recompute::automatic) setup.layout.recompute = Recompute::none;
    check_layout(setup.model, setup.layout);
    const StepCalls calls(setup);
    for (std::size_t stage = 0; stage < calls.orders().size(); ++stage) {
      for (const PipelineOp& op : calls.orders()[stage]) add(calls, calls.pass(stage, op));
      add(calls, calls.finish(stage));
    }
  }

  const std::map<Among, Called>& all() const { return all_; }

 private:
  void add(const StepCalls& calls, const std::vector<StepIssue>& issues) {
    for (const StepIssue& issue : issues) {
      for (const GroupCall& call : calls.of(issue)) {
        if (own_kernels_ && call.among == Among::expert) continue;
        Called& known = all_[call.among];
        known.group = call.group;
        const Bytes size = is_tuned(call.collective) ? Bytes{std::llround(call.bytes)} : Bytes{};
        add_once(known.calls, MemoryCall{call.collective, size});
      }
    }
  }

  bool own_kernels_;  ///< they bring tokens to experts, not NCCL
  std::map<Among, Called> all_;
};

/// All of a pipeline, where neighbours call each other.
std::vector<int> whole_pipeline(const Layout& layout) {
  std::vector<int> out;
  for (int stage = 0; stage < layout.pipeline; ++stage)
    out.push_back(stage * layout.stride(Axis::pipeline));
  return out;
}

}  // namespace

std::vector<Collective> AskedGroup::collectives() const {
  std::vector<Collective> out;
  for (const MemoryCall& call : calls) add_once(out, call.collective);
  return out;
}

std::vector<MemoryCall> calls_of(const std::vector<Collective>& collectives,
                                 const std::vector<Bytes>& sizes) {
  std::vector<MemoryCall> out;
  for (const Collective collective : collectives) {
    if (!is_tuned(collective)) {
      out.push_back({collective, {}});
      continue;
    }
    for (const Bytes size : sizes) out.push_back({collective, size});
  }
  return out;
}

std::vector<AskedGroup> groups_of_layout(const StepConfig& step, int gpus_per_node) {
  const Layout& layout = step.layout;
  std::vector<AskedGroup> out;
  const CalledGroups groups(step);
  for (const auto& [among, called] : groups.all()) {
    const std::vector<int> ranks = among == Among::stages
                                       ? whole_pipeline(layout)
                                       : ranks_with(layout, among, called.group, 0);
    if (ranks.size() < 2) continue;
    out.push_back({std::string(group_name(layout, among)), Members::of_job(ranks, gpus_per_node),
                   called.calls});
  }
  return out;
}

}  // namespace fabricast
