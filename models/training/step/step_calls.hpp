#pragma once
// What a stage of the pipeline issues in one optimizer step, in order: passes, the exchanges
// between replicas around them, messages to neighbours. step.hpp makes tasks of it, and whoever
// asks which calls a rank makes reads the same.

#include <vector>

#include "models/training/layers/layer_calls.hpp"
#include "models/training/layers/replica_exchange.hpp"
#include "models/training/step/pipeline.hpp"

namespace fabricast {

/// One of them. Passes and exchanges between replicas come in equal pieces: buckets, or layers.
struct StepIssue {
  enum class What : std::uint8_t { receive, compute, gather, reduce, send, norm, optimizer };
  What what{};
  PipelineOp op;        ///< the pass that it belongs to
  bool in_pass = true;  ///< false: after all passes, `op` means nothing
  int chunk = 0;        ///< of the model
  int piece = 0, pieces = 1;
  int together = 1;  ///< pieces of one exchange

  /// Which share of the chunk an exchange is: one of so many.
  double share() const { return static_cast<double>(pieces) / together; }
};

/// To the next stage, or the one before.
GroupCall message_call(const StepSetup& setup);

class StepCalls {
 public:
  /// REQUIRES: check_layout() passed, recompute is not automatic, `setup` outlives it.
  explicit StepCalls(const StepSetup& setup);

  /// By stage.
  const std::vector<std::vector<PipelineOp>>& orders() const { return orders_; }
  std::vector<StepIssue> pass(std::size_t stage, const PipelineOp& op) const;
  /// After all passes.
  std::vector<StepIssue> finish(std::size_t stage) const;

  /// The calls of it, in order; of compute those inside layers.
  std::vector<GroupCall> of(const StepIssue& issue) const;
  /// The calls inside layers of either kind, embedding and output: those of all compute together.
  std::vector<GroupCall> of_layers() const;

  const ReplicaExchange& exchange() const { return exchange_; }
  /// Whether gradients of weights have passes of their own.
  bool splits_backward() const;

 private:
  using Issues = std::vector<StepIssue>;
  using What = StepIssue::What;
  struct Part {
    int first = 0, layers = 0;  ///< of the model
    LocalParameters parameters;
  };

  const Part& part(const StepIssue& issue) const {
    return parts_[static_cast<std::size_t>(issue.chunk)];
  }
  void add_replicated(Issues& out, StepIssue issue) const;
  void add_sharded(Issues& out, StepIssue issue) const;
  /// Of all chunks of the stage, each as a whole.
  void add_whole(Issues& out, What what, std::size_t stage) const;
  std::vector<GroupCall> of_layer(const StepIssue& issue, int layer) const;
  std::vector<GroupCall> of_compute(const StepIssue& issue) const;

  const StepSetup& setup_;
  const Layout& l_;
  ReplicaExchange exchange_;
  LayerCalls layers_;
  std::vector<std::vector<PipelineOp>> orders_;
  std::vector<Part> parts_;
};

}  // namespace fabricast
