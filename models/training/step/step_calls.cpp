#include "models/training/step/step_calls.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

using Kind = PipelineOp::Kind;
using What = StepIssue::What;

void add(std::vector<StepIssue>& out, StepIssue issue, What what) {
  issue.what = what;
  out.push_back(issue);
}

void add(std::vector<GroupCall>& out, const std::vector<GroupCall>& calls) {
  out.insert(out.end(), calls.begin(), calls.end());
}

}  // namespace

GroupCall message_call(const StepSetup& setup) {
  const Layout& l = setup.layout;
  GroupCall out = LayerCalls(setup.model, l).tensor(Collective::sendrecv);
  out.among = Among::stages;
  out.group = group_of(l, out.among);
  if (!l.sequence_is_sharded()) return out;
  out.bytes /= l.tensor;
  out.elements /= l.tensor;
  return out;
}

StepCalls::StepCalls(const StepSetup& setup)
    : setup_(setup),
      l_(setup.layout),
      exchange_(setup),
      layers_(setup.model, setup.layout),
      orders_(pipeline_orders(l_.schedule, l_.pipeline, l_.virtual_stages, l_.micro_batches())) {
  const std::vector<LocalParameters> parameters = chunk_parameters(setup.model, l_);
  int first = 0;
  for (const int layers : layers_of_chunks(setup.model, l_)) {
    parts_.push_back({first, layers, parameters[parts_.size()]});
    first += layers;
  }
}

bool StepCalls::splits_backward() const {
  return l_.schedule == Schedule::zero_bubble && l_.virtual_stages == 1;
}

std::vector<StepIssue> StepCalls::pass(std::size_t stage, const PipelineOp& op) const {
  Issues out;
  StepIssue issue;
  issue.op = op;
  issue.chunk = op.chunk * l_.pipeline + static_cast<int>(stage);
  if (op.kind == Kind::weight) {
    add(out, issue, What::compute);
    return out;
  }
  const bool is_first = issue.chunk == 0;
  const bool is_last = issue.chunk + 1 == static_cast<int>(parts_.size());
  const bool forward = op.kind == Kind::forward;
  if (!(forward ? is_first : is_last)) add(out, issue, What::receive);
  if (!exchange_.happens()) {
    add(out, issue, What::compute);
  } else if (l_.shards_weights()) {
    add_sharded(out, issue);
  } else {
    add_replicated(out, issue);
  }
  if (!(forward ? is_last : is_first)) add(out, issue, What::send);
  return out;
}

/// Whole weights on every replica: gathered by bucket before the first forward, reduced by bucket
/// during the last backward of a chunk.
void StepCalls::add_replicated(Issues& out, StepIssue issue) const {
  const bool forward = issue.op.kind == Kind::forward;
  const bool last = issue.op.micro == l_.micro_batches() - 1 || l_.sharding == Sharding::zero2;
  const bool gathers =
      forward && issue.op.micro == 0 && exchange_.gathers_once() && l_.overlap.parameters;
  const bool reduces = !forward && last && l_.overlap.gradients && !splits_backward();
  if (gathers || reduces)
    issue.pieces = exchange_.pieces(part(issue).parameters, part(issue).layers);
  for (; issue.piece < issue.pieces; ++issue.piece) {
    if (gathers) add(out, issue, What::gather);
    add(out, issue, What::compute);
    if (reduces) add(out, issue, What::reduce);
  }
}

/// Cut weights: each layer is gathered while the one before computes, in both directions, or
/// without overlap after it; its gradients are scattered after its backward, or once a bucket is
/// full.
void StepCalls::add_sharded(Issues& out, StepIssue issue) const {
  const Part& whole = part(issue);
  issue.pieces = exchange_.pieces(whole.parameters, whole.layers);
  const int bucket = exchange_.units_reduced_together(whole.parameters, issue.pieces);
  int waiting = 0;  // layers whose gradients are
  add(out, issue, What::gather);
  for (; issue.piece < issue.pieces; ++issue.piece) {
    const bool last = issue.piece + 1 == issue.pieces;
    add(out, issue, What::compute);
    if (!last) {
      StepIssue next = issue;
      ++next.piece;
      add(out, next, What::gather);
    }
    if (issue.op.kind == Kind::forward || (++waiting < bucket && !last)) continue;
    StepIssue full = issue;
    full.together = waiting;
    add(out, full, What::reduce);
    waiting = 0;
  }
}

