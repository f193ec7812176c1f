#pragma once
// Throughput of TensorRT-LLM while all requests wait from the beginning: `trtllm-bench throughput`,
// whose results docs/source/performance/perf-overview.md of each release lists.

#include <array>
#include <string_view>

#include "models/io/formats/csv_table.hpp"
#include "models/studies/serving/serving_rows.hpp"

namespace fabricast {

/// The `mode` of such rows.
inline constexpr std::string_view kMaxLoad = "max load";

/// Columns that such a table has, and only such a one the last of them.
inline constexpr std::array<std::string_view, 8> kMaxLoadColumns = {
    "trtllm_version",           "model", "gpu", "dtype", "tp", "input_len", "output_len",
    "output_tokens_per_s_total"};
/// And gpu_mem_gb, pp; optional: ep, dp_attention, id. Throws Error with file and line, or
/// PassedRow.
ServingRow read_max_load(const CsvRow& row);

/// What trtllm-bench sets where nobody says it.
struct BenchSettings {
  int requests_max = 0, token_budget = 0;
};
/// `requests`: whose keys and values fit, of all GPUs. REQUIRES: positive lengths and stages.
BenchSettings bench_settings(double requests, int prompt, int output, int stages);

}  // namespace fabricast
