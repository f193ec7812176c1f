#pragma once
// Leaving out what a fit shall not see: each group of rows in turn.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace fabricast {

/// Rows by number, in their order.
struct LeaveOut {
  std::string group;
  std::vector<std::size_t> seen, unseen;  ///< the rows of other groups, and those of this one
};

/// By name of the group, `group_of` of a row's number. None where all rows are of one group.
std::vector<LeaveOut> leave_each_out(std::size_t rows,
                                     const std::function<std::string(std::size_t)>& group_of);

}  // namespace fabricast
