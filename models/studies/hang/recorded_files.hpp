#pragma once
// Records of a job that hangs, as files: dumps of PyTorch's Flight Recorder, one for each rank, or
// answers of NCCL's RAS.

#include "models/studies/hang/flight_calls.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

/// Whether any of them is a folder, or begins as such a record.
bool are_records(const std::vector<std::string>& paths);
/// Files, and all below folders. What cannot be read of one rank is said of it, and the others are
/// read. Throws Error where nothing can be.
RecordedCalls read_records(const std::vector<std::string>& paths, const ForEach& for_each);

}  // namespace fabricast
