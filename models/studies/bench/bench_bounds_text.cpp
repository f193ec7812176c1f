#include "models/studies/bench/bench_bounds_text.hpp"

#include <fmt/format.h>

#include "models/studies/bench/bench_call.hpp"
#include "text/counted.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

std::string bounds_line(const BenchRow& row) {
  return fmt::format("{} of {} on {} takes {:.2f} to {:.2f} us: the time above +- {:.2f} %",
                     to_text(row.requested), to_text(row.collective), counted(row.nodes, "node"),
                     microseconds_of(row.bounds->lower), microseconds_of(row.bounds->upper),
                     100 * row.bounds->half_width());
}

std::string bounds_basis(const TimeBounds& bounds) {
  return (bounds.is_proven ? "bounds: " : "extrapolated: ") + bounds.how;
}

std::string bounds_text(const std::vector<const BenchRow*>& rows) {
  std::string out;
  for (const BenchRow* row : rows) {
    if (!row->bounds) continue;
    out += fmt::format("# {}\n#   {}\n#   --exact simulates ", bounds_line(*row),
                       bounds_basis(*row->bounds));
    const auto events = static_cast<double>(row->bounds->events);
    if (events > 0) {
      out += fmt::format("its {:.2g} events: about {:.1f} minutes of CPU time\n", events,
                         events / static_cast<double>(kEventsPerCpuSecond) / 60);
    } else {
      out += "it whole, if it is not refused as too large\n";
    }
  }
  return out;
}

}  // namespace fabricast
