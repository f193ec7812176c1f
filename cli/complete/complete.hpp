#pragma once
// What may stand where somebody types, for the shells: `fabricast __complete -- WORDS...`. Commands
// and options come from the parser's own tables, values of options from cli/complete/values.hpp.

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/complete/values.hpp"

namespace fabricast {

/// What the last of `words` may become; the others stand before it, without the program's name.
/// Empty where nothing fits. Throws nothing that a typed word could cause.
std::vector<Completion> completions(const CLI::App& program, std::span<const std::string> words);

/// A line for each: the word, a tab, what it is.
std::string completions_text(const std::vector<Completion>& found);

/// `completion bash|zsh|fish`: the script of a shell that asks `__complete`.
void add_completion(CLI::App& app, Action& action);

}  // namespace fabricast
