#pragma once
// What arrives at engines, and what is said of how they served it.

#include <cstdint>
#include <optional>
#include <vector>

#include "models/serving/queue.hpp"

namespace fabricast {

/// Requests per second that arrive at random (a Poisson process), or so many at a time, each
/// followed by the next at once.
struct OfferedLoad {
  double rate = 0;
  int concurrency = 0;  ///< one of the two is above 0
  int requests = 0;     ///< 0 = requests_of()
  std::uint64_t seed = 1;
  int prompt = 1, output = 1;  ///< tokens, at most
  /// Lengths are even between 1 - spread and 1 times that, drawn apart for prompt and output.
  double spread = 0;
  double prefix_hit = 0;  ///< share of each prompt whose keys and values are cached
  int shared_prefix = 0;  ///< or so many tokens that all prompts begin with
};

/// Ten times as many as are under way in a closed loop, of an open one a thousand; 100 at least.
int requests_of(const OfferedLoad& load);
std::vector<ServeRequest> draw_requests(const OfferedLoad& load);

/// Mean, median, and what 90 and 99 of 100 stay below.
struct LatencySpread {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0;
};
/// Nothing of no values.
std::optional<LatencySpread> spread_of(std::vector<double> values);
/// Of values that occur so many times.
std::optional<LatencySpread> spread_of(std::vector<std::pair<double, double>> weighed);

/// Seconds; 0 = no limit.
struct ServeLimits {
  double first_token = 0, token = 0;
  double share = 0.9;  ///< of requests that have to be within them
  bool any() const { return first_token > 0 || token > 0; }
};

struct ServeFigures {
  int requests = 0;
  LatencySpread first_token, whole;                        ///< seconds
  std::optional<LatencySpread> per_token, between_tokens;  ///< of requests of several tokens
  double requests_per_s = 0, input_per_s = 0, output_per_s = 0;
  double within = 1;          ///< share of requests within the limits
  double goodput = 0;         ///< requests per second within them
  double output_goodput = 0;  ///< their output tokens per second
};

/// REQUIRES: a request or more.
ServeFigures figures_of(const QueueResult& result, const ServeLimits& limits);

}  // namespace fabricast
