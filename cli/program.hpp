#pragma once
// The program as a function of the words of its command line.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output/answers.hpp"

namespace fabricast {

/// A command that only the program has, not whoever uses it as a library.
using AddCommand = std::function<void(CLI::App&, Action&)>;
/// All commands with their options; parsing sets `action`, which outlives it.
std::unique_ptr<CLI::App> make_program(Action& action, const AddCommand& own = {});
/// Sets what the words name. Throws Error, and CLI::Success where they ask for --help or --version.
void parse_words(CLI::App& app, const std::vector<std::string>& words);

/// Whether `word` is one of the commands that `command` consists of: "status" of "sweep".
bool has_part(const std::string& command, const std::string& word);

using Parsed = std::function<void(const CLI::App& command)>;
/// Runs the command that the words name; `parsed` is called before it does anything. The exit code.
/// Throws Error.
int run_program(const std::vector<std::string>& words, Answers& answers, const Parsed& parsed = {},
                const AddCommand& own = {});

}  // namespace fabricast
