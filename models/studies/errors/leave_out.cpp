#include "models/studies/errors/leave_out.hpp"

#include <map>

namespace fabricast {

std::vector<LeaveOut> leave_each_out(std::size_t rows,
                                     const std::function<std::string(std::size_t)>& group_of) {
  std::map<std::string, LeaveOut> groups;
  std::vector<std::string> of;
  for (std::size_t row = 0; row < rows; ++row) {
    of.push_back(group_of(row));
    groups[of.back()].group = of.back();
  }
  if (groups.size() < 2) return {};
  std::vector<LeaveOut> out;
  for (auto& [name, group] : groups) {
    for (std::size_t row = 0; row < rows; ++row)
      (of[row] == name ? group.unseen : group.seen).push_back(row);
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace fabricast
