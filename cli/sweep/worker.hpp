#pragma once
// A process that takes questions of a sweep from the store and answers them, until none is left.

#include <map>
#include <string>
#include <string_view>

#include "models/io/store/store.hpp"
#include "models/studies/sweep/sweep.hpp"

namespace fabricast {

/// What answers here: results of another version are other results.
StoreVersion this_version();

/// "host:pid:start" of this process, which is_gone() can tell from those after it.
std::string worker_name();
/// Of this host, and no such process lives.
bool is_gone(const std::string& worker);

/// Answers the question as `run` would. Errors are results. Throws Stopped when `stop` is set.
struct Stopped {};
StoreResult answer_point(const std::string& question, const std::string& file,
                         const volatile int& stop);

/// What a run of a sweep answers. A store may hold the same questions in other words, of sweeps in
/// other folders: only these are of `file`.
struct SweepWork {
  std::string sweep, file;                                 ///< its name; the question's file
  std::map<std::string_view, std::string_view> questions;  ///< by SHA-256
};

/// Until nothing of the sweep is left to do, for anybody, or a signal asks to end: what is under
/// way is open again then. Throws Error of the store.
void work_on(const std::string& store, const SweepWork& work);

}  // namespace fabricast
