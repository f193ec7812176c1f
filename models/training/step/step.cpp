#include "models/training/step/step.hpp"

#include <algorithm>
#include <vector>

#include "models/training/calls/rank_groups.hpp"
#include "models/training/layers/replica_exchange.hpp"
#include "models/training/step/pipeline.hpp"
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

class Step {
 public:
  Step(const StepSetup& setup, CollectiveTimes& collectives)
      : setup_(setup), l_(setup.layout), collectives_(collectives), exchange_(setup) {}

  /// `spans` may be nullptr.
  StepTime run(std::vector<StepSpan>* spans) {
    chunks_ = make_chunks(setup_, collectives_);
    forward_.assign(chunks_.size(), std::vector<Ends>(micros()));
    backward_ = forward_;
    const auto orders =
        pipeline_orders(l_.schedule, l_.pipeline, l_.virtual_stages, l_.micro_batches());
    stages_.resize(orders.size());
    const CollectiveTimes::Exchange message = stage_message(setup_, collectives_);
    message_ = collectives_.cost(message.collective, message.group, message.bytes).time;
    set_slowdowns(graph_, setup_, chunks_, !sends_block(), collectives_);
    for (std::size_t stage = 0; stage < orders.size(); ++stage) {
      unit_before_last_.reset();
      for (const PipelineOp& op : orders[stage]) add(stage, op);
    }
    connect_stages();
    finish();
    const std::vector<TaskTimes> times = graph_.run();
    if (spans != nullptr) add_spans(times, *spans);
    return result(times);
  }

 private:
  struct Stage {
    std::vector<TaskId> compute;  ///< in order
    TaskId reduced{}, optimizer{}, end{};
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
  bool splits_backward() const {
    return l_.schedule == Schedule::zero_bubble && l_.virtual_stages == 1;
  }

  static SiteLoad load(std::size_t stage, Load kind) {
    return {static_cast<std::uint32_t>(stage), kind};
  }

  TaskId compute(std::size_t stage, double time, Load kind = kNone) {
    const TaskId task = graph_.add(stream(stage, kCompute), to_duration(time), load(stage, kind));
    labels_.push_back(label_);
    stages_[stage].compute.push_back(task);
    return task;
  }

