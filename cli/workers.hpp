#pragma once
// Independent pieces of work on all cores.

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "cli/output/answers.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

inline constexpr int kJobsMax = 4096;

/// --jobs N, of a command whose answer is made of many pieces: threads, which run_program() makes
/// Answers::jobs of.
CLI::Option* add_jobs_option(CLI::App& command);

/// In the order of their numbers, as many at a time as --jobs says, else as the process has CPUs
/// (usable_cpus()). Throws what the first failing one threw, or Answers::poll. `progress` gets the
/// share done, 0..1, one call at a time; empty when nobody watches.
ForEach on_all_cores(const Answers& answers, std::function<void(double)> progress);

/// The share done of work that a study does in several passes, each a call of a ForEach: goes on
/// from pass to pass and never back.
class Passes {
 public:
  /// `shares`: what each of the first passes takes of all the time, about; each that comes behind
  /// them takes half of what is left.
  Passes(std::function<void(double)> progress, std::vector<double> shares);
  /// The next pass begins: what is to be told its share, 0..1.
  std::function<void(double)> next();

 private:
  std::function<void(double)> progress_;
  std::vector<double> shares_;
  std::size_t passes_ = 0;
  double begun_ = 0;  ///< share of the passes that have begun
};
/// `passes` outlives it.
ForEach on_all_cores(const Answers& answers, Passes& passes);
/// What is to be told the share done of one of `count` pieces that come one after another.
std::function<void(double)> piece_of(std::function<void(double)> progress, std::size_t piece,
                                     std::size_t count);

}  // namespace fabricast
