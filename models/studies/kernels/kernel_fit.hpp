#pragma once
// From measured kernels to their costs.

#include <span>

#include "models/studies/kernels/kernel_rows.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

/// A set with fewer rows takes its relatives' costs.
inline constexpr int kLeastRows = 30;

/// REQUIRES: costs of the row's family.
double predicted_us(const KernelRow& row, const KernelCosts& costs);

/// The costs that fit the rows best (models/studies/accuracy/robust_fit.hpp): residuals are
/// logarithms of predicted over measured times, those above 8 % count linearly; the prior is a
/// factor of e around the family's start_costs(). REQUIRES: rows of one family.
KernelCosts fit_kernel(std::span<const KernelRow* const> rows);

/// A set for each name that has kLeastRows rows, in the order of names.
KernelCatalogue fit_kernels(std::span<const KernelRow* const> rows, const ForEach& for_each);

}  // namespace fabricast
