#pragma once
// The figures of a report by the names that formulas have for them, in the middle of its band and
// at both ends.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/io/formulas/formula.hpp"
#include "models/io/report/report.hpp"

namespace fabricast {

/// As predicted, or as on a machine that is as fast, as slow as one in ten.
enum class BandEnd : std::uint8_t { middle, fast, slow };
inline constexpr std::array kBandEnds = {BandEnd::middle, BandEnd::fast, BandEnd::slow};

/// What a measured time may be over the predicted one.
struct TimeFactors {
  double fast = 1, slow = 1;  ///< fast <= 1 <= slow

  double at(BandEnd end) const {
    return end == BandEnd::middle ? 1 : (end == BandEnd::fast ? fast : slow);
  }
};

/// Of all tables, each once.
std::vector<std::string> column_names(const Report& report);

/// One cell of a report: in the first table that has the column and those of the filter; the row
/// that fits the filter, without one the row that tells most (headline_row()).
class ReportValue {
 public:
  /// Throws Error: no such column, no row or more than one that fits. The report outlives it.
  ReportValue(const Report& report, const FormulaName& name);

  /// With all times of the row so much longer; rates and shares fall by as much.
  FormulaValue with(double time_factor) const;
  /// From time_us, lower_us, upper_us of the row, or those in s; nothing: it has no band.
  std::optional<TimeFactors> band() const;
  /// time_us or step_s, or another number of the row; nothing: null, or no such column.
  std::optional<double> number(const std::string& column) const;

 private:
  const Report& report_;
  const ReportTable* table_ = nullptr;
  std::size_t row_ = 0, column_ = 0;
};

}  // namespace fabricast
