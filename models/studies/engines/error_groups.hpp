#pragma once
// How far predictions are off, by group: as shipped, and by fits that have not seen the system.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/report/report.hpp"

namespace fabricast {

/// |predicted - measured| / measured
double error_of(double predicted, double measured);

struct ErrorGroup {
  std::string of;        ///< what is scored apart: "CUDA graph"
  std::string by, name;  ///< "system", "h100_sxm"
  std::vector<double> errors, unseen;

  double median() const;
  double p90() const;
  double unseen_median() const;
  double unseen_p90() const;
};

class ErrorGroups {
 public:
  /// Errors of one prediction join this group.
  void add(std::string_view of, std::string_view by, std::string name, double error,
           std::optional<double> unseen);
  /// By `of`, then in the order in which kinds of groups were added first, then by name; groups by
  /// size, and by GPUs, in the order in which they came.
  std::vector<ErrorGroup> take();

 private:
  std::vector<ErrorGroup> groups_;
  std::vector<std::string> order_;  ///< of `by`
};

/// Rows, errors in percent; `by` stands above its groups but for that of all.
std::string error_table(std::span<const ErrorGroup> groups, bool has_unseen);

/// The same as a table of a report. `of` names the first column, which is left away without a name.
ReportTable error_scores(std::span<const ErrorGroup> groups, std::string_view of, bool has_unseen);

}  // namespace fabricast
