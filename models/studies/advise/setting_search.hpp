#pragma once
// The search of `advise` for the best environment: greedy by gain, alone and in pairs, first
// what mends, then all; then every line goes that is not worth being written. Knows nothing of
// clusters: times come from outside.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/nccl/environment/env.hpp"
#include "models/studies/cutover/cutover.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/whatif/whatif.hpp"

namespace fabricast {

/// What one row takes in an environment.
struct RowTime {
  double us = 0;
  /// Of it, what the environment can change: of a call all, of a step what is exposed.
  double open_us = 0;
  /// Of another algorithm or protocol than NCCL would take unforced: how far the model's figure for
  /// it may be too good, a factor >= 1. The search judges by the time with it.
  double doubt = 1;
};
using RowTimes = std::vector<RowTime>;  ///< empty: NCCL refuses

/// Variables that are set, or unset, together.
struct SettingMove {
  std::vector<std::pair<std::string, std::optional<std::string>>> settings;
  /// Mends what is in the way: bytes take another road, or a setting goes. Tried first, so that no
  /// choice is forced to go round what could be mended.
  bool mends = false;
};

struct SearchRules {
  std::vector<bool> counts;  ///< by row: those that the goal is about
  double least = 0.01;       ///< a line that saves less of all rows' time is not written
  double band = kNear;       ///< nor one that saves less than this at every row: not told apart
  double harm = 0.05;        ///< no row that counts may lose more than this to where it started
  std::size_t lines_max = kFactorsMax;
};

struct FoundSettings {
  Environment best;
  std::size_t tried = 0;        ///< environments
  std::vector<RowTimes> alone;  ///< by move: with it only, where the search started
  RowTimes at_start;
};

/// What an environment is worth: the mean of log(time / time at the start) over rows that count,
/// doubts included or not; infinite where it is not allowed. REQUIRES: as many rows.
double score(const RowTimes& times, const RowTimes& start, const SearchRules& rules,
             bool with_doubts = true);

/// Whether a line that takes the work from `without` to `with` is worth being written.
bool worth_a_line(const RowTimes& without, const RowTimes& with, const RowTimes& start,
                  const SearchRules& rules);

/// Why worth_a_line() says no.
enum class NotWorth : std::uint8_t {
  nothing,  ///< it says yes
  refused,  ///< NCCL does not work so
  harm,     ///< a row that counts loses too much
  mean,     ///< too little of all rows that count
  doubt,    ///< as much, but less than its figures are in doubt by
  band      ///< at no row more than two predictions can be apart
};
NotWorth why_no_line(const RowTimes& without, const RowTimes& with, const RowTimes& start,
                     const SearchRules& rules);

/// `environment` with the settings of a move.
Environment with_move(Environment environment, const SettingMove& move);

/// Variables whose values differ.
std::vector<std::string> differing(const Environment& a, const Environment& b);

/// `times` is asked on any thread, for each environment once.
FoundSettings search_settings(const Environment& start, const std::vector<SettingMove>& moves,
                              const std::function<RowTimes(const Environment&)>& times,
                              const SearchRules& rules, const ForEach& for_each);

}  // namespace fabricast
