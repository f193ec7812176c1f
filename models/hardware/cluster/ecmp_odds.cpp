#include "models/hardware/cluster/ecmp_odds.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

/// P(no way holds more than `most`): with one way more at a time, the number j of flows on it is
/// binomial among those left.
double at_most(int flows, int ways, int most) {
  std::vector<double> left(static_cast<std::size_t>(flows) + 1, 0.0);
  left[static_cast<std::size_t>(flows)] = 1;  // probability that so many flows are yet to place
  for (int way = ways; way > 0; --way) {
    std::vector<double> next(left.size(), 0.0);
    for (int open = 0; open <= flows; ++open) {
      const double here = left[static_cast<std::size_t>(open)];
      if (here == 0) continue;
      if (way == 1) {
        if (open <= most) next[0] += here;
        continue;
      }
      const double odds = 1.0 / (way - 1);
      double share = here;  // of j = 0: (1 - 1/way)^open
      for (int i = 0; i < open; ++i) share *= 1 - 1.0 / way;
      for (int j = 0; j <= std::min(open, most); ++j) {
        next[static_cast<std::size_t>(open - j)] += share;
        share *= odds * (open - j) / (j + 1);
      }
    }
    left = std::move(next);
  }
  return left[0];
}

}  // namespace

std::vector<double> fullest_way_odds(int flows, int ways) {
  assert(flows >= 1 && ways >= 1);
  std::vector<double> odds = {0};
  double below = 0;
  for (int most = 1; most <= flows; ++most) {
    const double now = at_most(flows, ways, most);
    odds.push_back(now - below);
    below = now;
  }
  return odds;
}

double slowdown_on_faster_ways(int flows, int ways, double way_rate) {
  double mean = 0;
  const std::vector<double> odds = fullest_way_odds(flows, ways);
  for (std::size_t load = 0; load < odds.size(); ++load)
    mean += odds[load] * std::max(1.0, static_cast<double>(load) / way_rate);
  return mean;
}

EcmpOdds ecmp_odds(int flows, int ways) {
  EcmpOdds out;
  const std::vector<double> odds = fullest_way_odds(flows, ways);
  out.no_collision = odds[1];
  for (std::size_t load = 0; load < odds.size(); ++load)
    out.fullest += odds[load] * static_cast<double>(load);
  out.slowdown = out.fullest / std::max(1.0, static_cast<double>(flows) / ways);
  out.idle_ways = 1;
  for (int i = 0; i < flows; ++i) out.idle_ways *= 1 - 1.0 / ways;
  out.mean_flow_rate = ways * (1 - out.idle_ways) / flows;
  return out;
}

}  // namespace fabricast
