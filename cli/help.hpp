#pragma once
// How --help is laid out: options in groups of one meaning, two examples for each command.

#include <CLI/CLI.hpp>

namespace fabricast {

/// To be called once all commands have their options.
void lay_out_help(CLI::App& app);

}  // namespace fabricast
