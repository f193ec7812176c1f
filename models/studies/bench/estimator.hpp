#pragma once
// The time of one call after another on the same machines, as `bench` gives it: the site is loaded
// and NCCL's search run once, and no call is simulated twice. For compilers and planners that ask
// thousands of times.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// A row of `bench`, cut down to what a planner asks for.
struct CallEstimate {
  Duration time;                      ///< of one call: its row's time_us, to the picosecond
  double lower_us = 0, upper_us = 0;  ///< 80 % of measured times lie between
  std::string_view algorithm,
      protocol;      ///< NCCL's spelling; the algorithm "none" where it has none
  int channels = 0;  ///< that get work
  int threads = 0;
};

/// Any thread may ask at any time; those that ask for what is not known yet simulate side by side.
class CallEstimator {
 public:
  /// `config`: the site, and how calls are made; its collectives, sizes and datatype are not looked
  /// at. `parts` and `bands` outlive the estimator. Throws Error, as run_bench() does, and where it
  /// has several numbers of nodes, a split, faults or a trace.
  CallEstimator(const BenchConfig& config, const PartsCatalogue& parts, const BandTable& bands);
  ~CallEstimator();

  /// GPUs of the site.
  int ranks() const;
  /// What the reader should know of the site; one sentence each.
  const std::vector<std::string>& notes() const;
  /// `datatype`: nccl-tests' name. `ranks`: on so many GPUs of the site, which are whole nodes or
  /// within one; 0 = all. `poll`: called now and then while the call is simulated; what it throws
  /// comes out. Throws Error.
  CallEstimate estimate(Collective collective, Bytes size, std::string_view datatype, int ranks = 0,
                        const std::function<void()>& poll = {}) const;

 private:
  struct Place;
  struct Key {
    int ranks;
    Collective collective;
    std::int64_t bytes;
    int element_bytes;

    auto operator<=>(const Key&) const = default;
  };

  std::unique_ptr<const Place> open(int nodes, int gpus_per_node) const;
  const Place& place_of(int ranks) const;
  CallEstimate found(const Place& place, Collective collective, Bytes size,
                     std::string_view datatype, const std::function<void()>& poll) const;

  const PartsCatalogue& parts_;
  const BandTable& bands_;
  BenchConfig config_;
  Topology topology_;
  std::unique_ptr<const Place> whole_;
  mutable std::mutex mutex_;  ///< of the two below, and of what decides: a tuner plugin is one
  mutable std::map<int, std::unique_ptr<const Place>> smaller_;  ///< by ranks
  mutable std::map<Key, CallEstimate> known_;
};

}  // namespace fabricast