/// Reductions that did not overlap, the norm of all gradients, the optimizer, parameters.
std::vector<StepIssue> StepCalls::finish(std::size_t stage) const {
  Issues out;
  StepIssue issue;
  issue.in_pass = false;
  const bool replicated = exchange_.happens() && !l_.shards_weights();
  if (replicated && (!l_.overlap.gradients || splits_backward()))
    add_whole(out, What::reduce, stage);
  add(out, issue, What::norm);
  add(out, issue, What::optimizer);
  if (replicated && exchange_.gathers_once() && !l_.overlap.parameters)
    add_whole(out, What::gather, stage);
  return out;
}

void StepCalls::add_whole(Issues& out, What what, std::size_t stage) const {
  StepIssue issue;
  issue.in_pass = false;
  issue.chunk = static_cast<int>(stage);
  for (; issue.chunk < static_cast<int>(parts_.size()); issue.chunk += l_.pipeline)
    add(out, issue, what);
}

std::vector<GroupCall> StepCalls::of(const StepIssue& issue) const {
  std::vector<GroupCall> out;
  switch (issue.what) {
    case What::receive:
    case What::send:
      return {message_call(setup_)};
    case What::compute:
      return of_compute(issue);
    case What::gather:
      out = exchange_.gather(part(issue).parameters, issue.share());
      break;
    case What::reduce:
      out = exchange_.reduce(part(issue).parameters, issue.share());
      break;
    case What::norm:
      out = {group_call(l_, Among::everyone, Collective::all_reduce, 4, 1)};
      break;
    case What::optimizer:
      break;
  }
  std::erase_if(out, [](const GroupCall& call) { return !call.happens(); });
  return out;
}

std::vector<GroupCall> StepCalls::of_layers() const {
  std::vector<GroupCall> out;
  const int moe_layers = setup_.model.moe_layers();
  for (const bool moe : {false, true}) {
    if ((moe ? moe_layers : setup_.model.layers - moe_layers) == 0) continue;
    add(out, layers_.forward(moe));
    add(out, layers_.backward(moe, l_.recompute));
  }
  for (const bool forward : {true, false}) {
    add(out, layers_.embedding(forward));
    add(out, layers_.output(forward));
  }
  return out;
}

/// With the embedding before the first layer, logits and loss after the last one.
std::vector<GroupCall> StepCalls::of_layer(const StepIssue& issue, int layer) const {
  const Transformer& m = setup_.model;
  const bool moe = m.experts && layer >= m.experts->dense_layers;
  const bool forward = issue.op.kind == Kind::forward;
  std::vector<GroupCall> out;
  if (forward) {
    if (layer == 0) out = layers_.embedding(true);
    add(out, layers_.forward(moe));
    if (layer + 1 == m.layers) add(out, layers_.output(true));
    return out;
  }
  // Of layers that are computed again as a whole, those of a chunk that come first.
  const Part& whole = part(issue);
  const bool full = l_.recompute == Recompute::lean &&
                    layer - whole.first < std::lround(l_.full_share * whole.layers);
  if (layer + 1 == m.layers) out = layers_.output(false);
  add(out, layers_.backward(moe, full ? Recompute::full : l_.recompute));
  if (layer == 0) add(out, layers_.embedding(false));
  return out;
}

/// Those that a piece of a pass has of the calls of its layers, which lie evenly over the pass.
std::vector<GroupCall> StepCalls::of_compute(const StepIssue& issue) const {
  if (issue.op.kind == Kind::weight) return {};
  const Part& whole = part(issue);
  const bool forward = issue.op.kind == Kind::forward;
  std::vector<GroupCall> out;
  const int begin = issue.piece * whole.layers / issue.pieces;
  for (int i = begin; i < whole.layers; ++i) {
    if (i * issue.pieces >= (issue.piece + 1) * whole.layers) break;
    const std::vector<GroupCall> calls =
        of_layer(issue, whole.first + (forward ? i : whole.layers - 1 - i));
    const auto count = static_cast<int>(calls.size());
    for (int k = 0; k < count; ++k)
      if ((i * count + k) * issue.pieces / (whole.layers * count) == issue.piece)
        out.push_back(calls[static_cast<std::size_t>(k)]);
  }
  return out;
}

}  // namespace fabricast
