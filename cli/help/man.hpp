#pragma once
// Manual pages in roff, made of the parser's tables as --help is: `fabricast __man [COMMAND...]`,
// `fabricast __man --list` names the pages. For the build (cmake/man_pages.cmake).

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace fabricast {

/// The page of the command that the words name, of the program where there are none; "--list": a
/// line with the words of each. Throws Error where there is no such command.
std::string man_text(const CLI::App& program, std::span<const std::string> words);

}  // namespace fabricast
