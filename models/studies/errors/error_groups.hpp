#pragma once
// How far predictions are off what was measured, by group: as shipped, and by fits that have not
// seen something. Every `validate` of single figures prints, and reports, this table.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/io/report/report.hpp"

namespace fabricast {

/// What `validate` says below its scores: rows left out, by reason, and what a fit to `fitted_to`
/// gives, where there is one.
std::string below_scores(const std::map<std::string, int>& left_out,
                         const std::map<std::string, std::string>& fitted,
                         std::string_view fitted_to = "all rows");

/// What a fit has not seen, and the columns of a report that say how far off it is.
struct Unseen {
  std::string_view what;  ///< "system"
  std::string_view median_error = "unseen_median_error", p90_error = "unseen_p90_error";
};

/// Predictions of a figure beside its measurement, in one unit.
struct Compared {
  double measured = 0, shipped = 0;
  std::vector<std::optional<double>> unseen{};  ///< by fits, in the order of the groups' `unseen`
};

/// |predicted - measured| / measured
double error_of(double predicted, double measured);

struct ErrorGroup {
  std::string of;                           ///< what is scored apart: "CUDA graph"
  std::string by, name;                     ///< "system", "h100_sxm"
  std::vector<double> ratios;               ///< predicted / measured, as shipped
  std::vector<std::vector<double>> unseen;  ///< the same by each of the fits
};

/// Median and 90th percentile of |ratio - 1|.
double median_error(std::span<const double> ratios);
double p90_error(std::span<const double> ratios);

class ErrorGroups {
 public:
  /// `unseen`: of the fits beside the shipped values; shown where one has predicted any row. Where
  /// they are `asked` for, the text says so of one that could not be made.
  explicit ErrorGroups(std::vector<Unseen> unseen = {}, bool asked = false)
      : unseen_(std::move(unseen)), asked_(asked) {}

  /// A prediction joins this group.
  void add(std::string_view of, std::string_view by, std::string name, const Compared& one);

  /// By `of`, then in the order in which kinds of groups were added first, then by name; groups by
  /// size, by GPUs and by nodes in the order in which they came.
  std::vector<ErrorGroup> sorted() const;

  /// A table for each `of`, errors in percent; what `title_of` says of it stands above, and `by`
  /// above its groups but for that of all.
  std::string text(const std::function<std::string(std::string_view of)>& title_of) const;

  /// The same as the table `scores`. `of` names the first column, which is left away without a
  /// name.
  ReportTable scores(std::string_view of = {}) const;

 private:
  std::vector<std::size_t> shown_fits() const;
  std::string heading() const;
  std::string table_text(std::span<const ErrorGroup> groups) const;

  std::vector<Unseen> unseen_;
  bool asked_ = false;
  std::vector<ErrorGroup> groups_;
  std::vector<std::string> order_;  ///< of `by`
};

}  // namespace fabricast
