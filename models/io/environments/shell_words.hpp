#pragma once
// A shell script cut into simple commands and their words, without running it. Knows quotes,
// comments, continuation lines, substitutions and here documents; keywords stay words.

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

struct ShellWord {
  std::string text;  ///< quotes taken off
  int line = 0, column = 0;
  bool computed = false;     ///< holds a variable or a substitution
  bool quoted_name = false;  ///< its first character was quoted: no assignment, no keyword
};

struct ShellCommand {
  std::vector<ShellWord> words;  ///< redirections too, as words ">", ">>", "<" and their target
  std::string here_document;     ///< what it reads, if it has one
  int here_line = 0;             ///< where that begins
};

struct ShellText {
  std::vector<ShellCommand> commands;
  int unbalanced_line = 0;  ///< where a quote begins that never ends; 0 = none
};

ShellText shell_commands(std::string_view text, int first_line = 1);

}  // namespace fabricast
