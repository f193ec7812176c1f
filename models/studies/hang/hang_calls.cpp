#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "models/studies/hang/hang_layout.hpp"
#include "models/training/step/step_calls.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kCallsMax = 2'000'000;

/// A call of every rank of a stage.
struct StageCall {
  StepIssue issue;
  GroupCall call;
  double at_s = 0;
};

/// When a stage does what it issues, in seconds, from and to.
class StageTimes {
 public:
  using Times = std::pair<double, double>;
  StageTimes(const StepResult& result, int stage) : end_(seconds(result.step.time)) {
    for (const StepSpan& span : result.spans) {
      if (span.stage != stage || span.issue.in_pass != (span.issue.what == What::compute)) continue;
      const Times of = {seconds(span.start - Instant{}), seconds(span.end - Instant{})};
      const auto [at, is_new] = times_.try_emplace(key_of(span.issue), of);
      at->second = {std::min(at->second.first, of.first), std::max(at->second.second, of.second)};
    }
  }
  /// Of the pass that something belongs to. Nothing where no time is known.
  Times of(const StepIssue& issue) const {
    const auto found = times_.find(key_of(issue));
    if (found != times_.end()) return found->second;
    return issue.in_pass ? Times{} : Times{end_, end_};
  }

 private:
  using What = StepIssue::What;
  using Key = std::tuple<What, PipelineOp::Kind, int, int>;
  static Key key_of(const StepIssue& issue) {
    return {issue.in_pass ? What::compute : issue.what, issue.op.kind, issue.op.micro, issue.chunk};
  }
  std::map<Key, Times> times_;
  double end_;
};

std::vector<StageCall> calls_of_stage(const StepCalls& step, const StepResult& result, int stage) {
  std::vector<StageCall> out;
  const StageTimes times(result, stage);
  const auto number = static_cast<std::size_t>(stage);
  for (const PipelineOp& op : step.orders()[number]) {
    const std::size_t first = out.size();
    const std::vector<StepIssue> issues = step.pass(number, op);
    for (const StepIssue& issue : issues)
      for (const GroupCall& call : step.of(issue)) out.push_back({issue, call});
    // Evenly over the pass.
    const auto [from, to] = times.of(issues.front());
    const auto count = static_cast<double>(out.size() - first);
    for (std::size_t i = first; i < out.size(); ++i)
      out[i].at_s = from + (to - from) * static_cast<double>(i - first) / count;
  }
  for (const StepIssue& issue : step.finish(number))
    for (const GroupCall& call : step.of(issue))
      out.push_back({issue, call, times.of(issue).first});
  return out;
}

/// The calls of a stage as one of its ranks makes them.
class RankCalls {
 public:
  RankCalls(const Layout& layout, int rank) : l_(layout), rank_(rank), stage_(stage_of(rank)) {}

  std::vector<RankCall> of(const std::vector<StageCall>& calls) {
    std::vector<RankCall> out;
    for (const StageCall& from : calls) {
      const bool is_message = from.call.among == Among::stages;
      out.push_back(is_message ? message(from) : collective(from.call));
      out.back().rank = rank_;
      out.back().at_s = from.at_s;
    }
    return out;
  }

 private:
  int stage_of(int rank) const { return rank / l_.stride(Axis::pipeline) % l_.pipeline; }

  /// Sends are posted and go on; Megatron and torch post them in batches.
  RankCall message(const StageCall& from) const {
    const bool sends = from.issue.what == StepIssue::What::send;
    const bool up = sends == (from.issue.op.kind == PipelineOp::Kind::forward);
    const int stage = (from.issue.chunk + (up ? 1 : -1)) % l_.pipeline;
    RankCall out;
    out.op = sends ? "isend" : "recv";
    out.peer = rank_ + (stage - stage_) * l_.stride(Axis::pipeline);
    out.elements = from.call.elements;
    return out;
  }

  RankCall collective(const GroupCall& call) {
    RankCall out;
    // Of a ring of context parallelism all rounds of a layer.
    out.op = call.collective == Collective::sendrecv ? "batch_isend_irecv"
                                                     : std::string(to_text(call.collective));
    // What goes in, as PyTorch counts.
    out.elements = call.elements;
    if (call.collective == Collective::all_gather) *out.elements /= call.group.ranks();
    const auto [known, is_new] = groups_.try_emplace(call.among);
    if (is_new) {
      out.members = ranks_with(l_, call.among, call.group, rank_);
      known->second = group_name(l_, call.among);
      if (call.group.ranks() < l_.gpus) known->second += fmt::format(" of {}", out.members.front());
    }
    out.group = known->second;
    return out;
  }

  const Layout& l_;
  int rank_, stage_;
  std::map<Among, std::string> groups_;  ///< those that were named
};

}  // namespace

std::vector<RankCall> calls_of(const StepResult& result) {
  const Layout& layout = result.config.layout;
  const StepSetup setup{result.config.model, layout, result.framework, result.gpu};
  const StepCalls step(setup);
  std::vector<std::vector<StageCall>> stages;
  for (int stage = 0; stage < layout.pipeline; ++stage)
    stages.push_back(calls_of_stage(step, result, stage));
  std::vector<RankCall> out;
  for (int rank = 0; rank < layout.gpus; ++rank) {
    const int stage = rank / layout.stride(Axis::pipeline) % layout.pipeline;
    std::vector<RankCall> calls =
        RankCalls(layout, rank).of(stages[static_cast<std::size_t>(stage)]);
    if (out.size() + calls.size() > kCallsMax)
      throw Error(
          fmt::format("a step of {} GPUs makes more than {} calls in all", layout.gpus, kCallsMax),
          "fewer nodes, or a smaller global_batch, hang alike");
    std::ranges::move(calls, std::back_inserter(out));
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].line = static_cast<int>(i) + 1;
  return out;
}

}  // namespace fabricast
