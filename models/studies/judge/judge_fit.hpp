#pragma once
// Which of several predictions fits what was measured, over all rows. Knows nothing of causes.

#include <cstddef>
#include <vector>

namespace fabricast {

/// How one prediction fits the measurement.
struct FitOfPrediction {
  std::size_t which = 0;    ///< its number
  double loss = 0;          ///< mean over rows of Huber's loss of ln(measured / predicted)
  double typical = 0;       ///< median of |ln(measured / predicted)|
  std::size_t outside = 0;  ///< rows that it does not explain
};

/// Predictions that these rows cannot tell apart: each as good as the first, which explains most.
struct FitGroup {
  std::vector<FitOfPrediction> fits;
};

/// How far a measured time may be off a prediction that explains the row, as factors of it.
struct RowLimits {
  double lower = 0.8, upper = 1.25;
};

/// Rows with a prediction beyond this factor of another one tell the two apart.
inline constexpr double kSameTime = 1.04;

/// The one that explains most rows first, among equals the one with the least loss.
/// `predicted[p][row]`, `limits[p][row]` and `measured[row]` are times above 0. A group is made of
/// the best one left and of all that are within kSameTime of it on every row.
std::vector<FitGroup> rank_predictions(const std::vector<double>& measured,
                                       const std::vector<std::vector<double>>& predicted,
                                       const std::vector<std::vector<RowLimits>>& limits);

bool is_same_time(double a, double b);
/// Within kSameTime of each other on every row.
bool same_everywhere(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace fabricast
