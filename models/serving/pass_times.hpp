#pragma once
// Times of passes from a table: kernels and collectives are asked for on a grid of token numbers
// once, and interpolated; attention, which depends on contexts, is computed each time.

#include <vector>

#include "models/training/step/inference.hpp"

namespace fabricast {

/// What engines cost beside kernels, in seconds, and how their kernels compare with those of
/// workloads/gpus.yaml. Values and sources: workloads/serving.yaml.
struct EngineHost {
  double pass = 0;         ///< between passes, while the GPU waits: scheduler, sampling, launch
  double request = 0;      ///< of that, for each request that gets a token
  double front = 0;        ///< from a request's arrival until the scheduler sees it
  double token = 0;        ///< of a prompt, in a front end that takes one prompt after another
  double kernel = 0;       ///< of the CPU, for each kernel of a pass that no CUDA graph has
  double gemm = 1;         ///< times the GEMMs
  double attention = 1;    ///< times attention
  double elementwise = 1;  ///< times all other kernels
  double communication = 1;
};

/// Kernels that the CPU launches for a forward pass, beside quantising_kernels(): 10 for a dense
/// layer (two norms, four GEMMs, rope, attention, activation, all-reduce), 14 more for experts
/// (router, top-k, sort, two grouped GEMMs, ...), less four of the dense MLP where no expert is
/// shared, 16 more for latent attention, 18 more for a layer with a state (convolution, gates,
/// norms of queries and keys, seven of the chunks, copies of the state), which count twice, as
/// Triton's launcher is Python: assumed, no trace was counted.
double launches_of(const Transformer& model);

/// How kernels of passes with prompts are launched.
struct PromptLaunches {
  /// Of up to so many tokens, of a copy, they are in a CUDA graph (cut at attention), as those of
  /// decodes are: no launches of their own.
  int graph_tokens = 0;
  /// Others are launched from compiled code, in a tenth of what Python takes (assumed).
  bool compiled = false;
  /// Of a pass of so many tokens, in launches from Python.
  double of(const ServeSetup& setup, double tokens) const;
};

/// A pass of kernels as such an engine runs it for so many requests. Passes with prompts are not in
/// a CUDA graph: where the CPU takes longer to launch their `launches` than the GPU to run them,
/// the GPU waits.
ServeTime hosted(ServeTime kernels, const EngineHost& host, double requests, double launches);

class PassTimes {
 public:
  /// For up to `tokens_max` tokens of a copy in a pass, which batch_of_stage() divides.
  PassTimes(const ServeSetup& setup, double tokens_max, CollectiveTimes& collectives);

  ServeTime at(const ServeBatch& batch, const EngineHost& host,
               const PromptLaunches& launches = {}) const;
  double seconds(const ServeBatch& batch, const EngineHost& host,
                 const PromptLaunches& launches = {}) const {
    return at(batch, host, launches).total();
  }
  const ServeSetup& setup() const { return setup_; }

 private:
  /// By tokens, ascending.
  struct Table {
    std::vector<double> tokens;
    std::vector<ServeTime> times;
    ServeTime at(double tokens) const;
  };

  ServeSetup setup_;
  Table alone_, even_;  ///< no other copy has tokens; all have as many
  Table logits_;
};

}  // namespace fabricast
