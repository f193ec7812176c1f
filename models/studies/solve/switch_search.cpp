#include "models/studies/solve/switch_search.hpp"

#include <algorithm>

namespace fabricast {

ConditionSwitch find_switch(std::size_t count, const std::map<std::size_t, bool>& known,
                            const std::function<bool(std::size_t)>& holds) {
  std::map<std::size_t, bool> seen = known;
  const auto ask = [&](std::size_t i) {
    const auto found = seen.find(i);
    return found != seen.end() ? found->second : (seen[i] = holds(i));
  };
  ConditionSwitch out;
  out.first_holds = ask(0);
  if (ask(count - 1) == out.first_holds) (void)ask(count / 2);
  std::size_t same = 0, other = count;  // the last one like the first, and the first other one
  for (const auto& [i, value] : seen) {
    if (value != out.first_holds) {
      other = std::min(other, i);
    } else if (other < i) {
      out.changes_once = false;
      return out;
    } else {
      same = i;
    }
  }
  if (other == count) return out;
  while (other - same > 1) {
    const std::size_t middle = same + (other - same) / 2;
    (ask(middle) == out.first_holds ? same : other) = middle;
  }
  out.at = other;
  return out;
}

}  // namespace fabricast
