#include "models/studies/bench/bench_engine_text.hpp"

#include <fmt/format.h>

#include "models/studies/bench/bench_p2p_text.hpp"
#include "text/counted.hpp"

namespace fabricast {

std::string engine_choices(const CallingEngine& engine, const std::vector<const BenchRow*>& rows) {
  std::string out = fmt::format("# What {} takes:\n", to_text(engine.release));
  for (std::size_t i = 0; i < rows.size();) {
    const BenchRow& first = *rows[i];
    std::size_t j = i;
    while (j < rows.size() && rows[j]->algorithm() == first.algorithm() &&
           rows[j]->protocol() == first.protocol() && rows[j]->is_engine() == first.is_engine())
      ++j;
    const std::string what =
        first.is_engine() ? fmt::format("{:<22}", first.algorithm())
                          : fmt::format("{:<22}", fmt::format("NCCL: {} {}", first.algorithm(),
                                                              first.protocol()));
    out +=
        fmt::format("#   {:<22} {} {}\n", size_range(first, *rows[j - 1]), what, first.engine->why);
    i = j;
  }
  return out;
}

std::string engine_verdict(bool by_latency, bool by_worker) {
  if (by_latency) return "latency-bound: flags and loads between GPUs set the pace";
  if (by_worker) return "bound by each GPU's own memory: it polls, clears or copies";
  return "bound by its window: no more loads are under way at a time";
}

}  // namespace fabricast
