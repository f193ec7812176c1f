#pragma once
// What rows of nccl-tests say of the run that printed them, though no line does: which collective
// it can have been and of how many ranks. nccl-tests prints an operator and a root where there is
// one (src/*.cu), a size that is the count times the ranks or not, bus bandwidth over algorithm
// bandwidth by a formula of the ranks (doc/PERFORMANCE.md), and N/A for what it cannot check.

#include <optional>
#include <string>
#include <vector>

#include "models/io/imports/nccl_tests_log.hpp"

namespace fabricast {

/// Numbers of ranks from `low` to `high`, both included.
struct PossibleRanks {
  int low = 2, high = 0;
  bool holds(int ranks) const { return low <= ranks && ranks <= high; }
};

/// A collective that the rows can be of, with as many ranks.
struct PossibleRun {
  Collective collective{};
  PossibleRanks ranks;
};

struct LogFacts {
  Collective collective{};
  std::string collective_from;  ///< "the rows: redop sum, root -1, busbw/algbw 1.979"
  PossibleRanks possible;       ///< ranks, by the rows
  int ranks = 0;                ///< 0 = nothing decides
  std::string ranks_from;       ///< "busbw/algbw 1.979 = 2(n-1)/n"
  std::vector<std::string> notes;
};

/// By the rows alone. Empty where no collective that is known has such rows.
std::vector<PossibleRun> possible_runs(const NcclTestsTable& table);

/// By the rows, then by the program that is named, then by the file's name. `asked`: what the user
/// says it is. Throws Error where rows contradict each other or `asked`, and where several
/// collectives are left. `file`: in messages, and for its name.
LogFacts facts_of(const NcclTestsTable& table, const std::string& file,
                  std::optional<Collective> asked);

/// The collective that a file's name speaks of, "allgather_h100.log".
std::optional<Collective> collective_in_name(std::string_view file);

/// As bench calls a type that a row names: "int8" of "char"; "float" of "".
std::string datatype_in(const std::string& type);

}  // namespace fabricast
