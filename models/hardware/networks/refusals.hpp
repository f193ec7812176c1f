#pragma once
// What does not go together on a network, and why it cannot: the one table of it. docs/bench.md
// shows it (tests/cli/pairs.py compares).

#include <cstdint>
#include <span>
#include <string_view>

#include "models/hardware/cluster/network_plan.hpp"

namespace fabricast {

enum class Refused : std::uint8_t {
  sharp_off_chunk,
  outage_off_chunk,
  background_on_chunk,
  background_of_nic,
  chosen_routes_in_flows,
};

struct Refusal {
  Refused what{};
  std::string_view sentence;  ///< "what: the reason"
  std::string_view hint;
};

std::span<const Refusal> all_refusals();

/// Throws Error. `name`: of the link, where the sentence begins with one.
[[noreturn]] void refuse(Refused what, std::string_view name = {});

}  // namespace fabricast
