#pragma once
// JSON lines of calls, rank by rank: docs/hang.md.

#include "models/studies/hang/hang.hpp"

namespace fabricast {

/// Throws Error with the line of what is wrong.
std::vector<RankCall> parse_call_trace(const std::string& text, const std::string& file);
/// The same of a file, of which nothing is held but the calls.
std::vector<RankCall> read_call_trace(const std::string& file);

}  // namespace fabricast
