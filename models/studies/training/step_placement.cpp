// What it costs that groups leave a node or a rack: the step against one where they do not.
#include <fmt/format.h>

#include "models/studies/training/step.hpp"
#include "models/training/calls/rank_groups.hpp"

namespace fabricast {

namespace {

/// "0.123 s (4.5 %) less", as the step takes otherwise.
std::string against(Duration step, Duration other) {
  const double saved = seconds(step) - seconds(other), share = 100 * saved / seconds(step);
  if (step == other) return "as long";
  return fmt::format("{} ({:.1f} %) {}", time_text(saved < 0 ? -saved : saved),
                     share < 0 ? -share : share, saved < 0 ? "more" : "less");
}

class PlacementCosts {
 public:
  PlacementCosts(StepResult& result, CollectiveTimes& collectives)
      : result_(result), l_(result.config.layout), collectives_(collectives) {}

  void add() {
    const PassTime& busy = result_.step.breakdown.busy;
    tensor_groups(busy.tensor);
    group("CP", context_group(l_), busy.context);
    group("EP", expert_group(l_), busy.expert);
    stage_pairs();
  }

 private:
  StepSetup setup(const Layout& layout) const {
    return {result_.config.model, layout, result_.framework, result_.gpu};
  }
  void say(std::string note) { result_.notes.push_back(std::move(note)); }

  void group(const char* what, const RankGroup& group, double exposed) {
    const int nodes = collectives_.nodes_of(group);
    if (group.ranks() > 1 && nodes > 1 && exposed > 0)
      say(fmt::format("each {} group lies on {} nodes: {} of the step are exposed.", what, nodes,
                      time_text(exposed)));
  }

  /// Against ranks in order where a group fits a node, else against as much TP as does.
  void tensor_groups(double exposed) {
    const int nodes = collectives_.nodes_of(tensor_group(l_));
    if (l_.tensor == 1 || nodes == 1) return;
    const std::string lies = fmt::format(
        "each TP group lies on {} nodes: {} of the step are exposed", nodes, time_text(exposed));
    Layout inside = l_;
    const int most = collectives_.gpus_per_node();
    while (inside.tensor > most || most % inside.tensor != 0 || l_.tensor % inside.tensor != 0)
      --inside.tensor;
    inside.order = kMegatronOrder;
    try {
      check_layout(result_.config.model, inside);
    } catch (const Error&) {
      return say(lies + ".");
    }
    const MemoryPlan memory = step_memory(setup(inside), collectives_);
    inside.recompute = memory.recompute;
    inside.full_share = memory.full_share;
    const RankSlots slots = collectives_.shapes().slots();
    collectives_.place({});
    const StepTime step = step_time(setup(inside), collectives_);
    collectives_.place(slots);
    const std::string how =
        inside.tensor == l_.tensor
            ? std::string("with each group in a node")
            : fmt::format("with TP {} in a node and DP {}", inside.tensor, inside.data());
    say(fmt::format("{}; {} the step takes {}{}.", lies, how, against(result_.step.time, step.time),
                    memory.fits ? "" : ", but does not fit"));
  }

  void stage_pairs() {
    // An assumed fabric has no racks to leave.
    if (l_.pipeline == 1 || collectives_.cluster().fabric().is_default) return;
    const GroupShapes::Crossing racks =
        collectives_.shapes().crossings(stage_pair(l_), GroupShapes::Room::rack);
    if (racks.groups == 0) return;
    StepSetup beside = setup(l_);
    beside.stages_in_rack = true;
    const StepTime step = step_time(beside, collectives_);
    say(
        fmt::format("{} of {} pairs of neighbouring stages lie in two racks; on neighbouring nodes "
                    "of one the step takes {}.",
                    racks.groups, racks.of, against(result_.step.time, step.time)));
  }

  StepResult& result_;
  const Layout l_;
  CollectiveTimes& collectives_;
};

}  // namespace

void add_placement_costs(StepResult& result, CollectiveTimes& collectives) {
  PlacementCosts(result, collectives).add();
}

}  // namespace fabricast
