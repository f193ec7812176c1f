#pragma once
// The study behind `fabricast serve`: one request, or a queue of them in front of engines.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/serving/engine_model.hpp"

namespace fabricast {

/// What a load makes of engines.
struct ServedLoad {
  ServeFigures figures;
  QueueResult queue;  ///< without its requests
  int workers = 1;    ///< of the pool that decodes, or of the only one
  int gpus = 0;       ///< of all engines
  std::int64_t blocks = 0;
  double transfer_rate = 0;        ///< bytes per second of a GPU of the prefill pool
  double transfer = 0;             ///< seconds: a full prompt's keys and values on the NICs
  std::optional<double> gpu_hour;  ///< USD
  /// USD per million tokens.
  std::optional<double> per_million(double tokens_per_s) const {
    if (!gpu_hour || tokens_per_s <= 0) return std::nullopt;
    return *gpu_hour * gpus / 3600 / tokens_per_s * 1e6;
  }
};

/// A layout with as few engines as keep the limits.
struct FewestEngines {
  ServeLayout layout;
  int workers = 0;  ///< 0 = none do
  std::string why_not;
  std::optional<ServedLoad> load;
};

struct Served {
  ServeResult lone;
  std::optional<ServedLoad> load;
  std::vector<FewestEngines> candidates;  ///< of find_gpus, fewest GPUs first; none = not asked
};

struct ServedQuestion {
  ServeConfig config;
  bool find_gpus = false;  ///< the fewest GPUs for the rate within the limits
};

/// `progress`: of queues, the share done, 0..1; what it throws ends the study. Throws Error.
Served run_served(const ServedQuestion& question, const PartsCatalogue& parts,
                  const ForEach& for_each = in_turn,
                  const std::function<void(double)>& progress = {});

std::string served_text(const Served& result);
/// Tables: those of serve_report(), `queue`, `latency`, `candidates`.
Report served_report(const Served& result);

}  // namespace fabricast
