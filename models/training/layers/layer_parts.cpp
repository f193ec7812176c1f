#include "models/training/layers/layer_parts.hpp"

#include <algorithm>

namespace fabricast {

namespace {

constexpr int kReduceChunks = 4;  // Transformer Engine splits a GEMM with its reduce-scatter so

}  // namespace

LayerParts::LayerParts(const StepSetup& setup, CollectiveTimes& collectives)
    : m_(setup.model),
      l_(setup.layout),
      f_(setup.framework),
      gpu_(setup.gpu),
      collectives_(collectives),
      calls_(setup.model, setup.layout) {
  tokens_ = static_cast<double>(l_.micro_batch) * l_.sequence / l_.context;
  shard_tokens_ = l_.sequence_is_sharded() ? tokens_ / l_.tensor : tokens_;
}

Pieces LayerParts::pieces_in() const { return overlaps_tensor() ? Pieces{l_.tensor, 1} : Pieces{}; }

Pieces LayerParts::pieces_out() const {
  return overlaps_tensor() ? Pieces{kReduceChunks, l_.tensor} : Pieces{};
}

LayerParts::LinearTime LayerParts::linear(const std::vector<Linear>& parts, Precision precision,
                                          double tokens, Pieces pieces) {
  LinearTime sum;
  const auto cut = [&](int times, double n, double k) {
    return times * gemm_time(gpu_, precision, {tokens / times, n, k});
  };
  for (const Linear& part : parts) {
    ++timed_;
    sum.forward += cut(pieces.forward, part.n, part.k);
    sum.dgrad += cut(pieces.dgrad, part.k, part.n);
    if (l_.trains_weights()) {
      sum.wgrad += gemm_time(gpu_, precision, {part.n, part.k, tokens, 1, 2.0 * f_.gradient_bytes});
    }
    if (is_8bit_or_less(precision)) cast(tokens * part.k, tokens * part.n);
  }
  add_gemm(sum);
  return sum;
}

void LayerParts::add_gemm(const LinearTime& sum) {
  out_.forward.gemm += sum.forward;
  out_.backward.gemm += (sum.dgrad + sum.wgrad);
  out_.weight.gemm += sum.wgrad;
}

void LayerParts::cast(double inputs, double gradients) {
  const double bytes = kHalf + 2 * element_bytes(l_.precision);
  elementwise(inputs * bytes, gradients * bytes);
}

void LayerParts::elementwise(double forward_bytes, double backward_bytes) {
  ++timed_;
  out_.forward.elementwise += elementwise_time(gpu_, forward_bytes * f_.elementwise);
  out_.backward.elementwise += elementwise_time(gpu_, backward_bytes * f_.elementwise);
}

double LayerParts::cost(const std::vector<GroupCall>& calls) {
  double sum = 0;
  for (const GroupCall& call : calls) sum += seconds(cost(call).time);
  return sum;
}

void LayerParts::overlapped(PassTime& pass, const CollectiveTime& comm, double beside, int chunks) {
  const double time = seconds(comm.time);
  const double first = chunks > 1 ? time / chunks : 0;
  const double exposed = first + std::max(0.0, time - first - beside);
  pass.tensor += exposed;
  pass.tensor_hidden += time - exposed;
  pass.contention += (time - exposed) * comm.channels / gpu_.multiprocessors;
}

void LayerParts::tensor_collectives(const LinearTime& in, const LinearTime& out) {
  if (l_.tensor == 1) return;
  PassTime& forward = out_.forward;
  PassTime& backward = out_.backward;
  if (!l_.sequence_parallel) {
    forward.tensor += seconds(tensor(Collective::all_reduce).time);
    overlapped(backward, tensor(Collective::all_reduce), in.wgrad, 1);
    return;
  }
  const CollectiveTime gather = cost(calls_.gathered());
  const CollectiveTime scatter = tensor(Collective::reduce_scatter);
  if (l_.overlap.tensor) {
    overlapped(forward, gather, in.forward, l_.tensor);
    overlapped(forward, scatter, out.forward, kReduceChunks);
    overlapped(backward, gather, out.dgrad, l_.tensor);
  } else {
    forward.tensor += seconds(gather.time) + seconds(scatter.time);
    backward.tensor += seconds(gather.time);
  }
  // The saved input is gathered beside dgrad, its gradient scattered beside wgrad.
  overlapped(backward, gather, in.dgrad, 1);
  overlapped(backward, scatter, in.wgrad, 1);
}

void LayerParts::adapters(const std::vector<Linear>& parts) {
  if (l_.trains_weights()) return;
  for (const Linear& part : parts)
    elementwise(kHalf * tokens_ * (part.k + 2 * part.n), kHalf * tokens_ * (3 * part.k + part.n));
}

void LayerParts::norm_and_residual() {
  const double element = kHalf * m_.hidden * shard_tokens_;
  elementwise(4 * element, 5 * element);
}

}  // namespace fabricast
