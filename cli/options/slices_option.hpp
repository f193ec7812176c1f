#pragma once
// The option --slices-max of commands that predict measured runs.

#include <CLI/CLI.hpp>

#include "cli/options/values.hpp"

namespace fabricast {

inline constexpr int kPredictedSlicesMax = 2'000'000;

inline void add_slices_option(CLI::App& command, int& slices_max) {
  command
      .add_option("--slices-max", slices_max,
                  "extrapolate over sizes or nodes what would take more slices to simulate")
      ->check(whole_number(1, 2'000'000'000))
      ->capture_default_str();
}

}  // namespace fabricast
