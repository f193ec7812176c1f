#pragma once
// The program as a function of the words of its command line.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/answers.hpp"
#include "cli/commands.hpp"

namespace fabricast {

/// All commands with their options; parsing sets `action`, which outlives it.
std::unique_ptr<CLI::App> make_program(Action& action);

using Parsed = std::function<void(const CLI::App& command)>;
/// Runs the command that the words name; `parsed` is called before it does anything. The exit code.
/// Throws Error.
int run_program(const std::vector<std::string>& words, Answers& answers, const Parsed& parsed = {});

}  // namespace fabricast
