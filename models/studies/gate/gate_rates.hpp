#pragma once
// How often floors are wrong: healthy runs that somebody published and that fail, and runs posted
// as a problem that pass, beside rules of thumb. Each run is predicted by a fit, and its floor
// taken from bands, that have not seen its source.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/accuracy/validate.hpp"

namespace fabricast {

/// What decides whether a run passes.
enum class GateRule : std::uint8_t {
  all_rows,     ///< floors of all rows of the run: at most one in ten is slower
  largest_row,  ///< the floor of its largest size, from kLargeRow on
  line_rate,    ///< that row has 80 % of the line rate
  aicr          ///< AICR's fixed floor on that row of all_reduce between nodes
};
inline constexpr Bytes kLargeRow{256 << 20};
inline constexpr double kRuleOfThumb = 0.8;

/// Of one run under one rule; by kSlowShares where the rule is a floor of ours, else the first.
struct GateOutcome {
  bool applies = false;
  std::array<bool, kSlowShares.size()> passes{};
};

struct RatedRun {
  std::size_t run = 0;
  bool is_sick = false;
  std::size_t rows = 0;
  std::array<std::size_t, kSlowShares.size()> slow{};  ///< of `rows`, slower than their floor
  double largest_busbw_GBps = 0;                       ///< measured; 0 = no such row
  GateOutcome all_rows, largest_row, line_rate, aicr;

  const GateOutcome& of(GateRule rule) const;
};

struct GateRates {
  Measurements measured;
  std::vector<RatedRun> runs;
  std::vector<std::string> left_out;  ///< "id: why"
};

/// Runs from number `first_sick` on were posted as a problem. `result`: simulated, those of sources
/// that `calibrated` was fitted to by fits without them, too.
GateRates rate_gates(const ValidateResult& result, std::size_t first_sick,
                     const Calibrated& calibrated, const PartsCatalogue& parts);

/// Bus bandwidth of the wires, GB/s: between nodes what their NICs signal, in a node NVLink or PCIe
/// of a GPU, one direction. Of collectives that NCCL tunes; nothing of others.
std::optional<double> line_rate_GBps(const MappedRun& run, Collective collective,
                                     const PartsCatalogue& parts);
/// AICR's floor, GB/s, with its tolerance: NVIDIA/aicr#2787 has the table, by machine and cloud.
/// Nothing where it has none.
std::optional<double> aicr_floor_GBps(const MeasuredRun& run);

std::string gate_rates_text(const GateRates& rates);
/// Tables: rows, a line for each rule and share; runs.
Report gate_rates_report(const GateRates& rates);

}  // namespace fabricast
