#include "models/training/step/called_groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/training/calls/rank_groups.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

namespace {

class CalledGroups {
 public:
  CalledGroups(const StepSetup& setup, bool nccl_brings_tokens)
      : setup_(setup), nccl_brings_tokens_(nccl_brings_tokens) {
    Layout& layout = setup_.layout;
    if (layout.recompute == Recompute::automatic) layout.recompute = Recompute::none;
    // A round of the pipeline has all that comes first, last and between.
    const int few = std::min(layout.micro_batches(), std::max(layout.pipeline, 2));
    layout.global_batch = layout.data() * layout.micro_batch * few;
    const StepCalls calls(setup_);
    add(calls.of_layers());
    for (std::size_t stage = 0; stage < calls.orders().size(); ++stage) {
      for (const PipelineOp& op : calls.orders()[stage])
        if (op.micro == 0 || op.micro == few - 1) add(calls, calls.pass(stage, op));
      add(calls, calls.finish(stage));
    }
  }

  std::vector<CalledGroup> all() const {
    std::vector<CalledGroup> out;
    for (const auto& [among, called] : all_) out.push_back(called);
    return out;
  }

 private:
  void add(const StepCalls& calls, const std::vector<StepIssue>& issues) {
    for (const StepIssue& issue : issues)
      if (issue.what != StepIssue::What::compute) add(calls.of(issue));
  }

  void add(const std::vector<GroupCall>& calls) {
    for (const GroupCall& call : calls) {
      if (!nccl_brings_tokens_ && call.among == Among::expert) continue;
      CalledGroup& known = all_[call.among];
      known.among = call.among;
      known.group = call.among == Among::stages ? pipeline_group(setup_.layout) : call.group;
      const Bytes size = is_tuned(call.collective) ? Bytes{std::llround(call.bytes)} : Bytes{};
      add_once(known.calls, MemoryCall{call.collective, size});
    }
  }

  StepSetup setup_;
  bool nccl_brings_tokens_;
  std::map<Among, CalledGroup> all_;
};

}  // namespace

std::vector<CalledGroup> called_groups(const StepSetup& setup, bool nccl_brings_tokens) {
  return CalledGroups(setup, nccl_brings_tokens).all();
}

}  // namespace fabricast
