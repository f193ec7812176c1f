#include "models/training/step/step.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "models/training/step/step_chunks.hpp"
#include "models/training/step/step_contention.hpp"
#include "models/training/step/stream_graph.hpp"

namespace fabricast {

namespace {

enum Stream : std::uint32_t { kCompute, kData, kSendForward, kSendBackward, kStreams };

/// First and last task of a micro-batch in a chunk; the last may be the message to the next one.
struct Ends {
  TaskId first{}, last{};
};

using Kind = PipelineOp::Kind;
using What = StepIssue::What;

class Step {
 public:
  Step(const StepSetup& setup, CollectiveTimes& collectives)
      : setup_(setup), l_(setup.layout), collectives_(collectives), calls_(setup) {}

  /// `spans` may be nullptr.
  StepTime run(std::vector<StepSpan>* spans) {
    put_on_streams();
    const std::vector<TaskTimes> times = graph_.run();
    if (spans != nullptr) add_spans(times, *spans);
    return result(times);
  }

  /// All tasks, with the times of collectives.
  void put_on_streams() {
    chunks_ = make_chunks(setup_, collectives_);
    forward_.assign(chunks_.size(), std::vector<Ends>(micros()));
    backward_ = forward_;
    stages_.resize(stages());
    const CollectiveTimes::Exchange message = stage_message(setup_, collectives_);
    message_ = to_duration(
        setup_.framework.communication *
        seconds(collectives_.cost(message.collective, message.group, message.bytes).time));
    set_slowdowns(graph_, setup_, chunks_, !sends_block(), collectives_);
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      unit_before_last_.reset();
      for (const PipelineOp& op : calls_.orders()[stage]) add(stage, op);
    }
    connect_stages();
    finish();
  }

 private:
  struct Stage {
    std::vector<TaskId> compute;  ///< in order
    TaskId reduced{}, known{}, optimizer{}, end{};
    std::vector<TaskId> exchanges;  ///< between replicas
    double slowed = 0;  ///< seconds that exchanges beside compute cost it in multiprocessors
  };

  std::size_t micros() const { return static_cast<std::size_t>(l_.micro_batches()); }
  std::size_t stages() const { return static_cast<std::size_t>(l_.pipeline); }
  static std::uint32_t stream(std::size_t stage, Stream which) {
    return static_cast<std::uint32_t>(stage) * kStreams + which;
  }
  /// Sends wait for each other in 1F1B: each stage exchanges with both neighbours in pairs.
  bool sends_block() const {
    return l_.pipeline > 1 && (l_.virtual_stages == 1 || !l_.overlap.pipeline) &&
           l_.schedule != Schedule::zero_bubble;
  }

  static SiteLoad load(std::size_t stage, Load kind) {
    return {static_cast<std::uint32_t>(stage), kind};
  }

  TaskId compute(std::size_t stage, double time, Load kind = kNone) {
    const TaskId task = graph_.add(stream(stage, kCompute), to_duration(time), load(stage, kind));
    issues_.push_back(issue_);
    stages_[stage].compute.push_back(task);
    return task;
  }

  /// To the next stage, or the one before. Blocking ones are exchanged in pairs while nothing is
  /// computed.
  TaskId send(std::size_t stage, bool forward) {
    const std::size_t to = (stage + (forward ? 1 : stages() - 1)) % stages();
    const Stream way = sends_block() ? kCompute : forward ? kSendForward : kSendBackward;
    const TaskId task =
        graph_.add(stream(stage, way), message_, load(stage, kSend), load(to, kReceive));
    issues_.push_back(issue_);
    if (way == kCompute) stages_[stage].compute.push_back(task);
    return task;
  }

  /// Compute with an exchange beside it, which takes multiprocessors away meanwhile.
  TaskId compute_beside(std::size_t stage, double time, const CollectiveTime& exchange, Load kind) {
    const double slowed =
        std::min(time, seconds(exchange.time)) * exchange.channels / setup_.gpu.multiprocessors;
    stages_[stage].slowed += slowed;
    return compute(stage, time + slowed, kind);
  }

  TaskId communicate(std::size_t stage, const CollectiveTime& exchange, Load kind) {
    issues_.push_back(issue_);
    const TaskId task = graph_.add(stream(stage, kData), exchange.time, load(stage, kind));
    stages_[stage].exchanges.push_back(task);
    return task;
  }

  /// A pass, as its tasks come.
  struct Pass {
    std::size_t stage = 0;
    double time = 0;    ///< alone
    double inside = 0;  ///< of it: communication that compute does not hide
    Load load = kNone;
    CollectiveTime beside;  ///< each of its pieces
    Ends ends;
    std::optional<TaskId> gathered;  ///< what the next piece waits for
    std::optional<TaskId> awaited;   ///< a scatter that compute does not go on without
  };