  /// To the next stage, or the one before. Blocking ones are exchanged in pairs while nothing is
  /// computed.
  TaskId send(std::size_t stage, bool forward) {
    const std::size_t to = (stage + (forward ? 1 : stages() - 1)) % stages();
    const Stream way = sends_block() ? kCompute : forward ? kSendForward : kSendBackward;
    label_.what = StepSpan::What::send;
    const TaskId task =
        graph_.add(stream(stage, way), message_, load(stage, kSend), load(to, kReceive));
    labels_.push_back(label_);
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

  CollectiveTime gather(const LocalParameters& chunk, double pieces) {
    return exchange_.cost(exchange_.gather(chunk, pieces), collectives_);
  }
  CollectiveTime reduce(const LocalParameters& chunk, double pieces) {
    return exchange_.cost(exchange_.reduce(chunk, pieces), collectives_);
  }

  TaskId communicate(std::size_t stage, const CollectiveTime& exchange, Load kind) {
    labels_.push_back(label_);
    const TaskId task = graph_.add(stream(stage, kData), exchange.time, load(stage, kind));
    stages_[stage].exchanges.push_back(task);
    return task;
  }

  void add(std::size_t stage, const PipelineOp& op) {
    const std::size_t number = static_cast<std::size_t>(op.chunk) * stages() + stage;
    const Chunk& chunk = chunks_[number];
    label_.what = static_cast<StepSpan::What>(op.kind);
    label_.micro = op.micro;
    label_.chunk = op.chunk;
    if (op.kind == Kind::weight) {
      compute(stage, chunk.weight.total());
      return;
    }
    const bool forward = op.kind == Kind::forward;
    double time = (forward ? chunk.forward : chunk.backward).total();
    if (!forward && splits_backward()) time -= chunk.weight.total();
    Ends& ends = (forward ? forward_ : backward_)[number][static_cast<std::size_t>(op.micro)];
    if (!exchange_.happens()) {
      ends.first = ends.last = compute(stage, time, pass_load(forward));
    } else if (l_.shards_weights()) {
      ends = add_sharded(stage, chunk, forward, time);
    } else {
      ends = add_replicated(stage, chunk, op, time);
    }
    if (l_.pipeline > 1 && (forward ? number + 1 < chunks_.size() : number > 0)) {
      const TaskId sent = send(stage, forward);
      graph_.after(sent, ends.last);
      ends.last = sent;
    }
  }

  static Load pass_load(bool forward) { return forward ? kForward : kBackward; }

  /// Whole weights on every replica: gathered by bucket before the first forward, reduced by
  /// bucket during the last backward of a chunk.
  Ends add_replicated(std::size_t stage, const Chunk& chunk, const PipelineOp& op, double time) {
    const bool forward = op.kind == Kind::forward;
    const bool last = op.micro == l_.micro_batches() - 1 || l_.sharding == Sharding::zero2;
    const bool gathers =
        forward && op.micro == 0 && exchange_.gathers_once() && l_.overlap.parameters;
    const bool reduces = !forward && last && l_.overlap.gradients && !splits_backward();
    Ends ends;
    if (!gathers && !reduces) {
      ends.first = ends.last = compute(stage, time, pass_load(forward));
      return ends;
    }
    const int pieces = exchange_.pieces(chunk.parameters, chunk.layers);
    const CollectiveTime piece =
        gathers ? gather(chunk.parameters, pieces) : reduce(chunk.parameters, pieces);
    for (int i = 0; i < pieces; ++i) {
      ends.last = compute_beside(stage, time / pieces, piece, pass_load(forward));
      const TaskId exchanged = communicate(stage, piece, gathers ? kGather : kReduce);
      if (gathers) {
        graph_.after(ends.last, exchanged);
      } else {
        graph_.after(exchanged, ends.last);
      }
      if (i == 0) ends.first = ends.last;
    }
    return ends;
  }

  /// Cut weights: each layer is gathered while the one before computes, in both directions, or
  /// without overlap after it; its gradients are scattered after its backward, or once a bucket is
  /// full.
  Ends add_sharded(std::size_t stage, const Chunk& chunk, bool forward, double time) {
    const int units = exchange_.pieces(chunk.parameters, chunk.layers);
    const CollectiveTime gathering = this->gather(chunk.parameters, units);
    const int together = exchange_.units_reduced_together(chunk.parameters, units);
    const auto scattering = [&](int count) {
      return reduce(chunk.parameters, static_cast<double>(units) / count);
    };
    const CollectiveTime full_bucket = forward ? CollectiveTime{} : scattering(together);
    CollectiveTime beside;
    if (l_.overlap.parameters) beside = gathering;
    if (l_.overlap.gradients) {
      beside.time.ps += full_bucket.time.ps / together;
      beside.channels = std::max(beside.channels, full_bucket.channels);
    }
    Ends ends;
    const auto gather = [&] {
      const std::vector<TaskId>& computed = stages_[stage].compute;
      const TaskId gathered = communicate(stage, gathering, kGather);
      if (!l_.overlap.parameters && !computed.empty()) graph_.after(gathered, computed.back());
      if (unit_before_last_) graph_.after(gathered, *unit_before_last_);
      return gathered;
    };
    TaskId gathered = gather();
    std::optional<TaskId> awaited;  // a scatter that compute does not go on without
    int waiting = 0;                // layers whose gradients are
    for (int i = 0; i < units; ++i) {
      const std::vector<TaskId>& computed = stages_[stage].compute;
      if (!computed.empty()) unit_before_last_ = computed.back();
      ends.last = compute_beside(stage, time / units, beside, pass_load(forward));
      graph_.after(ends.last, gathered);
      if (awaited) graph_.after(ends.last, *awaited);
      if (i == 0) ends.first = ends.last;
      if (i + 1 < units) gathered = gather();
      if (forward || (++waiting < together && i + 1 < units)) continue;
      const TaskId scattered =
          communicate(stage, waiting == together ? full_bucket : scattering(waiting), kReduce);
      graph_.after(scattered, ends.last);
      if (!l_.overlap.gradients) awaited = scattered;
      waiting = 0;
    }
    return ends;
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

  /// After the last backward: reductions that did not overlap, the norm of all gradients (nobody
  /// goes on before it is known), the optimizer, parameters.
  void finish() {
    label_.what = StepSpan::What::finish;
    const bool replicated = exchange_.happens() && !l_.shards_weights();
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      const TaskId last = stages_[stage].compute.back();
      if (replicated && (!l_.overlap.gradients || splits_backward()))
        for (std::size_t c = stage; c < chunks_.size(); c += stages())
          graph_.after(communicate(stage, reduce(chunks_[c].parameters, 1), kReduce), last);
      stages_[stage].reduced = communicate(stage, {}, kNone);
      graph_.after(stages_[stage].reduced, last);
    }
    const RankGroup everyone{l_.gpus, 1};
    norm_ = collectives_.cost(Collective::all_reduce, everyone, 4).time;
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      Stage& here = stages_[stage];
      const TaskId known = communicate(stage, {norm_, 0}, kNone);
      for (const Stage& other : stages_) graph_.after(known, other.reduced);
      label_.what = StepSpan::What::optimizer;
      here.optimizer = compute(stage, optimizer_time(setup_, static_cast<int>(stage)));
      label_.what = StepSpan::What::finish;
      graph_.after(here.optimizer, known);
      here.end = here.optimizer;
      if (!replicated || !exchange_.gathers_once() || l_.overlap.parameters) continue;
      for (std::size_t c = stage; c < chunks_.size(); c += stages()) {
        here.end = communicate(stage, gather(chunks_[c].parameters, 1), kGather);
        graph_.after(here.end, here.optimizer);
      }
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
      StepSpan span = labels_[task];
      span.stage = static_cast<int>(on / kStreams);
      span.stream = static_cast<int>(on % kStreams);
      span.exchange = span.stream != kCompute;
      span.start = times[task].start;
      span.end = times[task].end;
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
      if (labels_[index_of(task)].what != StepSpan::What::send)
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
  ReplicaExchange exchange_;
  std::vector<Chunk> chunks_;
  std::vector<std::vector<Ends>> forward_, backward_;  ///< by chunk and micro-batch
  std::vector<Stage> stages_;
  StreamGraph graph_;
  std::vector<StepSpan> labels_;  ///< of tasks; times and places are still open
  StepSpan label_;                ///< of the tasks that come next
  Duration message_, norm_;       ///< between stages; of all gradients
  /// At most two gathered layers wait: a gather begins when the layer before the last one is done.
  std::optional<TaskId> unit_before_last_;
};

}  // namespace

StepTime step_time(const StepSetup& setup, CollectiveTimes& collectives,
                   std::vector<StepSpan>* spans) {
  return Step(setup, collectives).run(spans);
}

}  // namespace fabricast
