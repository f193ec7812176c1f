#include "models/serving/load.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/base/random.hpp"

namespace fabricast {

namespace {

constexpr int kRequestsMin = 100, kRequestsOpen = 1000, kRounds = 10;

/// The smallest value that a share of all does not exceed. REQUIRES: values.
double quantile(const std::vector<std::pair<double, double>>& sorted, double all, double share) {
  double below = 0;
  for (const auto& [value, times] : sorted) {
    below += times;
    if (below >= share * all * (1 - 1e-12)) return value;
  }
  return sorted.back().first;
}

int length(int most, double spread, Random& random) {
  const double share = 1 - spread * random.unit();
  return std::max(1, static_cast<int>(std::lround(most * share)));
}

}  // namespace

int requests_of(const OfferedLoad& load) {
  if (load.requests > 0) return load.requests;
  return std::max(kRequestsMin, load.rate > 0 ? kRequestsOpen : kRounds * load.concurrency);
}

std::vector<ServeRequest> draw_requests(const OfferedLoad& load) {
  Random lengths(load.seed), arrivals(mixed(load.seed) + 1);
  std::vector<ServeRequest> out(static_cast<std::size_t>(requests_of(load)));
  double now = 0;
  for (ServeRequest& one : out) {
    if (load.rate > 0) now -= std::log(1 - arrivals.unit()) / load.rate;
    one.arrival = now;
    one.prompt = length(load.prompt, load.spread, lengths);
    one.output = length(load.output, load.spread, lengths);
    one.cached = std::min(one.prompt - 1, std::max(load.shared_prefix,
                                                   static_cast<int>(load.prefix_hit * one.prompt)));
  }
  return out;
}

std::optional<LatencySpread> spread_of(std::vector<std::pair<double, double>> weighed) {
  std::ranges::sort(weighed);
  double all = 0, sum = 0;
  for (const auto& [value, times] : weighed) all += times, sum += value * times;
  if (all == 0) return std::nullopt;
  return LatencySpread{sum / all, quantile(weighed, all, 0.5), quantile(weighed, all, 0.9),
                       quantile(weighed, all, 0.99)};
}

std::optional<LatencySpread> spread_of(std::vector<double> values) {
  std::vector<std::pair<double, double>> once;
  for (const double value : values) once.emplace_back(value, 1);
  return spread_of(std::move(once));
}

ServeFigures figures_of(const QueueResult& result, const ServeLimits& limits) {
  assert(!result.requests.empty());
  ServeFigures out;
  std::vector<double> first, token, whole;
  double begin = result.end, input = 0, output = 0, good = 0, good_output = 0;
  for (const ServedRequest& one : result.requests) {
    begin = std::min(begin, one.arrival);
    first.push_back(one.to_first());
    whole.push_back(one.finish - one.arrival);
    if (one.output > 1) token.push_back(one.per_token());
    input += one.prompt;
    output += one.output;
    const bool in_time = limits.first_token == 0 || one.to_first() <= limits.first_token;
    const bool is_fast = limits.token == 0 || one.output == 1 || one.per_token() <= limits.token;
    if (!in_time || !is_fast) continue;
    good += 1;
    good_output += one.output;
  }
  const double span = result.end - begin;
  out.requests = static_cast<int>(result.requests.size());
  out.first_token = *spread_of(std::move(first));
  out.per_token = spread_of(std::move(token));
  out.whole = *spread_of(std::move(whole));
  out.between_tokens = spread_of(result.gaps);
  if (span <= 0) return out;
  out.requests_per_s = out.requests / span;
  out.input_per_s = input / span;
  out.output_per_s = output / span;
  out.within = good / std::max(1, out.requests);
  out.goodput = good / span;
  out.output_goodput = good_output / span;
  return out;
}

}  // namespace fabricast
