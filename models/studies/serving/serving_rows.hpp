#pragma once
// Measured serving runs, from CSV.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/studies/training/serve.hpp"

namespace fabricast {

/// One run in a closed loop.
struct ServingRow {
  std::string id, model, system, framework, mode;  ///< as in the file; mode agg or disagg
  std::string build;                               ///< of the engine: release, nightly, not named
  ServeConfig config;                              ///< model, layout, engine, load, topology
  std::optional<double> first_token, token;        ///< seconds
  bool medians = false;                            ///< over requests; else means
  std::optional<double> output_per_s;              ///< tokens
};

struct ServingRows {
  std::vector<ServingRow> rows;
  std::map<std::string, int> left_out;  ///< by reason

  void append(ServingRows more);
};

/// Two tables, told apart by their columns. Times of the latency table: model, system, framework,
/// framework_version, precision, mode, input_len, output_len, concurrency, gpus, tp, ep,
/// dp_attention, src_prefill_*, src_decode_*, ttft_ms, tpot_ms, notes. Runs: model, gpu, framework,
/// precision, scenario, gpus, tp, ep, input_len, output_len, concurrency, requests,
/// mean_input_tokens, mean_output_tokens, output_tok_s, median_ttft_ms, median_tpot_ms, notes.
/// Throws Error with file and line.
ServingRows read_serving_rows(const std::string& text, const std::string& file);

}  // namespace fabricast
