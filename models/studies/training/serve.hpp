#pragma once
// The study behind `fabricast serve`: the time to the first token and per token of a model on a
// cluster, and how much of it is communication.

#include <string>

#include "models/studies/training/step.hpp"
#include "models/training/step/inference.hpp"

namespace fabricast {

struct ServeConfig {
  StepConfig site;  ///< cluster, model and price; its layout's precision
  int tensor = 1, pipeline = 1, expert = 1;
  int batch = 1;
  int prompt = 1, output = 1;  ///< tokens of a request
};

/// The same with another number of requests at once.
struct ServeLoad {
  int batch = 1;
  double first_token = 0, token = 0;  ///< seconds
  double tokens_per_s = 0;            ///< see ServeResult
};

struct ServeResult {
  ServeConfig config;
  GpuCompute gpu;
  ServeTime prefill;   ///< to the first token
  ServeTime decode;    ///< per token, at the mean length of the requests
  ServeMemory memory;  ///< at their full length
  int at_once = 1;     ///< requests whose keys and values fit at their full length, of the batch
  bool fits = true;    ///< all of them
  /// One request per GPU of an expert group, then twice as many each time, as long as they fit.
  std::vector<ServeLoad> loads;
  /// Of a whole batch of requests, in seconds: what does not fit at once waits.
  double request() const {
    return prefill.total() + config.output * decode.total() * config.batch / at_once;
  }
  /// While all that run at once decode, of all GPUs.
  double tokens_per_s() const { return at_once / decode.total(); }
  int gpus() const { return config.tensor * config.expert * config.pipeline; }
};

/// Throws Error.
ServeResult run_serve(const ServeConfig& config, const GpuCompute& gpu,
                      CollectiveTimes& collectives);
/// The same from names, with collectives side by side.
ServeResult run_serve(const ServeConfig& config, const PartsCatalogue& parts,
                      const ForEach& for_each = in_turn);

std::string serve_text(const ServeResult& result);

/// A file of `kind: serve`. Throws Error.
ServeConfig load_serve(const std::string& path);
ServeConfig parse_serve(const std::string& text, const std::string& file);

}  // namespace fabricast
