#pragma once
// The options --budget and --exact: what an answer may cost before it is bounded or narrowed.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/options/values.hpp"
#include "sim/base/units.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

struct BudgetOption {
  std::string budget = "20s";
  bool exact = false;

  /// Of CPU time; nothing: whatever it takes.
  std::optional<Duration> wanted(const CLI::App& command) const {
    if (exact && given(command, "--budget"))
      throw Error(about("--exact"), "--exact and --budget both say what an answer may cost",
                  "give one of the two");
    if (exact) return std::nullopt;
    return of_option("--budget", [&] { return parse_duration(budget); });
  }
};

/// `what`: "CPU time for a row, ...; what is done above that"; `whole`: what --exact does.
inline void add_budget_option(CLI::App& command, BudgetOption& option, const std::string& what,
                              const std::string& whole) {
  command.add_option("--budget", option.budget, what);
  command.add_flag("--exact", option.exact, whole);
}

}  // namespace fabricast
