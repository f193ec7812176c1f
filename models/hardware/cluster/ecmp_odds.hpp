#pragma once
// How badly flows collide when each picks one of k equal ways by lot: exact distributions, for an
// instant answer where the simulator would draw many times.

#include <vector>

namespace fabricast {

/// P(the fullest of `ways` holds exactly m of `flows`), by m = 0 .. flows.
std::vector<double> fullest_way_odds(int flows, int ways);

/// What such a draw costs on average. Flows of line rate; ways of `way_rate` times that.
struct EcmpOdds {
  double no_collision = 0;  ///< probability that no way holds two
  double fullest = 0;       ///< mean number of flows on the fullest way
  double slowdown = 0;      ///< of a step that waits for the slowest, against an even split
  double mean_flow_rate =
      0;                 ///< of the line; flows share a way equally, nothing is shared out anew
  double idle_ways = 0;  ///< share of ways nobody picked
};
EcmpOdds ecmp_odds(int flows, int ways);

/// Mean of max(1, load of the fullest / way_rate): ways faster than the flows' own ports.
double slowdown_on_faster_ways(int flows, int ways, double way_rate);

}  // namespace fabricast
