#include "models/nccl/run/side_by_side.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {
namespace {

constexpr int kCallsMost = 16;

double slowest(std::span<const StreamResult> streams) {
  return static_cast<double>(std::ranges::max_element(streams, {}, &StreamResult::time)->time.ps);
}

int calls_of(const TwoJobs::Job& job, const TwoJobs::Job& other) {
  const double times = static_cast<double>(other.call.ps) / static_cast<double>(job.call.ps);
  return std::clamp(static_cast<int>(std::lround(times)), 1, kCallsMost);
}

}  // namespace

TwoJobs side_by_side(const Cluster& cluster, const SoftwareCosts& software,
                     std::span<const CollectiveRun> first, std::span<const CollectiveRun> second) {
  TwoJobs out;
  const auto alone = [&](TwoJobs::Job& job, std::span<const CollectiveRun> runs, int calls) {
    job.alone = simulate(cluster, software, streams_of(runs, calls));
  };
  alone(out.first, first, 1);
  alone(out.second, second, 1);
  for (TwoJobs::Job* const job : {&out.first, &out.second}) job->call = job->alone.time;
  const int calls = calls_of(out.first, out.second), others = calls_of(out.second, out.first);
  if (calls > 1) alone(out.first, first, calls);
  if (others > 1) alone(out.second, second, others);

  std::vector<Stream> all = streams_of(first, calls);
  for (Stream& stream : streams_of(second, others)) all.push_back(std::move(stream));
  out.both = simulate(cluster, software, all);
  const std::span<const StreamResult> ends(out.both.streams);
  const double end = slowest(ends.first(first.size())),
               other_end = slowest(ends.subspan(first.size()));
  // Both run until the first of them ends; the other one goes on alone.
  const double until = std::min(end, other_end);
  const auto slowed = [&](TwoJobs::Job& job, double time) {
    const double done = slowest(job.alone.streams) - (time - until);
    job.slowdown = done > 0 ? std::max(1.0, until / done) : 1.0;
  };
  slowed(out.first, end);
  slowed(out.second, other_end);
  return out;
}

}  // namespace fabricast
