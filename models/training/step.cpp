#include "models/training/step.hpp"

#include <algorithm>
#include <vector>

#include "models/training/pipeline.hpp"
#include "models/training/rank_groups.hpp"
#include "models/training/replica_exchange.hpp"
#include "models/training/step_chunks.hpp"
#include "models/training/stream_graph.hpp"

namespace fabricast {

namespace {

constexpr double kHalf = 2;  // bytes

enum Stream : std::uint32_t { kCompute, kData, kStreams };

/// First and last task of a micro-batch in a chunk.
struct Ends {
  TaskId first{}, last{};
};

using Kind = PipelineOp::Kind;

class Step {
 public:
  Step(const StepSetup& setup, CollectiveTimes& collectives)
      : setup_(setup), l_(setup.layout), collectives_(collectives), exchange_(setup, collectives) {}

  /// `spans` may be nullptr.
  StepTime run(std::vector<StepSpan>* spans) {
    chunks_ = make_chunks(setup_, collectives_);
    forward_.assign(chunks_.size(), std::vector<Ends>(micros()));
    backward_ = forward_;
    const auto orders =
        pipeline_orders(l_.schedule, l_.pipeline, l_.virtual_stages, l_.micro_batches());
    stages_.resize(orders.size());
    message_ = collectives_.cost(Collective::sendrecv, stage_pair(l_), boundary_bytes()).time;
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
    double slowed = 0;   ///< seconds that exchanges beside compute cost it
    Duration exchanged;  ///< all exchanges between replicas
  };

  std::size_t micros() const { return static_cast<std::size_t>(l_.micro_batches()); }
  std::size_t stages() const { return static_cast<std::size_t>(l_.pipeline); }
  static std::uint32_t stream(std::size_t stage, Stream which) {
    return static_cast<std::uint32_t>(stage) * kStreams + which;
  }
  double boundary_bytes() const {
    const double whole = kHalf * l_.micro_batch * l_.sequence / l_.context * setup_.model.hidden;
    return l_.sequence_is_sharded() ? whole / l_.tensor : whole;
  }
  /// Sends wait for each other in 1F1B: each stage exchanges with both neighbours in pairs.
  bool sends_block() const {
    return l_.pipeline > 1 && (l_.virtual_stages == 1 || !l_.overlap.pipeline) &&
           l_.schedule != Schedule::zero_bubble;
  }
  bool splits_backward() const {
    return l_.schedule == Schedule::zero_bubble && l_.virtual_stages == 1;
  }

  TaskId compute(std::size_t stage, double time) {
    const TaskId task = graph_.add(stream(stage, kCompute), to_duration(time));
    labels_.push_back(label_);
    stages_[stage].compute.push_back(task);
    return task;
  }

  /// Compute with an exchange beside it, which takes multiprocessors away meanwhile.
  TaskId compute_beside(std::size_t stage, double time, const CollectiveTime& exchange) {
    const double slowed =
        std::min(time, seconds(exchange.time)) * exchange.channels / setup_.gpu.multiprocessors;
    stages_[stage].slowed += slowed;
    return compute(stage, time + slowed);
  }

