#include "models/studies/bench/bench_engine_text.hpp"

#include <fmt/format.h>

#include "models/studies/bench/bench_p2p_text.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

std::string what_of(const BenchRow& row) {
  const std::string nccl = fmt::format("{} {}", row.algorithm(), row.protocol());
  if (row.registered) {
    const bool named = row.protocol() == "none";
    return fmt::format("{:<26} {:<11}", named ? std::string(row.algorithm()) : nccl,
                       kRegisteredPathWords[row.registered->path]);
  }
  return fmt::format(
      "{:<22}", row.is_engine() ? std::string(row.algorithm()) : fmt::format("NCCL: {}", nccl));
}

const std::string& why_of(const BenchRow& row) {
  return row.registered ? row.registered->why : row.engine->why;
}

}  // namespace

std::string kernel_choices(const BenchConfig& config, const std::vector<const BenchRow*>& rows) {
  std::string out = config.engine
                        ? fmt::format("# What {} takes:\n", to_text(config.engine->release))
                        : fmt::format("# What NCCL does with registered buffers (-R {}):\n",
                                      kRegistrationWords[config.registered->asked]);
  bool is_direct = false, by_nics = false, by_copies = false;
  for (std::size_t i = 0; i < rows.size();) {
    const BenchRow& first = *rows[i];
    const std::string what = what_of(first);
    std::size_t j = i;
    while (j < rows.size() && what_of(*rows[j]) == what) ++j;
    out += fmt::format("#   {:<22} {} {}\n", size_range(first, *rows[j - 1]), what, why_of(first));
    const auto goes = [&](RegisteredPath path) {
      return first.registered && first.registered->path == path;
    };
    is_direct = is_direct || goes(RegisteredPath::direct);
    by_nics = by_nics || goes(RegisteredPath::network);
    by_copies = by_copies || goes(RegisteredPath::copy_engine);
    i = j;
  }
  if (is_direct)
    out += "#   direct: times are those of copied buffers, as measured (NVIDIA/nccl#1821)\n";
  if (by_nics) out += "#   network: times are those of copied buffers: NICs set the pace of both\n";
  if (by_copies)
    out += "#   copy-engine: what starts copies is assumed: below 1 MiB half or twice the time\n";
  return out;
}

std::string kernel_verdict(bool by_latency, bool by_worker) {
  if (by_latency) return "latency-bound: flags and loads between GPUs set the pace";
  if (by_worker) return "bound by each GPU's own memory: it polls, clears or copies";
  return "bound by its window: no more loads are under way at a time";
}

}  // namespace fabricast
