#pragma once
// The worker processes of a sweep on this host.

#include <functional>
#include <string>

namespace fabricast {

/// How a crew's work ended.
struct CrewEnd {
  bool was_stopped = false;  ///< by a signal
  int died = 0;              ///< workers that were killed
  int replaced = 0;          ///< of these
  std::string failure;       ///< of the store, where a worker could not go on; "" = none
};

/// Forks `jobs` workers, which all call `work`, and waits for them. A worker that dies is replaced
/// while `is_unfinished()`. Signals to end go to the workers, which end what they are at.
/// `tick` is called a few times a second. REQUIRES: no other thread, no open store.
CrewEnd run_crew(int jobs, const std::function<void()>& work,
                 const std::function<bool()>& is_unfinished, const std::function<void()>& tick);

}  // namespace fabricast
