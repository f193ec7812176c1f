#pragma once
// What bench says of rows that were too much to simulate: between what their times lie, and why.

#include <string>
#include <vector>

#include "models/studies/bench/bench.hpp"

namespace fabricast {

/// A line or two for each of these rows that has bounds; "" = none has.
std::string bounds_text(const std::vector<const BenchRow*>& rows);

/// "1 GiB of all_reduce on 2048 nodes takes between 80.8 and 86.0 ms: 83.4 ms +- 3.1 %".
std::string bounds_line(const BenchRow& row);

/// "bounds: the same call with even chunks": what says so, and whether it is proven.
std::string bounds_basis(const TimeBounds& bounds);

}  // namespace fabricast
