#include "models/training/step/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricast {

namespace {

using Kind = PipelineOp::Kind;
using Order = std::vector<PipelineOp>;

Order gpipe(int micro_batches) {
  Order out;
  for (int i = 0; i < micro_batches; ++i) out.push_back({Kind::forward, i, 0});
  for (int i = 0; i < micro_batches; ++i) out.push_back({Kind::backward, i, 0});
  return out;
}

Order one_f_one_b(int stage, int stages, int micro_batches) {
  const int warm_up = std::min(micro_batches, stages - stage - 1);
  Order out;
  for (int i = 0; i < warm_up; ++i) out.push_back({Kind::forward, i, 0});
  for (int i = 0; i < micro_batches; ++i) {
    if (i + warm_up < micro_batches) out.push_back({Kind::forward, i + warm_up, 0});
    out.push_back({Kind::backward, i, 0});
  }
  return out;
}

/// The stages that start earlier, the last ones, put gradients of weights off for longer, so that
/// gradients of inputs reach the first stage sooner. As many micro-batches in flight as 1F1B.
Order zero_bubble(int stage, int stages, int micro_batches) {
  Order out;
  int weights = 0;
  for (const PipelineOp& op : one_f_one_b(stage, stages, micro_batches)) {
    out.push_back(op);
    if (op.kind == Kind::backward && op.micro >= stage) out.push_back({Kind::weight, weights++, 0});
  }
  while (weights < micro_batches) out.push_back({Kind::weight, weights++, 0});
  return out;
}

/// The k-th micro-batch of a stage with `v` chunks: rounds of `stages` micro-batches, in each the
/// chunks one after another.
PipelineOp virtual_micro_batch(Kind kind, int k, int stages, int v) {
  const int round = k / (stages * v);
  const int chunk = k % (stages * v) / stages;
  return {kind, round * stages + k % stages, kind == Kind::forward ? chunk : v - 1 - chunk};
}

Order interleaved(int stage, int stages, int v, int micro_batches) {
  const int all = micro_batches * v;
  const int usual = 2 * (stages - stage - 1) + (v - 1) * stages;
  const int warm_up = micro_batches == stages ? all : std::min(all, usual);
  Order out;
  for (int k = 0; k < warm_up; ++k) out.push_back(virtual_micro_batch(Kind::forward, k, stages, v));
  for (int k = 0; k < all; ++k) {
    if (k + warm_up < all)
      out.push_back(virtual_micro_batch(Kind::forward, k + warm_up, stages, v));
    out.push_back(virtual_micro_batch(Kind::backward, k, stages, v));
  }
  return out;
}

}  // namespace

std::vector<Order> pipeline_orders(Schedule schedule, int stages, int virtual_stages,
                                   int micro_batches) {
  std::vector<Order> out;
  for (int stage = 0; stage < stages; ++stage) {
    if (virtual_stages > 1) {
      out.push_back(interleaved(stage, stages, virtual_stages, micro_batches));
    } else if (schedule == Schedule::gpipe) {
      out.push_back(gpipe(micro_batches));
    } else if (schedule == Schedule::zero_bubble) {
      out.push_back(zero_bubble(stage, stages, micro_batches));
    } else {
      out.push_back(one_f_one_b(stage, stages, micro_batches));
    }
  }
  return out;
}

std::string to_text(const Order& order, bool chunks) {
  std::string out;
  for (const PipelineOp& op : order) {
    if (!out.empty()) out += ' ';
    const char letter = op.kind == Kind::forward ? 'F' : op.kind == Kind::backward ? 'B' : 'W';
    out += chunks ? fmt::format("{}{}.{}", letter, op.micro, op.chunk)
                  : fmt::format("{}{}", letter, op.micro);
  }
  return out;
}

}  // namespace fabricast
