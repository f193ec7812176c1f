#pragma once
// The option --html of a command: its report as a page.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "models/io/pages/page.hpp"

namespace fabricast {

/// What was typed, as one line for a shell, without --html.
std::string typed_command(const std::vector<std::string>& words);

class HtmlOutput {
 public:
  /// Before anything is simulated. Throws as Outputs does. Without --html it does nothing.
  HtmlOutput(const CLI::App& command, const std::vector<std::string>& words);
  /// Takes what is given to `answers`.
  void listen(Answers& answers);
  /// Throws Error where the command had nothing to show, and OutputError.
  void write();

 private:
  std::string path_;  ///< "" = not asked for
  std::string typed_;
  std::optional<Outputs> outputs_;
  std::vector<PagePart> parts_;
};

}  // namespace fabricast
