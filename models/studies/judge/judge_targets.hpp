#pragma once
// Rules of thumb for nccl-tests rows, as somebody publishes them for a machine: a table of bus
// bandwidths to be reached.

#include <optional>
#include <string>
#include <vector>

#include "models/studies/judge/judge.hpp"

namespace fabricast {

struct Target {
  Collective collective{};
  Bytes size;
  double expected = 0, least = 0;  ///< bus bandwidth, GB/s
};

/// CSV with the columns collective, size_bytes, expected_busbw_GBps, least_busbw_GBps. Throws
/// Error.
std::vector<Target> load_targets(const std::string& file);
std::vector<Target> parse_targets(const std::string& text, const std::string& file);

struct JudgedTarget {
  Target target;
  /// Bus bandwidths at its size, between rows: time is a line there, both on logarithmic axes.
  double measured = 0, predicted = 0;
  /// "reached", "acceptable", "missed"
  std::string_view verdict() const;
};

/// Those of the collective whose size the rows reach; a note of the result counts the others.
std::vector<JudgedTarget> judge_targets(JudgeResult& result, const std::vector<Target>& targets);

}  // namespace fabricast
