#pragma once
// A timeline as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open: Chrome's trace
// event format, JSON. Microseconds; the picoseconds are in the arguments of each span.

#include <ostream>
#include <string_view>

#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// "0-7" or "3"; throws Error.
TimelineFilter parse_trace_ranks(std::string_view text);

/// Processes: the call as a whole, every rank with its workers as threads, the proxies, the links
/// as counters. REQUIRES: the row has a timeline.
void write_timeline(std::ostream& out, const BenchConfig& config, const BenchBlock& block,
                    const BenchRow& row);

}  // namespace fabricast