  void add(std::size_t stage, const PipelineOp& op) {
    const std::size_t number = static_cast<std::size_t>(op.chunk) * stages() + stage;
    const Chunk& chunk = chunks_[number];
    const std::vector<StepIssue> issues = calls_.pass(stage, op);
    if (op.kind == Kind::weight) {
      issue_ = issues.front();
      compute(stage, chunk.weight.total());
      return;
    }
    known_.clear();
    const bool forward = op.kind == Kind::forward;
    Pass pass;
    pass.stage = stage;
    pass.time = (forward ? chunk.forward : chunk.backward).total();
    if (!forward && calls_.splits_backward()) pass.time -= chunk.weight.total();
    const PassTime& parts = forward ? chunk.forward : chunk.backward;
    pass.inside = parts.tensor + parts.context + parts.expert;
    pass.load = forward ? kForward : kBackward;
    pass.beside = beside(issues);
    for (const StepIssue& issue : issues) add(pass, issue);
    (forward ? forward_ : backward_)[number][static_cast<std::size_t>(op.micro)] = pass.ends;
  }

  void add(Pass& pass, const StepIssue& issue) {
    issue_ = issue;
    switch (issue.what) {
      case What::compute:
        return add_piece(pass, issue);
      case What::gather:
        return add_gather(pass, issue);
      case What::reduce: {
        const TaskId reduced = communicate(pass.stage, time_of(issue), kReduce);
        graph_.after(reduced, pass.ends.last);
        if (!l_.overlap.gradients) pass.awaited = reduced;
        return;
      }
      case What::send: {
        const TaskId sent = send(pass.stage, issue.op.kind == Kind::forward);
        graph_.after(sent, pass.ends.last);
        pass.ends.last = sent;
        return;
      }
      case What::receive:  // connect_stages()
      case What::norm:
      case What::optimizer:
        return;
    }
  }

  void add_piece(Pass& pass, const StepIssue& issue) {
    const std::vector<TaskId>& computed = stages_[pass.stage].compute;
    if (l_.shards_weights() && !computed.empty()) unit_before_last_ = computed.back();
    const TaskId task =
        compute_beside(pass.stage, pass.time / issue.pieces, pass.beside, pass.load);
    insides_.resize(index_of(task) + 1);
    insides_.back() = pass.inside / issue.pieces;
    if (pass.gathered) graph_.after(task, *pass.gathered);
    if (pass.awaited) graph_.after(task, *pass.awaited);
    if (issue.piece == 0) pass.ends.first = task;
    pass.ends.last = task;
  }

  void add_gather(Pass& pass, const StepIssue& issue) {
    const std::vector<TaskId>& computed = stages_[pass.stage].compute;
    const TaskId gathered = communicate(pass.stage, time_of(issue), kGather);
    if (!l_.overlap.parameters && !computed.empty()) graph_.after(gathered, computed.back());
    if (unit_before_last_) graph_.after(gathered, *unit_before_last_);
    pass.gathered = gathered;
  }

  CollectiveTime cost_of(const StepIssue& issue) {
    return calls_.exchange().cost(calls_.of(issue), collectives_);
  }

  /// Pieces of a pass exchange alike.
  CollectiveTime time_of(const StepIssue& issue) {
    const auto [at, is_new] = known_.try_emplace({issue.what, issue.together});
    if (is_new) at->second = cost_of(issue);
    return at->second;
  }

  /// What runs beside each piece of a pass.
  CollectiveTime beside(const std::vector<StepIssue>& issues) {
    CollectiveTime out;
    for (const What what : {What::gather, What::reduce}) {
      if (!(what == What::gather ? l_.overlap.parameters : l_.overlap.gradients)) continue;
      const auto first = std::ranges::find(issues, what, &StepIssue::what);
      if (first == issues.end()) continue;
      const CollectiveTime one = time_of(*first);
      out.time.ps += one.time.ps / first->together;
      out.channels = std::max(out.channels, one.channels);
    }
    return out;
  }

  void connect_stages() {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      for (std::size_t i = 0; i < micros(); ++i) {
        if (c + 1 < chunks_.size()) {
          graph_.after(forward_[c + 1][i].first, forward_[c][i].last);
          graph_.after(backward_[c][i].first, backward_[c + 1][i].last);
        } else {
          graph_.after(backward_[c][i].first, forward_[c][i].last);
        }
      }
    }
  }

