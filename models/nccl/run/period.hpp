#pragma once
// The clock of nccl-tests: it queues calls on a stream and divides. Where ranks do not all end at
// once the next call hides part of the last one, so that a call in a row takes less than one alone.

#include <memory>
#include <span>
#include <vector>

#include "models/nccl/run/simulation.hpp"

namespace fabricast {

/// From the end of a call, or of a group of them, to the end of the next equal one, launches ahead
/// of the GPU. The time alone where that is as long, within half a percent: all ranks end about at
/// once. Else the difference of the ends of the last calls of four, if the last two take equally
/// long, or of eight; if these differ, too, the mean of the last four. Calls that are too large to
/// be simulated in a row take less than alone by as much as a smaller one in as large chunks does.
/// The time alone, too, of sends and receives that are too large, and of calls that meet outages,
/// whose instants are those of one call.
/// `alone`: what the run does with the same options. REQUIRES: as simulate() with a symmetry.
Duration period_of(const Cluster& cluster, const SoftwareCosts& software, const CollectiveRun& run,
                   const Symmetry& symmetry, const SimulationResult& alone,
                   const SimulationOptions& options);

/// The same of groups of ranks that call at the same time, each of them in a row. `alone`: of one
/// call of each, at the same time.
std::vector<Duration> periods_of(const Cluster& cluster, const SoftwareCosts& software,
                                 std::span<const CollectiveRun> groups, const StreamsResult& alone,
                                 const SimulationOptions& options);

/// Calls with more slices are not simulated in a row.
inline constexpr std::uint64_t kSlicesInARow = 25'000;
/// Slices that are simulated for it at most, with those of the call alone, of a call of so many;
/// but for those of a smaller call that stands for one that is too large.
std::uint64_t slices_in_a_row(std::uint64_t slices);

/// The same of a run whose time alone nobody asks for. What is alike is folded.
Duration time_in_a_row(const Cluster& cluster, const SoftwareCosts& software,
                       const CollectiveRun& run);
/// REQUIRES: it is what find_symmetry() says.
Duration time_in_a_row(const Cluster& cluster, const SoftwareCosts& software,
                       const CollectiveRun& run, const Symmetry& symmetry);

/// The same of one call after another, on one cluster. Where a call is the one before but for its
/// size, and its algorithm does the same for all sizes, what was built for that one is used again.
class SizesInARow {
 public:
  /// `keeps`: there are going to be several such calls. The others outlive this.
  SizesInARow(const Cluster& cluster, const SoftwareCosts& software, bool keeps);
  ~SizesInARow();

  /// Whether one of them after the other takes less than both apart, if their symmetry has the same
  /// moves.
  static bool gains(const CollectiveRun& a, const CollectiveRun& b);

  /// REQUIRES: it is what find_symmetry() says.
  Duration of(const CollectiveRun& run, const Symmetry& symmetry);

 private:
  struct Built;

  const Cluster& cluster_;
  const SoftwareCosts& software_;
  bool keeps_;
  std::unique_ptr<Built> built_;
};

}  // namespace fabricast