  TaskId communicate(std::size_t stage, const CollectiveTime& exchange) {
    stages_[stage].exchanged += exchange.time;
    labels_.push_back(label_);
    return graph_.add(stream(stage, kData), exchange.time);
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
      ends.first = ends.last = compute(stage, time);
    } else if (l_.shards_weights()) {
      ends = add_sharded(stage, chunk, forward, time);
    } else {
      ends = add_replicated(stage, chunk, op, time);
    }
    if (sends_block() && (forward ? number + 1 < chunks_.size() : number > 0)) {
      label_.what = StepSpan::What::send;
      ends.last = compute(stage, seconds(message_));
    }
  }

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
      ends.first = ends.last = compute(stage, time);
      return ends;
    }
    const int pieces = exchange_.buckets(chunk.parameters, std::max(chunk.layers, 1));
    const CollectiveTime piece = gathers ? exchange_.gather(chunk.parameters, pieces)
                                         : exchange_.reduce(chunk.parameters, pieces);
    for (int i = 0; i < pieces; ++i) {
      ends.last = compute_beside(stage, time / pieces, piece);
      const TaskId exchanged = communicate(stage, piece);
      if (gathers) {
        graph_.after(ends.last, exchanged);
      } else {
        graph_.after(exchanged, ends.last);
      }
      if (i == 0) ends.first = ends.last;
    }
    return ends;
  }

  /// Cut weights: each layer is gathered while the one before computes, in both directions; its
  /// gradients are scattered after its backward.
  Ends add_sharded(std::size_t stage, const Chunk& chunk, bool forward, double time) {
    const int units = std::max(chunk.layers, 1);
    const CollectiveTime gathering = exchange_.gather(chunk.parameters, units);
    const CollectiveTime scattering =
        forward ? CollectiveTime{} : exchange_.reduce(chunk.parameters, units);
    CollectiveTime beside = gathering;
    beside.time += scattering.time;
    Ends ends;
    TaskId gathered = communicate(stage, gathering);
    if (unit_before_last_) graph_.after(gathered, *unit_before_last_);
    for (int i = 0; i < units; ++i) {
      const std::vector<TaskId>& computed = stages_[stage].compute;
      if (!computed.empty()) unit_before_last_ = computed.back();
      ends.last = compute_beside(stage, time / units, beside);
      graph_.after(ends.last, gathered);
      if (i == 0) ends.first = ends.last;
      if (i + 1 < units) {
        gathered = communicate(stage, gathering);
        if (unit_before_last_) graph_.after(gathered, *unit_before_last_);
      }
      if (!forward) graph_.after(communicate(stage, scattering), ends.last);
    }
    return ends;
  }

  void connect_stages() {
    const Duration lag = l_.pipeline > 1 && !sends_block() ? message_ : Duration{};
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      for (std::size_t i = 0; i < micros(); ++i) {
        if (c + 1 < chunks_.size()) {
          graph_.after(forward_[c + 1][i].first, forward_[c][i].last, lag);
          graph_.after(backward_[c][i].first, backward_[c + 1][i].last, lag);
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
          graph_.after(communicate(stage, exchange_.reduce(chunks_[c].parameters, 1)), last);
      stages_[stage].reduced = communicate(stage, {});
      graph_.after(stages_[stage].reduced, last);
    }
    const RankGroup everyone{l_.gpus, 1};
    norm_ = collectives_.cost(Collective::all_reduce, everyone, 4).time;
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      Stage& here = stages_[stage];
      const TaskId known = communicate(stage, {norm_, 0});
      for (const Stage& other : stages_) graph_.after(known, other.reduced);
      label_.what = StepSpan::What::optimizer;
      here.optimizer = compute(stage, optimizer_time(setup_, static_cast<int>(stage)));
      label_.what = StepSpan::What::finish;
      graph_.after(here.optimizer, known);
      here.end = here.optimizer;
      if (!replicated || !exchange_.gathers_once() || l_.overlap.parameters) continue;
      for (std::size_t c = stage; c < chunks_.size(); c += stages()) {
        here.end = communicate(stage, exchange_.gather(chunks_[c].parameters, 1));
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
      span.exchange = on % kStreams == kData;
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
    for (const TaskId task : shown.compute) {
      const TaskTimes& t = times[index_of(task)];
      if (task == shown.optimizer) {
        const Instant reduced = times[index_of(shown.reduced)].end;
        parts.data += (later(reduced, free) - free) + norm_;
      } else if (t.waited_for && graph_.stream_of(*t.waited_for) == stream(slowest, kData)) {
        parts.data += t.start - free;
      }
      free = t.end;
    }
    parts.data += out.time - (free - Instant{});
    parts.data_hidden = std::max(Duration{}, shown.exchanged - parts.data);
    parts.pipeline = out.time - to_duration(parts.busy.total()) - parts.data - parts.optimizer;
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
