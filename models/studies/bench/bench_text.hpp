#pragma once
// Views of a bench result.

#include <optional>
#include <string>

#include "models/io/bands/bands.hpp"
#include "models/io/report/report.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

// `bands`: those of predictions; an empty table = none.

/// nccl-tests' table, readable by whatever reads nccl-tests: data lines have its 13 columns, all
/// else is behind '#'.
std::string bench_text(const BenchResult& result, const BandTable& bands = {});
/// Tables: rows, which is what CSV shows (what does not complete has no time_us, algbw_GBps and
/// busbw_GBps), and runs; groups, faults, critical_path and links where they were asked for.
Report bench_report(const BenchResult& result, const BandTable& bands = {});
/// Where the time of one row went, and its busiest links. REQUIRES: the bench was asked to explain.
std::string explain_text(const BenchBlock& block, const BenchRow& row);

/// Hash over the digests of all rows: equal for equal input, wherever and however it was built.
/// Nothing where there are no rows.
std::optional<std::uint64_t> bench_digest(const BenchResult& result);

}  // namespace fabricast
