#pragma once
// What the parts of a layer are made of: linear layers with their casts, elementwise kernels, and
// the collectives of tensor parallelism around them. Everything adds up in one LayerTime.

#include <vector>

#include "models/training/layers/layer_calls.hpp"
#include "models/training/layers/layer_times.hpp"

namespace fabricast {

/// A linear layer as one rank has it: n outputs, k inputs.
struct Linear {
  double n = 0, k = 0;
};

/// In how many pieces of their rows products run, so that TP's communication hides behind them.
struct Pieces {
  int forward = 1, dgrad = 1;
};

class LayerParts {
 public:
  LayerParts(const StepSetup& setup, CollectiveTimes& collectives);

 protected:
  struct LinearTime {
    double forward = 0, dgrad = 0, wgrad = 0;
  };

  bool casts() const { return is_8bit_or_less(l_.precision); }
  bool overlaps_tensor() const {
    return l_.tensor > 1 && l_.sequence_parallel && l_.overlap.tensor;
  }
  /// Of linear layers whose inputs are gathered, and of those whose outputs are scattered.
  Pieces pieces_in() const;
  Pieces pieces_out() const;
  /// Linear layers one after another on `tokens`; fp32 gradients of weights are added to.
  LinearTime linear(const std::vector<Linear>& parts, Precision precision, double tokens,
                    Pieces pieces = {});
  void add_gemm(const LinearTime& sum);
  /// To 8 bits or fewer: read 16 bits, write the rows and the columns of it.
  void cast(double inputs, double gradients);
  void elementwise(double forward_bytes, double backward_bytes);
  void norm_and_residual();
  /// What low-rank adapters beside linear layers move, where they alone are trained: forward reads
  /// inputs and adds to outputs; backward reads inputs and outputs' gradients, adds to inputs'
  /// ones.
  void adapters(const std::vector<Linear>& parts);

  CollectiveTime cost(const CollectiveTimes::Exchange& call) {
    CollectiveTime out = collectives_.cost(call.collective, call.group, call.bytes);
    out.time = to_duration(f_.communication * seconds(out.time));
    return out;
  }
  CollectiveTime tensor(Collective collective) { return cost(calls_.tensor(collective)); }
  /// Calls one after another, in seconds.
  double cost(const std::vector<GroupCall>& calls);
  /// Communication that a GEMM of `beside` seconds runs beside, in `chunks` pieces of both; the
  /// first (or last) piece is exposed. One chunk: they only run side by side.
  void overlapped(PassTime& pass, const CollectiveTime& comm, double beside, int chunks);
  /// Around a pair of column- and row-split linear layers.
  void tensor_collectives(const LinearTime& in, const LinearTime& out);

  const Transformer& m_;
  const Layout& l_;
  const Framework& f_;
  const GpuCompute& gpu_;
  CollectiveTimes& collectives_;
  LayerCalls calls_;
  double tokens_ = 0, shard_tokens_ = 0;
  double timed_ = 0;  ///< kernels of forward whose start is in the times above
  LayerTime out_;
};

}  // namespace fabricast
