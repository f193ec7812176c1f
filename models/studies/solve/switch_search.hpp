#pragma once
// Where along a row of values a condition changes, with few questions: bisection, which takes for
// granted that it changes once, and tells where it sees that it does not.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>

namespace fabricast {

struct ConditionSwitch {
  bool first_holds = false;       ///< at the first value
  std::optional<std::size_t> at;  ///< the first value where it is otherwise; none: nowhere
  bool changes_once = true;       ///< false: it was seen to change again, and `at` means nothing
};

/// `known`: what is known already. `holds` is asked for others, both ends and one in the middle
/// included; it may throw. REQUIRES: count > 0.
ConditionSwitch find_switch(std::size_t count, const std::map<std::size_t, bool>& known,
                            const std::function<bool(std::size_t)>& holds);

}  // namespace fabricast
