#pragma once
// How --help is laid out: options in groups of one meaning, two examples for each command. And
// `help TOPIC`.

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"

namespace fabricast {

/// To be called once all commands have their options.
void lay_out_help(CLI::App& app);

/// `help COMMAND` is COMMAND --help; `help TOPIC` prints a text of docs/help.
void add_help(CLI::App& app, Action& action);

/// "environment", "sizes", ...: the texts of docs/help.
std::vector<std::string> help_topics();
/// REQUIRES: one of help_topics().
std::string_view topic_text(const std::string& topic);

struct FoundCommand {
  const CLI::App* command;
  std::string name;  ///< "fabricast sweep status"
};
/// The command that the words name, the program where there are none. Throws Error, with the
/// nearest command or topic.
FoundCommand find_command(const CLI::App& program, std::span<const std::string> words);

}  // namespace fabricast
