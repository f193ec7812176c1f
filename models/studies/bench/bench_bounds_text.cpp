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

std::string bounds_text(const std::vector<const BenchRow*>& rows) {
  std::string out;
  for (const BenchRow* row : rows) {
    if (!row->bounds) continue;
    const double minutes =
        static_cast<double>(row->bounds->events) / static_cast<double>(kEventsPerCpuSecond) / 60;
    out += fmt::format(
        "# {}\n#   bounds: {}\n#   --exact simulates its {:.2g} events: about "
        "{:.1f} minutes of CPU time\n",
        bounds_line(*row), row->bounds->how, static_cast<double>(row->bounds->events), minutes);
  }
  return out;
}

}  // namespace fabricast