  /// After the last backward: nobody goes on before the norm of all gradients is known.
  void finish() {
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      const TaskId last = stages_[stage].compute.back();
      for (const StepIssue& issue : calls_.finish(stage)) {
        issue_ = issue;
        if (issue.what == What::norm) break;
        graph_.after(communicate(stage, cost_of(issue), kReduce), last);
      }
      stages_[stage].reduced = communicate(stage, {}, kNone);
      graph_.after(stages_[stage].reduced, last);
    }
    for (const GroupCall& call : calls_.of(issue_))
      norm_ += collectives_.cost(call.collective, call.group, call.bytes).time;
    for (std::size_t stage = 0; stage < stages(); ++stage)
      for (const StepIssue& issue : calls_.finish(stage)) finish(stage, issue);
  }

  void finish(std::size_t stage, const StepIssue& issue) {
    Stage& here = stages_[stage];
    issue_ = issue;
    if (issue.what == What::norm) {
      here.known = communicate(stage, {norm_, 0}, kNone);
      for (const Stage& other : stages_) graph_.after(here.known, other.reduced);
    } else if (issue.what == What::optimizer) {
      here.optimizer = compute(stage, optimizer_time(setup_, static_cast<int>(stage)));
      graph_.after(here.optimizer, here.known);
      here.end = here.optimizer;
    } else if (issue.what == What::gather) {
      here.end = communicate(stage, cost_of(issue), kGather);
      graph_.after(here.end, here.optimizer);
    }
  }

  PassTime busy(std::size_t stage) const {
    PassTime out;
    for (std::size_t c = stage; c < chunks_.size(); c += stages())
      out += static_cast<double>(micros()) * (chunks_[c].forward + chunks_[c].backward);
    out.contention += stages_[stage].slowed;
    return out;
  }

  void add_spans(const std::vector<TaskTimes>& times, std::vector<StepSpan>& spans) const {
    for (std::size_t task = 0; task < times.size(); ++task) {
      const std::uint32_t on = graph_.stream_of(TaskId{static_cast<std::uint32_t>(task)});
      StepSpan span;
      span.issue = issues_[task];
      span.stage = static_cast<int>(on / kStreams);
      span.stream = static_cast<int>(on % kStreams);
      span.exchange = span.stream != kCompute;
      span.start = times[task].start;
      span.end = times[task].end;
      if (task < insides_.size()) span.inside = insides_[task];
      if (span.end > span.start) spans.push_back(span);
    }
  }

  StepTime result(const std::vector<TaskTimes>& times) const {
    StepTime out;
    out.tasks = graph_.tasks();
    std::size_t slowest = 0;
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      out.time = std::max(out.time, times[index_of(stages_[stage].end)].end - Instant{});
      if (busy(stage).total() > busy(slowest).total()) slowest = stage;
    }
    const Stage& shown = stages_[slowest];
    StepBreakdown& parts = out.breakdown;
    parts.stage = static_cast<int>(slowest);
    parts.busy = busy(slowest);
    const TaskTimes& update = times[index_of(shown.optimizer)];
    parts.optimizer = update.end - update.start;
    // Before a task the compute stream waited: for replicas, or for other stages.
    Instant free{};
    const auto lasted = [&](TaskId task) {
      return times[index_of(task)].end - times[index_of(task)].start;
    };
    for (const TaskId task : shown.compute) {
      const TaskTimes& t = times[index_of(task)];
      if (issues_[index_of(task)].what != What::send)
        parts.busy.contention += seconds(lasted(task) - graph_.alone(task));
      if (task == shown.optimizer) {
        const Instant reduced = times[index_of(shown.reduced)].end;
        parts.data += (later(reduced, free) - free) + norm_;
      } else if (t.waited_for && graph_.stream_of(*t.waited_for) == stream(slowest, kData)) {
        parts.data += t.start - free;
      }
      free = t.end;
    }
    parts.data += out.time - (free - Instant{});
    Duration exchanged;
    for (const TaskId task : shown.exchanges) exchanged += lasted(task);
    parts.data_hidden = std::max(Duration{}, exchanged - parts.data);
    // Kernels are rounded to picoseconds one by one: what is left of a stage that never waits is 0.
    const Duration rest = out.time - to_duration(parts.busy.total()) - parts.data - parts.optimizer;
    parts.pipeline = std::max(Duration{}, rest);
    return out;
  }

  const StepSetup& setup_;
  const Layout& l_;
  CollectiveTimes& collectives_;
  StepCalls calls_;
  std::vector<Chunk> chunks_;
  std::vector<std::vector<Ends>> forward_, backward_;  ///< by chunk and micro-batch
  std::vector<Stage> stages_;
  StreamGraph graph_;
  std::vector<StepIssue> issues_;                         ///< what tasks come from
  std::vector<double> insides_;                           ///< StepSpan::inside of the first tasks
  StepIssue issue_;                                       ///< what the next task comes from
  Duration message_, norm_;                               ///< between stages; of all gradients
  std::map<std::pair<What, int>, CollectiveTime> known_;  ///< exchanges of this pass
  /// At most two gathered layers wait: a gather begins when the layer before the last one is done.
  std::optional<TaskId> unit_before_last_;
};

}  // namespace

StepTime step_time(const StepSetup& setup, CollectiveTimes& collectives,
                   std::vector<StepSpan>* spans) {
  return Step(setup, collectives).run(spans);
}

void ask_step(const StepSetup& setup, CollectiveTimes& collectives) {
  Step(setup, collectives).put_on_streams();
}

}  // namespace fabricast
