#pragma once
// The study behind `fabricast solve`: a question asked backwards. Which value of a key makes a
// condition over the answer hold: how far it may go, the fewest, the most.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/studies/shared/for_each.hpp"
#include "models/studies/solve/report_values.hpp"
#include "models/studies/sweep/sweep.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class SolveGoal : std::uint8_t {
  until,   ///< from the first value on: the last one before the condition changes, or the first
           ///< where it holds
  fewest,  ///< the least value where it holds
  most     ///< the greatest
};
inline constexpr auto kSolveGoalWords = enum_words<SolveGoal>("until", "fewest", "most");

struct SolveAsk {
  std::string file;  ///< of a question, as `run` takes it
  /// Keys and their values, as an axis of a sweep has them: a list, a range. One is searched, the
  /// others cross.
  std::vector<std::pair<std::string, std::string>> vary;
  SolveGoal goal = SolveGoal::until;
  std::string key;        ///< that is searched; "" = the first of `vary`
  std::string condition;  ///< a formula; `base.` is the question as its file has it
  bool grid = false;      ///< asks at every value
};

/// One value, asked.
struct SolvedValue {
  std::size_t line = 0, value = 0;  ///< indices
  int number = 0;                   ///< which question it was, from 1; of a grid in order of values
  std::array<bool, kBandEnds.size()> holds{};  ///< by BandEnd
  std::optional<double> figure, threshold;  ///< both sides, where the condition is one comparison
  std::string refused;                      ///< why there is no answer; "" = there is one
};

/// The search at one combination of the other keys.
struct SolveLine {
  std::string others;  ///< "topology=dgx-h100, nccl=2.30.7"; "" = there are none
  /// Indices of values, by BandEnd; nothing: the condition holds at none, or changes nowhere.
  std::array<std::optional<std::size_t>, kBandEnds.size()> answer;
  bool first_holds = false;  ///< at the first value
  bool changes_once = true;  ///< false: it was seen to change again, and every value was asked
  int asked = 0;
};

struct SolveResult {
  SolveAsk ask;
  std::string key;
  std::vector<std::string> values;  ///< of the key, as text
  std::vector<SolveLine> lines;
  std::vector<SolvedValue> asked;  ///< by line, then value
  bool has_band = false;           ///< else all three answers are the same
  std::vector<std::string> notes;
};

/// Throws Error: the file, a key, a range, the condition; or every value is refused.
SolveResult run_solve(const SolveAsk& ask, const ForEach& for_each);

/// For people.
std::string solve_text(const SolveResult& result);
/// The result outlives the report.
Report solve_report(const SolveResult& result);

}  // namespace fabricast
