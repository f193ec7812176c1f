#pragma once
// Times of many calls in a row, as nccl-tests measures them: simulated side by side, the largest
// first; of those that are too large, sums of the times of smaller ones (affordable.hpp).

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/nccl/run/affordable.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

/// A time as the sum of the times of simulated calls, each times a weight.
struct TimeRecipe {
  std::vector<std::pair<std::size_t, double>> shares;  ///< numbers of calls

  bool exists() const { return !shares.empty(); }
  bool is_simulated() const { return shares.size() == 1; }
};

class CallTimes {
 public:
  /// No more than `slices_max` slices are simulated of a call. `software` outlives it.
  CallTimes(const SoftwareCosts& software, std::uint64_t slices_max, const ForEach& for_each)
      : software_(software),
        slices_allowed_(slices_max),
        slices_max_(slices_max),
        for_each_(for_each) {}

  /// A message counts as the slices that take as long (events_of_exchange()), so that sends and
  /// receives on many ranks are extrapolated earlier. Else its chunks are counted.
  void weigh_messages() { weighs_messages_ = true; }

  /// The call's number. The cluster outlives it, and so do the costs, if it has its own.
  std::size_t add(const Cluster& cluster, CollectiveRun run,
                  const SoftwareCosts* software = nullptr);
  /// Looks at the sizes of all calls that have been added, side by side. What is asked for later is
  /// looked at when it is asked for.
  void look_at_all();
  /// `number_at` gives the number of the call there, which it may add; nothing where there is none.
  using NumberAt = std::function<std::optional<std::size_t>(const CallAt&)>;
  TimeRecipe recipe(const CallAt& at, const NumberAt& number_at) {
    return recipe(at, number_at, slices_max_);
  }
  /// One for each of these. Where they and what was simulated before take more than `budget` slices
  /// in all, in a row, fewer
  /// slices of a call are simulated, down to kSlicesLeast; a call that nothing smaller stands for
  /// is simulated all the same.
  struct Asked {
    CallAt at;
    NumberAt number_at;
  };
  std::vector<TimeRecipe> recipes(std::span<const Asked> asked,
                                  std::optional<std::uint64_t> budget);
  static constexpr std::uint64_t kSlicesLeast = 10'000;
  /// Of a call so many were simulated at most, for the last recipes.
  std::uint64_t slices_max() const { return slices_max_; }
  /// That the call takes, in a row. REQUIRES: it was looked at.
  std::uint64_t slices_of(std::size_t call) const;
  /// What the recipes need and was not simulated yet; calls that are the same work once.
  void simulate(const std::vector<const TimeRecipe*>& recipes);
  double time_us(const TimeRecipe& recipe) const;
  /// Calls that were simulated, and their slices.
  std::size_t simulated() const { return simulated_; }
  std::uint64_t slices() const { return slices_; }

 private:
  struct Call {
    const Cluster* cluster;
    const SoftwareCosts* software;
    CollectiveRun run;
    Symmetry symmetry;
    std::optional<CallSize> size;
    double time_us = 0;
    bool is_simulated = false;
  };

  void look_at(Call& call) const;
  TimeRecipe recipe(const CallAt& at, const NumberAt& number_at, std::uint64_t most);
  /// The calls that these need and have no time yet, each once.
  std::vector<std::size_t> needed(const std::vector<const TimeRecipe*>& recipes) const;
  std::uint64_t slices_of(const std::vector<std::size_t>& calls) const;
  /// Calls that are the same but for their size, for one thread to simulate one after another.
  std::vector<std::vector<std::size_t>> families_of(const std::vector<std::size_t>& order) const;
  void simulate_family(const std::vector<std::size_t>& family);
  /// Leaves the first of calls that are the same work. Of every call: the one whose time it has.
  std::vector<std::size_t> take_twins(std::vector<std::size_t>& order) const;

  const SoftwareCosts& software_;
  std::uint64_t slices_allowed_, slices_max_;
  const ForEach& for_each_;
  bool weighs_messages_ = false;
  std::vector<Call> calls_;
  std::size_t simulated_ = 0;
  std::uint64_t slices_ = 0;
};

}  // namespace fabricast
