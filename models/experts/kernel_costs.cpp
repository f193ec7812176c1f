#include "models/experts/kernel_costs.hpp"

#include <cassert>
#include <iterator>

namespace fabricast {
namespace {

constexpr double kPerSecond = 1e12;

double seconds_at(double bytes, Bandwidth rate) {
  return rate.bytes_per_s > 0 ? bytes / static_cast<double>(rate.bytes_per_s) : 0;
}

}  // namespace

double TokenWork::seconds(double bytes, double copies, int lanes) const {
  return static_cast<double>(token.ps) / kPerSecond + seconds_at(bytes, token_rate) +
         copies * (static_cast<double>(copy.ps) / kPerSecond / lanes + seconds_at(bytes, rate));
}

const ModeCosts& ExpertKernels::of(EpMode mode, int sm) const {
  assert(has_own_kernels(mode));
  const std::vector<ModeCosts>& all = modes[static_cast<std::size_t>(mode)];
  const ModeCosts* best = &all.front();
  for (const ModeCosts& costs : all)
    if (costs.since_sm <= sm) best = &costs;
  return *best;
}

Duration ExpertKernels::hop(int sm) const {
  if (hops.empty()) return {};
  const auto later = hops.upper_bound(sm);
  return later == hops.begin() ? later->second : std::prev(later)->second;
}

}  // namespace fabricast
